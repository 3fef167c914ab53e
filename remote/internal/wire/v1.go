package wire

// V1Request walks the top level of a prometheus.WriteRequest:
//
//	r := NewV1Request(msg)
//	for r.Next() { ... r.Data() ... }
//	err := r.Err()
type V1Request struct {
	b    []byte
	i    int
	kind V1Kind
	f    field
	err  error
}

// V1Kind tells what Next found.
type V1Kind uint8

const (
	// V1TimeSeries is a prometheus.TimeSeries, for V1Series.Split.
	V1TimeSeries V1Kind = iota + 1
	// V1Metadata is a prometheus.MetricMetadata, for V1MetricMetadata.Decode.
	V1Metadata
)

// NewV1Request returns a walker over msg, which it does not copy.
func NewV1Request(msg []byte) V1Request { return V1Request{b: msg} }

// Next moves to the next time series or metadata; false at the end or at an
// error.
func (r *V1Request) Next() bool {
	for r.err == nil && r.i < len(r.b) {
		if r.i, r.err = r.f.next(r.b, r.i); r.err != nil {
			return false
		}
		switch r.f.num {
		case 1:
			r.kind = V1TimeSeries
		case 3:
			r.kind = V1Metadata
		default:
			continue
		}
		r.err = r.f.want(typeBytes, "a member of WriteRequest")
		return r.err == nil
	}
	return false
}

// Kind tells what Next found.
func (r *V1Request) Kind() V1Kind { return r.kind }

// Data returns the message that Next found, a part of the request.
func (r *V1Request) Data() []byte { return r.f.data }

// Err returns what ended the walk early, or nil. It wraps ErrMalformed.
func (r *V1Request) Err() error { return r.err }

// V1Series is one prometheus.TimeSeries, cut into its members. Reuse it from
// series to series: it keeps a buffer.
type V1Series struct {
	// Labels holds the label fields as they came, tags included: the input of
	// V1Labels and, equal bytes being equal labels, a key. It is part of the
	// message, or of a buffer of the V1Series when other fields stood between.
	Labels []byte

	// Counts of the members.
	SampleCount, ExemplarCount, HistogramCount int

	rest      []byte // the message from the first field that is not a label
	scattered bool   // the label fields are not in one run: Labels is scatter
	scatter   []byte
}

const (
	tagV1Label     = 1<<3 | typeBytes
	tagV1Sample    = 2<<3 | typeBytes
	tagV1Exemplar  = 3<<3 | typeBytes
	tagV1Histogram = 4<<3 | typeBytes
)

// Split cuts msg. The framing of all its fields is checked, the content of the
// members when they are decoded.
func (ts *V1Series) Split(msg []byte) error {
	ts.SampleCount, ts.ExemplarCount, ts.HistogramCount, ts.scattered = 0, 0, 0, false
	n := labelRun(msg)
	ts.Labels, ts.rest = msg[:n:n], msg[n:]
	var f field
	for i := n; i < len(msg); {
		if j := shortField(msg, i, tagV1Sample); j > 0 {
			ts.SampleCount++
			i = j
			continue
		}
		j, err := f.next(msg, i)
		if err != nil {
			return err
		}
		if f.num >= 1 && f.num <= 4 {
			if err := f.want(typeBytes, "a member of TimeSeries"); err != nil {
				return err
			}
		}
		switch f.num {
		case 1:
			ts.addScattered(msg[i:j])
		case 2:
			ts.SampleCount++
		case 3:
			ts.ExemplarCount++
		case 4:
			ts.HistogramCount++
		}
		i = j
	}
	return nil
}

// addScattered appends a label field that did not stand with the others.
func (ts *V1Series) addScattered(label []byte) {
	if !ts.scattered {
		ts.scattered = true
		ts.scatter = append(ts.scatter[:0], ts.Labels...)
	}
	ts.scatter = append(ts.scatter, label...)
	ts.Labels = ts.scatter
}

// labelRun returns the length of the run of label fields that msg begins with.
// What is not plainly one is left to the general path.
func labelRun(msg []byte) int {
	i := 0
	for i < len(msg) {
		j := shortField(msg, i, tagV1Label)
		if j < 0 {
			if msg[i] != tagV1Label {
				return i
			}
			n, k := uvarint(msg, i+1)
			if k < 0 || n > uint64(len(msg)-k) {
				return i
			}
			j = k + int(n)
		}
		i = j
	}
	return i
}

