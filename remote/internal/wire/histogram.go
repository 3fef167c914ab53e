package wire

import (
	"github.com/prometheus/prometheus/model/histogram"
)

// Histogram decodes native histograms, the same message in both protocols but
// for the start timestamp of 2.0. Reuse it: it keeps buffers.
type Histogram struct {
	// What Decode found: one of Int and Float is set, and owned by the caller.
	Int         *histogram.Histogram
	Float       *histogram.FloatHistogram
	Time, Start int64 // Unix ms; Start is 0 when unknown

	isFloat                bool // the count came as a float
	count, zeroCount       uint64
	countFloat, zeroFloat  float64
	sum, zeroThreshold     float64
	schema                 int32
	hint                   histogram.CounterResetHint
	positive, negative     buckets
	custom                 []float64
	elements, elementLimit int
}

// buckets is one side of a histogram.
type buckets struct {
	spans  []histogram.Span
	deltas []int64
	counts []float64
}

func (b *buckets) reset() { b.spans, b.deltas, b.counts = b.spans[:0], b.deltas[:0], b.counts[:0] }

// Decode reads msg; v2 tells that field 17 is the start timestamp. Nothing is
// checked beyond the encoding: that buckets match spans, and the like, is
// Validate's to say. More than limit spans, buckets and custom bounds together
// are a *LimitError.
func (h *Histogram) Decode(msg []byte, v2 bool, limit int) error {
	h.reset(limit)
	var f field
	for i := 0; i < len(msg); {
		j, err := f.next(msg, i)
		if err == nil {
			err = h.add(&f, v2)
		}
		if err != nil {
			return err
		}
		i = j
	}
	h.build()
	return nil
}

func (h *Histogram) reset(limit int) {
	p, n, c := h.positive, h.negative, h.custom[:0]
	p.reset()
	n.reset()
	*h = Histogram{positive: p, negative: n, custom: c, elementLimit: limit}
}

// add takes in one field.
func (h *Histogram) add(f *field, v2 bool) error {
	if f.num <= 7 || f.num == 14 || f.num == 15 || f.num == 17 {
		return h.addScalar(f, v2)
	}
	switch f.num {
	case 8:
		return h.addSpan(&h.negative.spans, f)
	case 9:
		return h.addDeltas(&h.negative.deltas, f)
	case 10:
		return h.addCounts(&h.negative.counts, f)
	case 11:
		return h.addSpan(&h.positive.spans, f)
	case 12:
		return h.addDeltas(&h.positive.deltas, f)
	case 13:
		return h.addCounts(&h.positive.counts, f)
	case 16:
		return h.addCounts(&h.custom, f)
	}
	return nil
}

func (h *Histogram) addScalar(f *field, v2 bool) error {
	typ := uint8(typeVarint)
	switch f.num {
	case 1:
		h.count, h.countFloat, h.isFloat = f.u, 0, false
	case 2:
		h.count, h.countFloat, h.isFloat = 0, f.float(), true
		typ = typeFixed64
	case 3:
		h.sum, typ = f.float(), typeFixed64
	case 4:
		h.schema = sint32(f.u)
	case 5:
		h.zeroThreshold, typ = f.float(), typeFixed64
	case 6:
		h.zeroCount, h.zeroFloat = f.u, 0
	case 7:
		h.zeroCount, h.zeroFloat, typ = 0, f.float(), typeFixed64
	case 14:
		h.hint = resetHint(f.u)
	case 15:
		h.Time = int64(f.u)
	case 17:
		if !v2 {
			return nil
		}
		h.Start = int64(f.u)
	}
	return f.want(typ, "a member of Histogram")
}

// resetHint takes numbers without a meaning for "unknown".
func resetHint(u uint64) histogram.CounterResetHint {
	if v := int32(u); v >= 0 && v <= int32(histogram.GaugeType) {
		return histogram.CounterResetHint(v)
	}
	return histogram.UnknownCounterReset
}

// grow counts n more elements against the limit.
func (h *Histogram) grow(n int) error {
	if h.elements += n; h.elements > h.elementLimit {
		return &LimitError{Limit: LimitBuckets, Max: h.elementLimit}
	}
	return nil
}

func (h *Histogram) addSpan(dst *[]histogram.Span, f *field) error {
	if err := f.want(typeBytes, "Histogram spans"); err != nil {
		return err
	}
	if err := h.grow(1); err != nil {
		return err
	}
	var span histogram.Span
	var g field
	for i := 0; i < len(f.data); {
		j, err := g.next(f.data, i)
		if err != nil {
			return err
		}
		switch g.num {
		case 1:
			span.Offset, err = sint32(g.u), g.want(typeVarint, "BucketSpan.offset")
		case 2:
			span.Length, err = uint32(g.u), g.want(typeVarint, "BucketSpan.length")
		}
		if err != nil {
			return err
		}
		i = j
	}
	*dst = append(*dst, span)
	return nil
}

func (h *Histogram) addDeltas(dst *[]int64, f *field) error {
	if f.typ == typeVarint {
		*dst = append(*dst, sint64(f.u))
		return h.grow(1)
	}
	if err := f.want(typeBytes, "Histogram deltas"); err != nil {
		return err
	}
	for i := 0; i < len(f.data); {
		u, j := uvarint(f.data, i)
		if j < 0 {
			return malformed("protobuf: histogram delta cut short or too long")
		}
		if err := h.grow(1); err != nil {
			return err
		}
		*dst = append(*dst, sint64(u))
		i = j
	}
	return nil
}

func (h *Histogram) addCounts(dst *[]float64, f *field) error {
	if f.typ == typeFixed64 {
		*dst = append(*dst, f.float())
		return h.grow(1)
	}
	if err := f.want(typeBytes, "Histogram counts"); err != nil {
		return err
	}
	if len(f.data)%8 != 0 {
		return malformed("protobuf: histogram counts in %d bytes, not a multiple of 8", len(f.data))
	}
	if err := h.grow(len(f.data) / 8); err != nil {
		return err
	}
	for b := f.data; len(b) > 0; b = b[8:] {
		*dst = append(*dst, float64At(b))
	}
	return nil
}

// build makes the histogram that the caller will own.
func (h *Histogram) build() {
	if h.isFloat {
		h.Float = &histogram.FloatHistogram{
			CounterResetHint: h.hint, Schema: h.schema,
			ZeroThreshold: h.zeroThreshold, ZeroCount: h.zeroFloat, Count: h.countFloat, Sum: h.sum,
			PositiveSpans: owned(h.positive.spans), PositiveBuckets: owned(h.positive.counts),
			NegativeSpans: owned(h.negative.spans), NegativeBuckets: owned(h.negative.counts),
			CustomValues: owned(h.custom),
		}
		return
	}
	h.Int = &histogram.Histogram{
		CounterResetHint: h.hint, Schema: h.schema,
		ZeroThreshold: h.zeroThreshold, ZeroCount: h.zeroCount, Count: h.count, Sum: h.sum,
		PositiveSpans: owned(h.positive.spans), PositiveBuckets: owned(h.positive.deltas),
		NegativeSpans: owned(h.negative.spans), NegativeBuckets: owned(h.negative.deltas),
		CustomValues: owned(h.custom),
	}
}

// owned copies s; nothing becomes nil.
func owned[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return append(make([]T, 0, len(s)), s...)
}

// HeapBytes returns about what the histogram that Decode found takes in memory.
func (h *Histogram) HeapBytes() int {
	return 160 + 8*h.elements
}
