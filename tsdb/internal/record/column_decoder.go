package record

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/prometheus/common/model"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/model/value"
)

// ColumnDecoder walks the items of a Columns payload: definitions, samples,
// exemplars, metadata. It is the plain reading of the format, for tools, and what
// DecodeColumns is held to. It never panics and allocates no more than a small
// multiple of the payload's length, whatever the bytes are.
type ColumnDecoder struct {
	in         sections
	err        error
	definition struct {
		ref  int64 // the next one to be expected
		prev []labels.Label
	}
	refs, times, starts runReader
	started             bool
	ref                 int64 // of the sample before, -1 at first
	base                base
	item                Item
}

// sections are the sections of a payload, each read to its end.
type sections [sectionCount]reader

// split finds the sections.
func (s *sections) split(payload []byte) error {
	*s = sections{}
	r := reader{b: payload}
	present := r.byte()
	var sizes [sectionCount]uint64
	for i := range sizes {
		if present&(1<<i) != 0 {
			sizes[i] = r.uvarint()
		}
	}
	for i, size := range sizes {
		if r.err == nil && size > uint64(len(r.b)) {
			r.fail("a section is longer than the record")
		}
		if r.err != nil {
			return r.err
		}
		s[i].b = r.b[:size:size]
		r.b = r.b[size:]
	}
	if len(r.b) > 0 {
		r.fail("bytes after the sections")
	}
	return r.err
}

// finish returns the first error of a section, which may be that it was not read to
// its end.
func (s *sections) finish() error {
	for i := range s {
		if s[i].err == nil && len(s[i].b) > 0 {
			s[i].fail(fmt.Sprintf("bytes are left in section %d", i))
		}
		if s[i].err != nil {
			return s[i].err
		}
	}
	return nil
}

// NewColumnDecoder returns a decoder of one payload.
func NewColumnDecoder(payload []byte) *ColumnDecoder {
	d := &ColumnDecoder{ref: -1}
	d.err = d.in.split(payload)
	d.refs.in, d.times.in, d.starts.in = d.in[sectionRefs], d.in[sectionTimes], d.in[sectionStarts]
	d.started = len(d.starts.in.b) > 0
	d.in[sectionRefs], d.in[sectionTimes], d.in[sectionStarts] = reader{}, reader{}, reader{}
	return d
}

// Next moves to the next item. After false, Err tells the end from damage.
func (d *ColumnDecoder) Next() bool {
	if d.err != nil {
		return false
	}
	d.item = Item{}
	var r *reader
	switch {
	case len(d.in[sectionDefinitions].b) > 0:
		r = &d.in[sectionDefinitions]
		d.define(r)
	case len(d.in[sectionValues].b) > 0:
		r = &d.in[sectionValues]
		d.sample(r)
	case len(d.in[sectionExemplars].b) > 0:
		r = &d.in[sectionExemplars]
		ref, x := r.exemplar()
		d.item = Item{Kind: KindExemplar, Ref: uint64(ref), T: x.Ts, Exemplar: x}
	case len(d.in[sectionMetadata].b) > 0:
		r = &d.in[sectionMetadata]
		d.item.Kind = KindMetadata
		d.item.Family, d.item.Metadata = r.family()
	default:
		d.end()
		return false
	}
	d.err = r.err
	return d.err == nil
}

// end looks whether the columns are as long as each other.
func (d *ColumnDecoder) end() {
	if d.refs.more() || d.times.more() || d.starts.more() {
		d.in[sectionRefs].fail("a column is longer than the others")
	}
	d.err = d.in.finish()
}

// Item returns the current item, valid until the next call of Next; what its
// pointers lead to stays valid.
func (d *ColumnDecoder) Item() *Item { return &d.item }

// Err returns what stopped Next, nil at the end of the payload.
func (d *ColumnDecoder) Err() error { return d.err }

func (d *ColumnDecoder) define(r *reader) {
	ref := d.definition.ref + r.varint()
	if ref < 0 || ref > math.MaxUint32 {
		r.fail("a ref is out of range")
	}
	prev := d.definition.prev
	var cur []labels.Label
	for r.err == nil {
		step, n := r.step()
		if step == stepSkip && n == 0 {
			break
		}
		if step != stepLabel && (n > len(prev) && step != stepValue || len(prev) == 0 || step == stepCopy && n == len(prev)) {
			r.fail("the definition before has fewer labels")
			break
		}
		switch step {
		case stepCopy:
			cur, prev = append(cur, prev[:n+1]...), prev[n+1:]
		case stepValue:
			if n > len(prev[0].Value) {
				r.fail("the value before is shorter")
				break
			}
			cur = append(cur, labels.Label{Name: prev[0].Name, Value: prev[0].Value[:n] + r.string()})
			prev = prev[1:]
		case stepSkip:
			prev = prev[n:]
		case stepLabel:
			name := string(r.take(n))
			cur = append(cur, labels.Label{Name: name, Value: r.string()})
		}
	}
	b := labels.NewScratchBuilder(len(cur))
	for i, l := range cur {
		if i > 0 && l.Name <= cur[i-1].Name {
			r.fail(fmt.Sprintf("label %q after %q", l.Name, cur[i-1].Name))
		}
		if len(l.Name) > maxLabelBytes || len(l.Value) > maxLabelBytes {
			r.fail("a label is too long")
		}
		b.Add(l.Name, l.Value)
	}
	if r.err != nil {
		return
	}
	d.definition.ref, d.definition.prev = ref+1, cur
	d.item = Item{Kind: KindSeries, Ref: uint64(ref), Labels: b.Labels()}
}

