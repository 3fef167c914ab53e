package v1

import (
	"encoding/binary"
	"math"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/varvedb/varve/tsdb/internal/codec"
)

// A column of histograms is a list of runs that share a layout, then columns
// over all samples, then the buckets:
//
//	flags    byte: 1 buckets are integers (always for integer histograms)
//	runs     count uvarint; each: samples uvarint, layout
//	hints    column of integers
//	counts   column of integers, or of floats for float histograms
//	zeros    likewise
//	sums     column of floats
//	buckets  sample by sample, positive then negative: tokens of the difference
//	         from the same bucket of the sample before in the run
//
//	layout: schema varint, zero threshold 8 bytes, positive spans, negative
//	spans (count uvarint, each offset varint, length uvarint), number of
//	positive and of negative buckets uvarint, custom values (count uvarint,
//	8 bytes each)
//
// Buckets of float histograms that are not all integers are differences of
// their IEEE 754 bits.
const flagIntegers = 1

// layout is what consecutive histograms mostly share.
type layout struct {
	schema             int32
	zeroThreshold      float64
	positive, negative []histogram.Span
	custom             []float64
	nPositive          int // buckets; more or fewer than spans say in histograms nobody validated
	nNegative          int
}

func layoutOf(h *histogram.Histogram) layout {
	return layout{h.Schema, h.ZeroThreshold, h.PositiveSpans, h.NegativeSpans, h.CustomValues, len(h.PositiveBuckets), len(h.NegativeBuckets)}
}

func floatLayoutOf(h *histogram.FloatHistogram) layout {
	return layout{h.Schema, h.ZeroThreshold, h.PositiveSpans, h.NegativeSpans, h.CustomValues, len(h.PositiveBuckets), len(h.NegativeBuckets)}
}

func (a *layout) equal(b *layout) bool {
	return a.schema == b.schema && math.Float64bits(a.zeroThreshold) == math.Float64bits(b.zeroThreshold) &&
		a.nPositive == b.nPositive && a.nNegative == b.nNegative &&
		equalSpans(a.positive, b.positive) && equalSpans(a.negative, b.negative) && equalBits(a.custom, b.custom)
}

func equalSpans(a, b []histogram.Span) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func equalBits(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
			return false
		}
	}
	return true
}

func appendLayout(dst []byte, l *layout) []byte {
	dst = binary.AppendVarint(dst, int64(l.schema))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(l.zeroThreshold))
	dst = appendSpans(dst, l.positive)
	dst = appendSpans(dst, l.negative)
	dst = binary.AppendUvarint(dst, uint64(l.nPositive))
	dst = binary.AppendUvarint(dst, uint64(l.nNegative))
	dst = binary.AppendUvarint(dst, uint64(len(l.custom)))
	for _, v := range l.custom {
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

// run is a number of consecutive histograms of one layout.
type run struct {
	samples int
	layout  layout
}

func appendRuns(dst []byte, runs []run) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(runs)))
	for i := range runs {
		dst = binary.AppendUvarint(dst, uint64(runs[i].samples))
		dst = appendLayout(dst, &runs[i].layout)
	}
	return dst
}

// addRun extends the last run or begins another.
func addRun(runs []run, l layout) []run {
	if n := len(runs); n > 0 && runs[n-1].layout.equal(&l) {
		runs[n-1].samples++
		return runs
	}
	return append(runs, run{samples: 1, layout: l})
}

func (e *Encoder) histograms(hs []*histogram.Histogram) {
	var runs []run
	for _, h := range hs {
		runs = addRun(runs, layoutOf(h))
	}
	e.page.head = append(e.page.head, flagIntegers)
	e.page.head = appendRuns(e.page.head, runs)
	e.column(len(hs), func(i int) int64 { return int64(hs[i].CounterResetHint) })
	e.column(len(hs), func(i int) int64 { return int64(hs[i].Count) })
	e.column(len(hs), func(i int) int64 { return int64(hs[i].ZeroCount) })
	e.floatColumn(len(hs), func(i int) float64 { return hs[i].Sum })
	e.buckets(runs, func(i int, dst []int64) []int64 {
		return append(append(dst, hs[i].PositiveBuckets...), hs[i].NegativeBuckets...)
	})
}

func (e *Encoder) floatHistograms(hs []*histogram.FloatHistogram) {
	var runs []run
	integers := true
	for _, h := range hs {
		runs = addRun(runs, floatLayoutOf(h))
		integers = integers && allIntegers(h.PositiveBuckets) && allIntegers(h.NegativeBuckets)
	}
	flags := byte(0)
	if integers {
		flags = flagIntegers
	}
	e.page.head = append(e.page.head, flags)
	e.page.head = appendRuns(e.page.head, runs)
	e.column(len(hs), func(i int) int64 { return int64(hs[i].CounterResetHint) })
	e.floatColumn(len(hs), func(i int) float64 { return hs[i].Count })
	e.floatColumn(len(hs), func(i int) float64 { return hs[i].ZeroCount })
	e.floatColumn(len(hs), func(i int) float64 { return hs[i].Sum })
	e.buckets(runs, func(i int, dst []int64) []int64 {
		for _, v := range hs[i].PositiveBuckets {
			dst = append(dst, bucketInt(v, integers))
		}
		for _, v := range hs[i].NegativeBuckets {
			dst = append(dst, bucketInt(v, integers))
		}
		return dst
	})
}

func allIntegers(v []float64) bool {
	for _, x := range v {
		if _, ok := codec.Mantissa(x, 0); !ok {
			return false
		}
	}
	return true
}

func bucketInt(v float64, integer bool) int64 {
	if integer {
		return int64(v)
	}
	return int64(math.Float64bits(v))
}

func (e *Encoder) column(n int, at func(int) int64) {
	e.ints = e.ints[:0]
	for i := range n {
		e.ints = append(e.ints, at(i))
	}
	e.floats.ints.appendInts(&e.page, e.ints)
}

func (e *Encoder) floatColumn(n int, at func(int) float64) {
	v := make([]float64, n)
	for i := range v {
		v[i] = at(i)
	}
	e.floats.append(&e.page, v)
}

// buckets writes the buckets of all runs; list appends those of sample i.
func (e *Encoder) buckets(runs []run, list func(i int, dst []int64) []int64) {
	w := bitWriter{b: e.page.bits}
	var previous, current []int64
	i := 0
	for _, r := range runs {
		previous = append(previous[:0], make([]int64, r.layout.nPositive+r.layout.nNegative)...)
		for range r.samples {
			current = list(i, current[:0])
			i++
			for k, v := range current {
				token, raw, width := tokenOf(codec.Zigzag(v - previous[k]))
				e.page.tokens = append(e.page.tokens, token)
				if width > 0 {
					w.write(raw, width)
				}
			}
			previous, current = current, previous
		}
	}
	w.flush()
	e.page.bits = w.b
}