// shortField returns the index after the field at b[i:] when it has the given
// one-byte tag and fewer than 128 bytes, else -1.
func shortField(b []byte, i int, tag byte) int {
	if len(b)-i < 2 || b[i] != tag || b[i+1] >= 0x80 {
		return -1
	}
	if i += 2 + int(b[i+1]); i <= len(b) {
		return i
	}
	return -1
}

// Samples walks the float samples.
func (ts *V1Series) Samples() Samples {
	return Samples{m: Members{b: ts.rest, left: ts.SampleCount, tag: tagV1Sample}}
}

// Exemplars walks the exemplars; each is for V1Exemplar.Decode.
func (ts *V1Series) Exemplars() Members {
	return Members{b: ts.rest, left: ts.ExemplarCount, tag: tagV1Exemplar}
}

// Histograms walks the histograms; each is for Histogram.Decode.
func (ts *V1Series) Histograms() Members {
	return Members{b: ts.rest, left: ts.HistogramCount, tag: tagV1Histogram}
}

// V1Labels walks label fields: V1Series.Labels, or those of an exemplar.
type V1Labels struct {
	b   []byte
	i   int
	err error

	// Name and Value of the label that Next found, parts of the message.
	Name, Value []byte
}

// NewV1Labels returns a walker over label fields, tags included.
func NewV1Labels(fields []byte) V1Labels { return V1Labels{b: fields} }

// Next moves to the next label; false at the end or at an error.
func (l *V1Labels) Next() bool {
	if l.err != nil || l.i >= len(l.b) {
		return false
	}
	var f field
	if l.i, l.err = f.next(l.b, l.i); l.err != nil {
		return false
	}
	l.err = l.decode(f.data)
	return l.err == nil
}

func (l *V1Labels) decode(msg []byte) error {
	l.Name, l.Value = nil, nil
	var f field
	for i := 0; i < len(msg); {
		j, err := f.next(msg, i)
		if err != nil {
			return err
		}
		switch f.num {
		case 1:
			l.Name, err = f.data, f.want(typeBytes, "Label.name")
		case 2:
			l.Value, err = f.data, f.want(typeBytes, "Label.value")
		}
		if err != nil {
			return err
		}
		i = j
	}
	return nil
}

// Err returns what ended the walk early, or nil. It wraps ErrMalformed.
func (l *V1Labels) Err() error { return l.err }

// V1Exemplar is a prometheus.Exemplar.
type V1Exemplar struct {
	Labels []byte // label fields, for NewV1Labels
	Value  float64
	Time   int64 // Unix ms
}

// Decode reads msg. The labels are parts of msg, or a copy when other fields
// stood between them.
func (e *V1Exemplar) Decode(msg []byte) error {
	n := labelRun(msg)
	*e = V1Exemplar{Labels: msg[:n:n]}
	var f field
	for i := n; i < len(msg); {
		j, err := f.next(msg, i)
		if err != nil {
			return err
		}
		switch f.num {
		case 1:
			err = f.want(typeBytes, "Exemplar.labels")
			e.Labels = append(e.Labels, msg[i:j]...)
		case 2:
			e.Value, err = f.float(), f.want(typeFixed64, "Exemplar.value")
		case 3:
			e.Time, err = int64(f.u), f.want(typeVarint, "Exemplar.timestamp")
		}
		if err != nil {
			return err
		}
		i = j
	}
	return nil
}

// V1MetricMetadata is a prometheus.MetricMetadata; its strings are parts of the
// message.
type V1MetricMetadata struct {
	Type               MetricType
	Family, Help, Unit []byte
}

// Decode reads msg.
func (m *V1MetricMetadata) Decode(msg []byte) error {
	*m = V1MetricMetadata{}
	var f field
	for i := 0; i < len(msg); {
		j, err := f.next(msg, i)
		if err != nil {
			return err
		}
		switch f.num {
		case 1:
			m.Type, err = MetricType(int32(f.u)), f.want(typeVarint, "MetricMetadata.type")
		case 2:
			m.Family, err = f.data, f.want(typeBytes, "MetricMetadata.metric_family_name")
		case 4:
			m.Help, err = f.data, f.want(typeBytes, "MetricMetadata.help")
		case 5:
			m.Unit, err = f.data, f.want(typeBytes, "MetricMetadata.unit")
		}
		if err != nil {
			return err
		}
		i = j
	}
	return nil
}
