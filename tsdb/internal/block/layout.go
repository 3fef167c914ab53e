package block

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/varvedb/varve/tsdb/internal/codec"
)

// Layout is what consecutive histograms of a series mostly share, and blocks
// store once. Its slices are those of a histogram: they are not changed.
type Layout struct {
	Schema             int32
	ZeroThreshold      float64
	Positive, Negative []histogram.Span
	Custom             []float64

	// Numbers of buckets. Spans of histograms that nobody validated may say
	// otherwise.
	PositiveCount, NegativeCount int
}

// LayoutOf returns the layout of h.
func LayoutOf(h *histogram.Histogram) Layout {
	return Layout{h.Schema, h.ZeroThreshold, h.PositiveSpans, h.NegativeSpans, h.CustomValues, len(h.PositiveBuckets), len(h.NegativeBuckets)}
}

// FloatLayoutOf returns the layout of h.
func FloatLayoutOf(h *histogram.FloatHistogram) Layout {
	return Layout{h.Schema, h.ZeroThreshold, h.PositiveSpans, h.NegativeSpans, h.CustomValues, len(h.PositiveBuckets), len(h.NegativeBuckets)}
}

// Buckets returns the number of buckets.
func (l *Layout) Buckets() int { return l.PositiveCount + l.NegativeCount }

// Equal compares bit for bit.
func (l *Layout) Equal(m *Layout) bool {
	return l.Schema == m.Schema && sameBits(l.ZeroThreshold, m.ZeroThreshold) &&
		l.PositiveCount == m.PositiveCount && l.NegativeCount == m.NegativeCount &&
		slices.Equal(l.Positive, m.Positive) && slices.Equal(l.Negative, m.Negative) && EqualBits(l.Custom, m.Custom)
}

// EqualBits tells whether floats are the same bit for bit.
func EqualBits(a, b []float64) bool { return slices.EqualFunc(a, b, sameBits) }

func sameBits(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }

// AppendTo appends the layout as blocks of all formats have it.
//
//	schema varint, zero threshold 8 bytes, positive and negative spans (each:
//	count uvarint, then offset varint and length uvarint), numbers of positive
//	and of negative buckets uvarint, custom values (count uvarint, 8 bytes each)
func (l *Layout) AppendTo(dst []byte) []byte {
	dst = binary.AppendVarint(dst, int64(l.Schema))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(l.ZeroThreshold))
	dst = appendSpans(dst, l.Positive)
	dst = appendSpans(dst, l.Negative)
	dst = binary.AppendUvarint(dst, uint64(l.PositiveCount))
	dst = binary.AppendUvarint(dst, uint64(l.NegativeCount))
	dst = binary.AppendUvarint(dst, uint64(len(l.Custom)))
	for _, v := range l.Custom {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
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

// ReadLayout reads what AppendTo wrote. A layout that claims more than the given
// number of positive or of negative buckets makes r bad.
func ReadLayout(r *codec.Reader, buckets uint64) (l Layout) {
	schema := r.Varint()
	l.Schema = int32(schema)
	l.ZeroThreshold = math.Float64frombits(r.Uint64())
	l.Positive, l.Negative = readSpans(r), readSpans(r)
	positive, negative := r.Uvarint(), r.Uvarint()
	if schema != int64(l.Schema) || positive > buckets || negative > buckets {
		r.Fail()
		return Layout{}
	}
	l.PositiveCount, l.NegativeCount = int(positive), int(negative)
	if n := r.Count(8); n > 0 {
		l.Custom = make([]float64, n)
		for i := range l.Custom {
			l.Custom[i] = math.Float64frombits(r.Uint64())
		}
	}
	return l
}

func readSpans(r *codec.Reader) []histogram.Span {
	n := r.Count(2)
	if n == 0 {
		return nil
	}
	out := make([]histogram.Span, n)
	for i := range out {
		offset, length := r.Varint(), r.Uvarint()
		if offset != int64(int32(offset)) || length > math.MaxUint32 {
			r.Fail()
			return nil
		}
		out[i] = histogram.Span{Offset: int32(offset), Length: uint32(length)}
	}
	return out
}
