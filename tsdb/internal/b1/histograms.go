package b1

import (
	"encoding/binary"
	"math"

	"github.com/prometheus/prometheus/model/histogram"

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

// layout is what consecutive histograms mostly share.
type layout struct {
	schema               int32
	zeroThreshold        float64
	positive, negative   []histogram.Span
	custom               []float64
	nPositive, nNegative int // buckets; spans of histograms nobody validated may say otherwise
}

func (a *layout) buckets() int { return a.nPositive + a.nNegative }

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

// run is a number of consecutive histograms of one layout.
type run struct {
	samples int
	layout  layout
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
func layouts(s *block.Span, f func(i int, l layout)) {
	if s.Kind == block.KindHistogram {
		for i, h := range s.Histograms {
			f(i, layout{h.Schema, h.ZeroThreshold, h.PositiveSpans, h.NegativeSpans, h.CustomValues, len(h.PositiveBuckets), len(h.NegativeBuckets)})
		}
		return
	}
	for i, h := range s.FloatHistograms {
		f(i, layout{h.Schema, h.ZeroThreshold, h.PositiveSpans, h.NegativeSpans, h.CustomValues, len(h.PositiveBuckets), len(h.NegativeBuckets)})
	}
}

// bucketCount is the number of buckets of all histograms of a span.
func bucketCount(s *block.Span) (n int) {
	layouts(s, func(_ int, l layout) { n += l.buckets() })
	return n
}

func (c *histogramCoder) list(s *block.Span) {
	c.runs = c.runs[:0]
	layouts(s, func(_ int, l layout) {
		if n := len(c.runs); n > 0 && c.runs[n-1].layout.equal(&l) {
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
		dst = appendLayout(dst, &c.runs[i].layout)
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

func appendLayout(dst []byte, l *layout) []byte {
	dst = binary.AppendVarint(dst, int64(l.schema))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(l.zeroThreshold))
	for _, spans := range [2][]histogram.Span{l.positive, l.negative} {
		dst = binary.AppendUvarint(dst, uint64(len(spans)))
		for _, s := range spans {
			dst = binary.AppendVarint(dst, int64(s.Offset))
			dst = binary.AppendUvarint(dst, uint64(s.Length))
		}
	}
	dst = binary.AppendUvarint(dst, uint64(l.nPositive))
	dst = binary.AppendUvarint(dst, uint64(l.nNegative))
	dst = binary.AppendUvarint(dst, uint64(len(l.custom)))
	for _, v := range l.custom {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	}
	return dst
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
	eachRun(c.runs, from, to, func(i, j int, l *layout) {
		if l.buckets() > 0 {
			dst = c.appendBuckets(dst, c.buckets[i:j], l.buckets())
		}
	})
	return dst
}

// eachRun calls f for the part of every run inside [from, to).
func eachRun(runs []run, from, to int, f func(i, j int, l *layout)) {
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
