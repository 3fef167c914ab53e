package wire

// V2Request is an io.prometheus.write.v2.Request, its symbol table found, its
// time series still to walk. Reuse it from request to request: it keeps the
// table's memory.
type V2Request struct {
	// Symbols are the strings that references point to, parts of the message.
	Symbols [][]byte

	b   []byte
	i   int
	f   field
	err error
}

// Reset reads the symbol table of msg, wherever it stands in it, and checks the
// framing of all top-level fields. More than maxSymbols symbols are a
// *LimitError.
func (r *V2Request) Reset(msg []byte, maxSymbols int) error {
	r.Symbols, r.b, r.i, r.err = r.Symbols[:0], msg, 0, nil
	var f field
	for i := 0; i < len(msg); {
		j, err := f.next(msg, i)
		if err != nil {
			return err
		}
		switch f.num {
		case 4:
			if err := f.want(typeBytes, "Request.symbols"); err != nil {
				return err
			}
			if len(r.Symbols) >= maxSymbols {
				return &LimitError{Limit: LimitSymbols, Max: maxSymbols}
			}
			r.Symbols = append(r.Symbols, f.data)
		case 5:
			if err := f.want(typeBytes, "Request.timeseries"); err != nil {
				return err
			}
		}
		i = j
	}
	return nil
}

// Next moves to the next time series; false at the end or at an error.
func (r *V2Request) Next() bool {
	for r.err == nil && r.i < len(r.b) {
		if r.i, r.err = r.f.next(r.b, r.i); r.err != nil {
			return false
		}
		if r.f.num == 5 {
			return true
		}
	}
	return false
}

// Data returns the time series that Next found, for V2Series.Split.
func (r *V2Request) Data() []byte { return r.f.data }

// Err returns what ended the walk early, or nil. It wraps ErrMalformed.
func (r *V2Request) Err() error { return r.err }

// V2Series is one io.prometheus.write.v2.TimeSeries, cut into its members.
// Reuse it from series to series: it keeps a buffer.
type V2Series struct {
	// Refs holds the label references, for NewRefs: name, value, name, value.
	// It is part of the message, or of a buffer of the V2Series when the
	// references came in several fields.
	Refs []byte

	// Counts of the members.
	SampleCount, ExemplarCount, HistogramCount int

	// Metadata of the series; all zero when it has none.
	Metadata V2Metadata

	rest    []byte
	samples int // where in rest to look for the first sample
	refRuns int // fields that held references
	joined  []byte
}

const (
	tagV2Sample    = 2<<3 | typeBytes
	tagV2Histogram = 3<<3 | typeBytes
	tagV2Exemplar  = 4<<3 | typeBytes
)

// Split cuts msg. The framing of all its fields is checked, the content of the
// members when they are decoded.
func (ts *V2Series) Split(msg []byte) error {
	ts.SampleCount, ts.ExemplarCount, ts.HistogramCount = 0, 0, 0
	ts.Refs, ts.refRuns, ts.Metadata, ts.rest, ts.samples = nil, 0, V2Metadata{}, msg, 0
	var f field
	for i := 0; i < len(msg); {
		if j := shortField(msg, i, tagV2Sample); j > 0 {
			ts.SampleCount++
			i = j
			continue
		}
		j, err := f.next(msg, i)
		if err != nil {
			return err
		}
		if err := ts.add(&f, msg[i:j]); err != nil {
			return err
		}
		i = j
		if ts.SampleCount == 0 {
			ts.samples = i
		}
	}
	return nil
}

// add takes in one field; raw is the field with its tag.
func (ts *V2Series) add(f *field, raw []byte) error {
	if f.num == 1 {
		return ts.addRefs(f, raw)
	}
	if f.num > 5 {
		return nil
	}
	if err := f.want(typeBytes, "a member of TimeSeries"); err != nil {
		return err
	}
	switch f.num {
	case 2:
		ts.SampleCount++
	case 3:
		ts.HistogramCount++
	case 4:
		ts.ExemplarCount++
	case 5:
		return ts.Metadata.decode(f.data)
	}
	return nil
}

