package b1

import (
	"encoding/binary"
	"math"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// The payload of LayoutHistograms, behind start timestamps:
//
//	flags    byte: 1 buckets are integers; always for integer histograms
//	runs     count uvarint; each: samples uvarint, layout
//	lengths  uvarint each: bytes of every mini-block but the last
//	minis    one after the other
//
//	mini     hints: column of integers
//	         counts and zero counts: columns of integers, of floats in float
//	         histograms
//	         sums: column of floats
//	         buckets of every run that reaches into the mini-block
//
//	buckets  form byte: 0 a column for each bucket; 1 two columns, the buckets
//	         of the first sample and the differences in time of all others,
//	         bucket after bucket; 2 a column of floats for each bucket, only
//	         if they are not integers. Nothing for a layout without buckets.
//
// A bucket is its count, not the difference from its neighbour; of float
// histograms that are not all integers the double in the form of codec.Ordered.
const (
	histIntegers = 1

	bucketColumns = 0
	bucketsFlat   = 1
	bucketFloats  = 2
)

// MaxBuckets is the most buckets that the histograms of a block may have
// together.
const MaxBuckets = 1 << 20

// run is a number of consecutive histograms of one layout.
type run struct {
	samples int
	layout  block.Layout
}

// histogramCoder lists histograms of either kind as columns.
type histogramCoder struct {
	columns  codec.FloatColumns
	runs     []run
	integers bool // buckets are integers
	ints     bool // counts are
	hints    []int64
	counts   []int64 // integer histograms
	zeros    []int64
	countsF  []float64 // float histograms
	zerosF   []float64
	sums     []float64
	buckets  [][]int64 // per sample
	part     []int64
	partF    []float64
	a, b, f  []byte
}

// layouts are the layouts of a span's histograms, sample by sample.
func layouts(s *block.Span, f func(i int, l block.Layout)) {
	if s.Kind == block.KindHistogram {
		for i, h := range s.Histograms {
			f(i, block.LayoutOf(h))
		}
		return
	}
	for i, h := range s.FloatHistograms {
		f(i, block.FloatLayoutOf(h))
	}
}

// bucketCount is the number of buckets of all histograms of a span.
func bucketCount(s *block.Span) (n int) {
	layouts(s, func(_ int, l block.Layout) { n += l.Buckets() })
	return n
}

func (c *histogramCoder) list(s *block.Span) {
	c.runs = c.runs[:0]
	layouts(s, func(_ int, l block.Layout) {
		if n := len(c.runs); n > 0 && c.runs[n-1].layout.Equal(&l) {
			c.runs[n-1].samples++
			return
		}
		c.runs = append(c.runs, run{1, l})
	})
	c.hints, c.sums = c.hints[:0], c.sums[:0]
	c.counts, c.zeros, c.countsF, c.zerosF = c.counts[:0], c.zeros[:0], c.countsF[:0], c.zerosF[:0]
	c.buckets = resize(c.buckets, s.Count)
	c.ints = s.Kind == block.KindHistogram
	if c.integers = c.ints; c.ints {
		for i, h := range s.Histograms {
			c.hints, c.sums = append(c.hints, int64(h.CounterResetHint)), append(c.sums, h.Sum)
			c.counts, c.zeros = append(c.counts, int64(h.Count)), append(c.zeros, int64(h.ZeroCount))
			c.buckets[i] = appendCounts(appendCounts(c.buckets[i][:0], h.PositiveBuckets), h.NegativeBuckets)
		}
		return
	}
	c.integers = true
	for _, h := range s.FloatHistograms {
		c.integers = c.integers && allIntegers(h.PositiveBuckets) && allIntegers(h.NegativeBuckets)
	}
	for i, h := range s.FloatHistograms {
		c.hints, c.sums = append(c.hints, int64(h.CounterResetHint)), append(c.sums, h.Sum)
		c.countsF, c.zerosF = append(c.countsF, h.Count), append(c.zerosF, h.ZeroCount)
		c.buckets[i] = c.appendFloats(c.appendFloats(c.buckets[i][:0], h.PositiveBuckets), h.NegativeBuckets)
	}
}

// appendCounts makes counts of differences between neighbours.
func appendCounts(dst, deltas []int64) []int64 {
	sum := int64(0)
	for _, d := range deltas {
		sum += d
		dst = append(dst, sum)
	}
	return dst
}

func allIntegers(v []float64) bool {
	for _, x := range v {
		if _, ok := codec.Mantissa(x, 0); !ok {
			return false
		}
	}
	return true
}

func (c *histogramCoder) appendFloats(dst []int64, v []float64) []int64 {
	for _, x := range v {
		if c.integers {
			dst = append(dst, int64(x))
		} else {
			dst = append(dst, codec.Ordered(math.Float64bits(x)))
		}
	}
	return dst
}

func (e *Encoder) appendHistograms(dst []byte, h *Header, s *block.Span) []byte {
	h.Layout, h.Params, h.Domain = LayoutHistograms, codec.Params{}, codec.Doubles
	c := &e.hist
	c.list(s)
	flags := byte(0)
	if c.integers {
		flags = histIntegers
	}
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(len(c.runs)))
	for i := range c.runs {
		dst = binary.AppendUvarint(dst, uint64(c.runs[i].samples))
		dst = c.runs[i].layout.AppendTo(dst)
	}
	e.stream = e.stream[:0]
	for k := range h.minis() {
		from := k << h.MiniLog
		before := len(e.stream)
		e.stream = c.appendMini(e.stream, from, min(from+h.mini(), h.Count))
		if k < h.minis()-1 {
			dst = binary.AppendUvarint(dst, uint64(len(e.stream)-before))
		}
	}
	return append(dst, e.stream...)
}

