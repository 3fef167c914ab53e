package record

import (
	"encoding/binary"
	"math"

	"github.com/prometheus/prometheus/model/histogram"
)

// An integer histogram: hint, schema, zero threshold, zero count, count, sum,
// positive and negative spans, positive and negative bucket deltas, custom
// bounds. A float histogram is the same with floats for counts and buckets.

func appendHistogram(dst []byte, h *histogram.Histogram) []byte {
	dst = append(dst, byte(h.CounterResetHint))
	dst = binary.AppendVarint(dst, int64(h.Schema))
	dst = appendFloat(dst, h.ZeroThreshold)
	dst = binary.AppendUvarint(dst, h.ZeroCount)
	dst = binary.AppendUvarint(dst, h.Count)
	dst = appendFloat(dst, h.Sum)
	dst = appendSpans(dst, h.PositiveSpans)
	dst = appendSpans(dst, h.NegativeSpans)
	dst = appendInts(dst, h.PositiveBuckets)
	dst = appendInts(dst, h.NegativeBuckets)
	return appendFloats(dst, h.CustomValues)
}

func appendFloatHistogram(dst []byte, h *histogram.FloatHistogram) []byte {
	dst = append(dst, byte(h.CounterResetHint))
	dst = binary.AppendVarint(dst, int64(h.Schema))
	dst = appendFloat(dst, h.ZeroThreshold)
	dst = appendFloat(dst, h.ZeroCount)
	dst = appendFloat(dst, h.Count)
	dst = appendFloat(dst, h.Sum)
	dst = appendSpans(dst, h.PositiveSpans)
	dst = appendSpans(dst, h.NegativeSpans)
	dst = appendFloats(dst, h.PositiveBuckets)
	dst = appendFloats(dst, h.NegativeBuckets)
	return appendFloats(dst, h.CustomValues)
}

func appendFloat(dst []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}

func appendFloats(dst []byte, vs []float64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(vs)))
	for _, v := range vs {
		dst = appendFloat(dst, v)
	}
	return dst
}

func appendInts(dst []byte, vs []int64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(vs)))
	for _, v := range vs {
		dst = binary.AppendVarint(dst, v)
	}
	return dst
}

func appendSpans(dst []byte, spans []histogram.Span) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(spans)))
	for _, s := range spans {
		dst = binary.AppendVarint(dst, int64(s.Offset))
		dst = binary.AppendUvarint(dst, uint64(s.Length))
	}
	return dst
}

func (r *reader) histogram() *histogram.Histogram {
	h := &histogram.Histogram{CounterResetHint: histogram.CounterResetHint(r.byte())}
	h.Schema = int32(r.varint())
	h.ZeroThreshold = r.float()
	h.ZeroCount = r.uvarint()
	h.Count = r.uvarint()
	h.Sum = r.float()
	h.PositiveSpans = r.spans()
	h.NegativeSpans = r.spans()
	h.PositiveBuckets = r.ints()
	h.NegativeBuckets = r.ints()
	h.CustomValues = r.floats()
	return h
}

func (r *reader) floatHistogram() *histogram.FloatHistogram {
	h := &histogram.FloatHistogram{CounterResetHint: histogram.CounterResetHint(r.byte())}
	h.Schema = int32(r.varint())
	h.ZeroThreshold = r.float()
	h.ZeroCount = r.float()
	h.Count = r.float()
	h.Sum = r.float()
	h.PositiveSpans = r.spans()
	h.NegativeSpans = r.spans()
	h.PositiveBuckets = r.floats()
	h.NegativeBuckets = r.floats()
	h.CustomValues = r.floats()
	return h
}

func (r *reader) spans() []histogram.Span {
	n := r.count(2)
	if n == 0 {
		return nil
	}
	out := make([]histogram.Span, n)
	for i := range out {
		out[i] = histogram.Span{Offset: int32(r.varint()), Length: uint32(r.uvarint())}
	}
	return out
}

func (r *reader) ints() []int64 {
	n := r.count(1)
	if n == 0 {
		return nil
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = r.varint()
	}
	return out
}

func (r *reader) floats() []float64 {
	n := r.count(8)
	if n == 0 {
		return nil
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = r.float()
	}
	return out
}