// addRefs takes in label references, packed or one alone.
func (ts *V2Series) addRefs(f *field, raw []byte) error {
	refs := f.data
	switch f.typ {
	case typeBytes:
		if n := len(refs); n > 0 && refs[n-1] >= 0x80 {
			return malformed("protobuf: last label reference cut short")
		}
	case typeVarint:
		_, i := uvarint(raw, 0) // over the tag
		refs = raw[i:]
	default:
		return f.want(typeBytes, "TimeSeries.labels_refs")
	}
	if ts.refRuns++; ts.refRuns == 1 {
		ts.Refs = refs
		return nil
	}
	if ts.refRuns == 2 {
		ts.joined = append(ts.joined[:0], ts.Refs...)
	}
	ts.joined = append(ts.joined, refs...)
	ts.Refs = ts.joined
	return nil
}

// Samples walks the float samples.
func (ts *V2Series) Samples() Samples {
	return Samples{m: Members{b: ts.rest, i: ts.samples, left: ts.SampleCount, tag: tagV2Sample}, hasStart: true}
}

// Exemplars walks the exemplars; each is for V2Exemplar.Decode.
func (ts *V2Series) Exemplars() Members {
	return Members{b: ts.rest, left: ts.ExemplarCount, tag: tagV2Exemplar}
}

// Histograms walks the histograms; each is for Histogram.Decode.
func (ts *V2Series) Histograms() Members {
	return Members{b: ts.rest, left: ts.HistogramCount, tag: tagV2Histogram}
}

// Refs walks references into a symbol table.
type Refs struct {
	b   []byte
	i   int
	err error
}

// NewRefs returns a walker over references: V2Series.Refs, or those of an
// exemplar.
func NewRefs(refs []byte) Refs { return Refs{b: refs} }

// Next returns the next reference; false at the end or at an error.
func (r *Refs) Next() (uint32, bool) {
	if r.i < len(r.b) && r.b[r.i] < 0x80 {
		r.i++
		return uint32(r.b[r.i-1]), true
	}
	return r.nextLong()
}

// nextLong is Next for references of several bytes, and for the end.
func (r *Refs) nextLong() (uint32, bool) {
	if r.i >= len(r.b) || r.err != nil {
		return 0, false
	}
	if r.i+1 < len(r.b) && r.b[r.i+1] < 0x80 {
		u := uint32(r.b[r.i]&0x7f) | uint32(r.b[r.i+1])<<7
		r.i += 2
		return u, true
	}
	u, j := uvarint(r.b, r.i)
	if j < 0 {
		r.err = malformed("protobuf: label reference cut short or too long")
		r.i = len(r.b)
		return 0, false
	}
	r.i = j
	return uint32(u), true
}

// Err returns what ended the walk early, or nil. It wraps ErrMalformed.
func (r *Refs) Err() error { return r.err }

// V2Exemplar is an io.prometheus.write.v2.Exemplar.
type V2Exemplar struct {
	Refs  []byte // label references, for NewRefs
	Value float64
	Time  int64 // Unix ms
}

// Decode reads msg. The references are part of msg, or a copy when they came in
// several fields.
func (e *V2Exemplar) Decode(msg []byte) error {
	*e = V2Exemplar{}
	var f field
	var ts V2Series // joins the references
	for i := 0; i < len(msg); {
		j, err := f.next(msg, i)
		if err != nil {
			return err
		}
		switch f.num {
		case 1:
			err = ts.addRefs(&f, msg[i:j])
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
	e.Refs = ts.Refs
	return nil
}

// V2Metadata is an io.prometheus.write.v2.Metadata.
type V2Metadata struct {
	Type             MetricType
	HelpRef, UnitRef uint32 // references into the symbol table
}

func (m *V2Metadata) decode(msg []byte) error {
	var f field
	for i := 0; i < len(msg); {
		j, err := f.next(msg, i)
		if err != nil {
			return err
		}
		switch f.num {
		case 1:
			m.Type, err = MetricType(int32(f.u)), f.want(typeVarint, "Metadata.type")
		case 3:
			m.HelpRef, err = uint32(f.u), f.want(typeVarint, "Metadata.help_ref")
		case 4:
			m.UnitRef, err = uint32(f.u), f.want(typeVarint, "Metadata.unit_ref")
		}
		if err != nil {
			return err
		}
		i = j
	}
	return nil
}
