package record

import (
	"encoding/binary"
	"math"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
)

// Encoder builds the payload of a Batch frame, which is read for ever and no
// longer written but by tests.
type Encoder struct {
	buf  []byte
	ref  uint64
	time int64
}

// Reset forgets what was encoded and keeps the buffer.
func (e *Encoder) Reset() {
	e.buf, e.ref, e.time = e.buf[:0], 0, 0
}

// Bytes returns the payload, valid until the next call of a method.
func (e *Encoder) Bytes() []byte { return e.buf }

// Series defines ref as the series with these labels.
func (e *Encoder) Series(ref uint64, lset labels.Labels) {
	e.head(KindSeries, 0, ref)
	e.buf = appendLabels(e.buf, lset)
}

// Float adds a float sample, bit for bit.
func (e *Encoder) Float(ref uint64, st, t int64, v float64) {
	m := int64(v)
	isInt := m > -1<<53 && m < 1<<53 && math.Float64bits(float64(m)) == math.Float64bits(v)
	var flags byte
	if !isInt {
		flags = flagRaw
	}
	e.sample(KindFloat, flags, ref, st, t)
	if isInt {
		e.buf = binary.AppendVarint(e.buf, m)
		return
	}
	e.buf = binary.LittleEndian.AppendUint64(e.buf, math.Float64bits(v))
}

// Histogram adds an integer histogram sample.
func (e *Encoder) Histogram(ref uint64, st, t int64, h *histogram.Histogram) {
	e.sample(KindHistogram, 0, ref, st, t)
	e.buf = appendHistogram(e.buf, h)
}

// FloatHistogram adds a float histogram sample.
func (e *Encoder) FloatHistogram(ref uint64, st, t int64, h *histogram.FloatHistogram) {
	e.sample(KindFloatHistogram, 0, ref, st, t)
	e.buf = appendFloatHistogram(e.buf, h)
}

// Exemplar adds an exemplar of a series.
func (e *Encoder) Exemplar(ref uint64, x exemplar.Exemplar) {
	first := byte(KindExemplar)
	if x.HasTs {
		first |= flagHasTime
	}
	e.buf = append(e.buf, first)
	e.buf = binary.AppendUvarint(e.buf, ref)
	e.buf = binary.AppendVarint(e.buf, x.Ts)
	e.buf = binary.LittleEndian.AppendUint64(e.buf, math.Float64bits(x.Value))
	e.buf = appendLabels(e.buf, x.Labels)
}

// Metadata adds the metadata of a metric family.
func (e *Encoder) Metadata(family string, m metadata.Metadata) {
	e.buf = append(e.buf, byte(KindMetadata))
	e.buf = appendString(e.buf, family)
	e.buf = appendString(e.buf, string(m.Type))
	e.buf = appendString(e.buf, m.Help)
	e.buf = appendString(e.buf, m.Unit)
}

func (e *Encoder) head(k Kind, flags byte, ref uint64) {
	first := byte(k) | flags
	if ref == e.ref+1 {
		e.buf = append(e.buf, first|flagNextRef)
	} else {
		e.buf = append(e.buf, first)
		e.buf = binary.AppendVarint(e.buf, int64(ref-e.ref))
	}
	e.ref = ref
}

func (e *Encoder) sample(k Kind, flags byte, ref uint64, st, t int64) {
	if t == e.time {
		flags |= flagSameTime
	}
	if st != 0 {
		flags |= flagStart
	}
	e.head(k, flags, ref)
	if t != e.time {
		e.buf = binary.AppendVarint(e.buf, t-e.time)
		e.time = t
	}
	if st != 0 {
		e.buf = binary.AppendVarint(e.buf, t-st)
	}
}
