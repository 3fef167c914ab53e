package record

import (
	"encoding/binary"
	"math"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
)

// ColumnEncoder builds the payload of a Columns frame in one pass. Its zero value
// is ready; one goroutine uses it at a time. Its buffers are kept, so that in the
// long run it does not allocate.
//
// Samples come back in the order in which they were added, floats and histograms
// alike; definitions come back before all of them, exemplars and metadata after.
type ColumnEncoder struct {
	refs, times, starts runEncoder
	values              []byte
	definitions         definitionEncoder
	histograms          []byte
	exemplars           []byte
	metadata            []byte
	buf                 []byte

	count   int  // of samples
	started bool // a sample has a start time
	base    base
	guess   scaleGuess
}

// Reset forgets what was encoded and keeps the buffers.
func (e *ColumnEncoder) Reset() {
	e.refs.reset()
	e.times.reset()
	e.starts.reset()
	e.definitions.reset()
	e.values, e.histograms = e.values[:0], e.histograms[:0]
	e.exemplars, e.metadata = e.exemplars[:0], e.metadata[:0]
	e.count, e.started, e.base = 0, false, base{}
}

// Bytes returns the payload, valid until the next call of a method.
func (e *ColumnEncoder) Bytes() []byte {
	e.buf = e.AppendTo(e.buf[:0])
	return e.buf
}

// AppendTo adds the payload to dst.
func (e *ColumnEncoder) AppendTo(dst []byte) []byte {
	e.refs.flush()
	e.times.flush()
	e.starts.flush()
	sections := [sectionCount][]byte{
		sectionDefinitions: e.definitions.out, sectionRefs: e.refs.out, sectionTimes: e.times.out,
		sectionStarts: e.starts.out, sectionValues: e.values, sectionHistograms: e.histograms,
		sectionExemplars: e.exemplars, sectionMetadata: e.metadata,
	}
	at := len(dst)
	dst = append(dst, 0)
	for i, s := range sections {
		if len(s) > 0 {
			dst[at] |= 1 << i
			dst = binary.AppendUvarint(dst, uint64(len(s)))
		}
	}
	for _, s := range sections {
		dst = append(dst, s...)
	}
	return dst
}

// DefinitionBytes returns how many bytes of the payload define series.
func (e *ColumnEncoder) DefinitionBytes() int { return len(e.definitions.out) }

// Empty tells whether nothing was encoded.
func (e *ColumnEncoder) Empty() bool {
	return e.count == 0 && len(e.definitions.out)+len(e.exemplars)+len(e.metadata) == 0
}

// Series defines ref as the series with these labels. What they share with those
// defined before in this frame takes next to no space.
func (e *ColumnEncoder) Series(ref uint32, lset labels.Labels) {
	e.definitions.begin(ref)
	lset.Range(func(l labels.Label) { e.definitions.label(l.Name, l.Value) })
	e.definitions.end()
}

// BeginSeries defines ref as the series with the labels that calls of Label give
// until EndSeries.
func (e *ColumnEncoder) BeginSeries(ref uint32) { e.definitions.begin(ref) }

// Label adds a label to the series that BeginSeries began. Names must ascend. The
// strings are not kept.
func (e *ColumnEncoder) Label(name, value string) { e.definitions.label(name, value) }

// EndSeries ends what BeginSeries began.
func (e *ColumnEncoder) EndSeries() { e.definitions.end() }

// Float adds a float sample, bit for bit; st is 0 where the start is unknown.
func (e *ColumnEncoder) Float(ref uint32, st, t int64, v float64) {
	if e.place(ref, st, t) {
		e.follow(v)
		return
	}
	m := int64(v) // any number where v is out of its range
	bits := math.Float64bits(v)
	if math.Float64bits(float64(m)) == bits && uint64(m) < nearEnd {
		e.base = base{mantissa: m, bits: bits}
		if m < codeAbsolute {
			e.values = append(e.values, byte(m))
			return
		}
		e.near(uint64(m))
		return
	}
	e.base = base{bits: bits}
	e.single(v, bits)
}

// Histogram adds an integer histogram sample.
func (e *ColumnEncoder) Histogram(ref uint32, st, t int64, h *histogram.Histogram) {
	if !e.place(ref, st, t) {
		e.base = base{}
	}
	e.values = append(e.values, codeHist)
	e.histograms = appendHistogram(e.histograms, h)
}

// FloatHistogram adds a float histogram sample.
func (e *ColumnEncoder) FloatHistogram(ref uint32, st, t int64, h *histogram.FloatHistogram) {
	if !e.place(ref, st, t) {
		e.base = base{}
	}
	e.values = append(e.values, codeFloatHst)
	e.histograms = appendFloatHistogram(e.histograms, h)
}

// Exemplar adds an exemplar of a series.
func (e *ColumnEncoder) Exemplar(ref uint32, x exemplar.Exemplar) {
	e.exemplars = binary.AppendUvarint(e.exemplars, uint64(ref))
	e.exemplars = appendExemplar(e.exemplars, x)
}

func appendExemplar(dst []byte, x exemplar.Exemplar) []byte {
	hasTime := byte(0)
	if x.HasTs {
		hasTime = 1
	}
	dst = append(dst, hasTime)
	dst = binary.AppendVarint(dst, x.Ts)
	dst = appendFloat(dst, x.Value)
	return appendLabels(dst, x.Labels)
}

// Metadata adds the metadata of a metric family.
func (e *ColumnEncoder) Metadata(family string, m metadata.Metadata) {
	e.metadata = appendString(e.metadata, family)
	e.metadata = appendString(e.metadata, string(m.Type))
	e.metadata = appendString(e.metadata, m.Help)
	e.metadata = appendString(e.metadata, m.Unit)
}

// place adds a sample to the columns but that of values. It tells whether the
// sample before it is of the same series.
func (e *ColumnEncoder) place(ref uint32, st, t int64) (follows bool) {
	if st != 0 || e.started {
		e.start(st)
	}
	step := int64(ref) - e.refs.last
	follows = step == 0 && e.count > 0
	e.count++
	if step == e.refs.delta {
		e.refs.last = int64(ref)
		e.refs.count++
	} else {
		e.refs.add(int64(ref))
	}
	if t-e.times.last == e.times.delta {
		e.times.last = t
		e.times.count++
	} else {
		e.times.add(t)
	}
	return follows
}

// start adds a start time; the first one that is known brings those before it.
func (e *ColumnEncoder) start(st int64) {
	if !e.started {
		e.started = true
		e.starts.count = e.count
	}
	e.starts.add(st)
}

func appendString(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendLabels(dst []byte, lset labels.Labels) []byte {
	dst = binary.AppendUvarint(dst, uint64(lset.Len()))
	lset.Range(func(l labels.Label) {
		dst = appendString(dst, l.Name)
		dst = appendString(dst, l.Value)
	})
	return dst
}