func (d *ColumnDecoder) sample(r *reader) {
	ref := d.refs.next()
	d.item.Ref, d.item.T = uint64(ref), d.times.next()
	if d.started {
		d.item.ST = d.starts.next()
	}
	for _, column := range []*runReader{&d.refs, &d.times, &d.starts} {
		if column.in.err != nil {
			r.err = column.in.err
			return
		}
	}
	if ref < 0 || ref > math.MaxUint32 {
		r.fail("a ref is out of range")
	}
	follows := ref == d.ref
	if !follows {
		d.base = base{}
	}
	d.ref = ref
	switch code := r.byte(); {
	case code == codeHist:
		d.item.Kind = KindHistogram
		d.item.Histogram = d.in[sectionHistograms].histogram()
	case code == codeFloatHst:
		d.item.Kind = KindFloatHistogram
		d.item.FloatHistogram = d.in[sectionHistograms].floatHistogram()
	default:
		d.item.Value = r.value(code, follows, &d.base)
	}
	if err := d.in[sectionHistograms].err; err != nil {
		r.err = err
	}
}

// value reads what follows a code of the column of values, but for histograms.
func (r *reader) value(code byte, follows bool, b *base) float64 {
	switch {
	case code < codeAbsolute || code >= codeNear:
		z := uint64(code)
		if code >= codeNear {
			z = codeAbsolute + uint64(code-codeNear)<<8 + r.low(1)
		}
		if follows {
			b.mantissa += unzigzag(z)
		} else {
			b.mantissa, b.scale = int64(z), 0
		}
	case code < codeDelta:
		k := code - codeAbsolute
		b.mantissa, b.scale = unzigzag(r.low(int(k%absoluteLengths)+1)), k/absoluteLengths
	case code < codeWide:
		b.mantissa += unzigzag(r.low(int(code-codeDelta) + 1))
	case code == codeWide:
		b.mantissa, b.scale = unzigzag(r.low(deltaLengths)), 0
	case code < codeSame:
		n := int(code - codeRaw)
		b.bits = r.low(n) << (64 - 8*n)
		return math.Float64frombits(b.bits)
	case code == codeSame:
		return math.Float64frombits(b.bits)
	case code < codeHist:
		b.bits = value.StaleNaN
		return math.Float64frombits(b.bits)
	}
	v := decimal(b.mantissa, b.scale)
	b.bits = math.Float64bits(v)
	return v
}

// low reads an integer of n bytes, at most 8.
func (r *reader) low(n int) uint64 {
	var b [8]byte
	copy(b[:], r.take(n))
	return binary.LittleEndian.Uint64(b[:])
}

// take returns the next n bytes, which alias the payload.
func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.fail("it ends early")
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// step reads a step of a definition.
func (r *reader) step() (step byte, n int) {
	b := r.byte()
	n = int(b >> stepBits)
	if n == stepMost {
		more := r.uvarint()
		if more > math.MaxInt32-stepMost {
			r.fail("a step is too long")
			return 0, 0
		}
		n += int(more)
	}
	return b & (1<<stepBits - 1), n
}

func (r *reader) exemplar() (ref uint32, x exemplar.Exemplar) {
	n := r.uvarint()
	x.HasTs = r.byte()&1 != 0
	x.Ts = r.varint()
	x.Value = r.float()
	x.Labels = r.labels()
	if n > math.MaxUint32 {
		r.fail("a ref is out of range")
	}
	return uint32(n), x
}

// labels reads labels that are written out, and checks the order and uniqueness
// that labels.Labels demands.
func (r *reader) labels() labels.Labels {
	n := r.count(2)
	b := labels.NewScratchBuilder(min(n, 16))
	prev := ""
	for i := 0; i < n && r.err == nil; i++ {
		name, value := r.string(), r.string()
		switch {
		case i > 0 && name <= prev:
			r.fail(fmt.Sprintf("label %q after %q", name, prev))
		case len(name) > maxLabelBytes || len(value) > maxLabelBytes:
			r.fail("a label is too long")
		}
		b.Add(name, value)
		prev = name
	}
	if r.err != nil {
		return labels.EmptyLabels()
	}
	return b.Labels()
}

func (r *reader) family() (family string, m metadata.Metadata) {
	family = r.string()
	m.Type = model.MetricType(r.string())
	m.Help = r.string()
	m.Unit = r.string()
	return family, m
}