// appendMini appends the samples [from, to).
func (c *histogramCoder) appendMini(dst []byte, from, to int) []byte {
	dst = c.columns.Append(dst, c.hints[from:to])
	if c.ints {
		dst = c.columns.Append(dst, c.counts[from:to])
		dst = c.columns.Append(dst, c.zeros[from:to])
	} else {
		dst = c.columns.AppendFloats(dst, c.countsF[from:to])
		dst = c.columns.AppendFloats(dst, c.zerosF[from:to])
	}
	dst = c.columns.AppendFloats(dst, c.sums[from:to])
	eachRun(c.runs, from, to, func(i, j int, l *block.Layout) {
		if l.Buckets() > 0 {
			dst = c.appendBuckets(dst, c.buckets[i:j], l.Buckets())
		}
	})
	return dst
}

// eachRun calls f for the part of every run inside [from, to).
func eachRun(runs []run, from, to int, f func(i, j int, l *block.Layout)) {
	at := 0
	for k := range runs {
		end := at + runs[k].samples
		if i, j := max(at, from), min(end, to); i < j {
			f(i, j, &runs[k].layout)
		}
		at = end
	}
}

// appendBuckets appends the n buckets of samples in the smaller form.
func (c *histogramCoder) appendBuckets(dst []byte, samples [][]int64, n int) []byte {
	c.a = append(c.a[:0], bucketColumns)
	for k := range n {
		c.part = c.part[:0]
		for _, s := range samples {
			c.part = append(c.part, s[k])
		}
		c.a = c.columns.Append(c.a, c.part)
	}
	c.b = append(c.b[:0], bucketsFlat)
	c.b = c.columns.Append(c.b, samples[0])
	if len(samples) > 1 {
		c.part = c.part[:0]
		for k := range n {
			for i := 1; i < len(samples); i++ {
				c.part = append(c.part, samples[i][k]-samples[i-1][k])
			}
		}
		c.b = c.columns.Append(c.b, c.part)
	}
	best := c.a
	if len(c.b) < len(best) {
		best = c.b
	}
	if !c.integers {
		if c.f = c.appendFloatBuckets(c.f[:0], samples, n); len(c.f) < len(best) {
			best = c.f
		}
	}
	return append(dst, best...)
}

func (c *histogramCoder) appendFloatBuckets(dst []byte, samples [][]int64, n int) []byte {
	dst = append(dst, bucketFloats)
	for k := range n {
		c.partF = c.partF[:0]
		for _, s := range samples {
			c.partF = append(c.partF, math.Float64frombits(codec.FromOrdered(s[k])))
		}
		dst = c.columns.AppendFloats(dst, c.partF)
	}
	return dst
}
