package v1

import (
	"encoding/binary"
	"math"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/varvedb/varve/tsdb/internal/block"
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

// run is a number of consecutive histograms of one layout.
type run struct {
	samples int
	layout  block.Layout
}

func appendRuns(dst []byte, runs []run) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(runs)))
	for i := range runs {
		dst = binary.AppendUvarint(dst, uint64(runs[i].samples))
		dst = runs[i].layout.AppendTo(dst)
	}
	return dst
}

// addRun extends the last run or begins another.
func addRun(runs []run, l block.Layout) []run {
	if n := len(runs); n > 0 && runs[n-1].layout.Equal(&l) {
		runs[n-1].samples++
		return runs
	}
	return append(runs, run{samples: 1, layout: l})
}

func (e *Encoder) histograms(hs []*histogram.Histogram) {
	var runs []run
	for _, h := range hs {
		runs = addRun(runs, block.LayoutOf(h))
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
		runs = addRun(runs, block.FloatLayoutOf(h))
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
		previous = append(previous[:0], make([]int64, r.layout.Buckets())...)
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
