package b1

import (
	"fmt"
	"math"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// histHead is what a payload of histograms says before its mini-blocks.
type histHead struct {
	integers bool
	runs     []run
	minis    [][]byte
}

func (b *Block) histHead() (*histHead, error) {
	h := &b.h
	r := codec.NewReader(b.data)
	flags := r.Byte()
	head := &histHead{integers: flags == histIntegers}
	runs := r.Uvarint()
	if r.Bad() || flags > histIntegers || h.Kind == block.KindHistogram && !head.integers || runs < 1 || runs > uint64(h.Count) || runs > uint64(r.Len()) {
		return nil, block.Corruptf("histograms do not parse")
	}
	samples, buckets := 0, 0
	for range runs {
		n := r.Uvarint()
		l := block.ReadLayout(&r, MaxBuckets)
		if r.Bad() || n < 1 || n > uint64(h.Count-samples) {
			return nil, block.Corruptf("layouts of histograms do not parse")
		}
		samples += int(n)
		if buckets += int(n) * l.Buckets(); buckets > MaxBuckets {
			return nil, block.Corruptf("histograms of more than %d buckets", MaxBuckets)
		}
		head.runs = append(head.runs, run{int(n), l})
	}
	var lengths [maxMinis]uint64
	for k := range h.minis() - 1 {
		lengths[k] = r.Uvarint()
	}
	for k := range h.minis() {
		if k == h.minis()-1 {
			lengths[k] = uint64(r.Len())
		}
		head.minis = append(head.minis, r.Take(lengths[k]))
	}
	if r.Bad() || samples != h.Count {
		return nil, block.Corruptf("%d histograms in %d runs, want %d", samples, runs, h.Count)
	}
	return head, nil
}

// histColumns are the decoded columns of a range of samples.
type histColumns struct {
	hints, counts, zeros  []int64
	countsF, zerosF, sums []float64
	buckets               [][]int64 // per sample, positive then negative
}

// Histograms returns the samples [i, j) of a block of integer histograms. They
// are the caller's, but share spans, custom values and the memory of buckets
// with each other: they must not be changed.
func (b *Block) Histograms(i, j int) ([]*histogram.Histogram, error) {
	if b.h.Kind != block.KindHistogram {
		return nil, errNotDecimal
	}
	head, c, err := b.histColumns(i, j)
	if err != nil {
		return nil, err
	}
	all := make([]histogram.Histogram, j-i)
	out := make([]*histogram.Histogram, j-i)
	eachRun(head.runs, i, j, func(from, to int, l *block.Layout) {
		for k := from - i; k < to-i; k++ {
			h := &all[k]
			out[k] = h
			h.CounterResetHint, h.Schema, h.ZeroThreshold = histogram.CounterResetHint(c.hints[k]), l.Schema, l.ZeroThreshold
			h.PositiveSpans, h.NegativeSpans, h.CustomValues = l.Positive, l.Negative, l.Custom
			h.Count, h.ZeroCount, h.Sum = uint64(c.counts[k]), uint64(c.zeros[k]), c.sums[k]
			p, n := c.buckets[k][:l.PositiveCount:l.PositiveCount], c.buckets[k][l.PositiveCount:]
			if l.PositiveCount > 0 {
				h.PositiveBuckets = deltas(p)
			}
			if l.NegativeCount > 0 {
				h.NegativeBuckets = deltas(n)
			}
		}
	})
	return out, nil
}

// deltas makes differences between neighbours of counts, in place.
func deltas(v []int64) []int64 {
	before := int64(0)
	for i, x := range v {
		v[i] = x - before
		before = x
	}
	return v
}

// FloatHistograms is Histograms for blocks of float histograms.
func (b *Block) FloatHistograms(i, j int) ([]*histogram.FloatHistogram, error) {
	if b.h.Kind != block.KindFloatHistogram {
		return nil, errNotDecimal
	}
	head, c, err := b.histColumns(i, j)
	if err != nil {
		return nil, err
	}
	all := make([]histogram.FloatHistogram, j-i)
	out := make([]*histogram.FloatHistogram, j-i)
	eachRun(head.runs, i, j, func(from, to int, l *block.Layout) {
		slab := make([]float64, (to-from)*l.Buckets())
		for k := from - i; k < to-i; k++ {
			h := &all[k]
			out[k] = h
			h.CounterResetHint, h.Schema, h.ZeroThreshold = histogram.CounterResetHint(c.hints[k]), l.Schema, l.ZeroThreshold
			h.PositiveSpans, h.NegativeSpans, h.CustomValues = l.Positive, l.Negative, l.Custom
			h.Count, h.ZeroCount, h.Sum = c.countsF[k], c.zerosF[k], c.sums[k]
			buckets := slab[:l.Buckets():l.Buckets()]
			slab = slab[l.Buckets():]
			for x, m := range c.buckets[k] {
				if buckets[x] = float64(m); !head.integers {
					buckets[x] = math.Float64frombits(codec.FromOrdered(m))
				}
			}
			if l.PositiveCount > 0 {
				h.PositiveBuckets = buckets[:l.PositiveCount:l.PositiveCount]
			}
			if l.NegativeCount > 0 {
				h.NegativeBuckets = buckets[l.PositiveCount:]
			}
		}
	})
	return out, nil
}

// histColumns decodes the mini-blocks of [i, j).
func (b *Block) histColumns(i, j int) (*histHead, *histColumns, error) {
	if err := b.checkRange(i, j); err != nil {
		return nil, nil, err
	}
	head, err := b.histHead()
	if err != nil {
		return nil, nil, err
	}
	out := &histColumns{}
	for i < j {
		k := i >> b.h.MiniLog
		from := k << b.h.MiniLog
		end := min(from+b.h.mini(), b.h.Count)
		to := min(end, j)
		c, ok := b.histMini(head, head.minis[k], from, end)
		if !ok {
			return nil, nil, block.Corruptf("mini-block %d of histograms does not decode", k)
		}
		x, y := i-from, to-from
		out.hints, out.sums = append(out.hints, c.hints[x:y]...), append(out.sums, c.sums[x:y]...)
		if b.h.Kind == block.KindHistogram {
			out.counts, out.zeros = append(out.counts, c.counts[x:y]...), append(out.zeros, c.zeros[x:y]...)
		} else {
			out.countsF, out.zerosF = append(out.countsF, c.countsF[x:y]...), append(out.zerosF, c.zerosF[x:y]...)
		}
		out.buckets = append(out.buckets, c.buckets[x:y]...)
		i = to
	}
	return head, out, nil
}

// histMini decodes the samples [from, to), all of a mini-block.
func (b *Block) histMini(head *histHead, src []byte, from, to int) (*histColumns, bool) {
	n := to - from
	c := &histColumns{hints: make([]int64, n), sums: make([]float64, n), buckets: make([][]int64, n)}
	src, ok := codec.DecodeColumn(c.hints, src, &b.scratch)
	if !ok {
		return nil, false
	}
	for _, hint := range c.hints {
		ok = ok && hint >= 0 && hint <= math.MaxUint8
	}
	if b.h.Kind == block.KindHistogram {
		c.counts, c.zeros = make([]int64, n), make([]int64, n)
		for _, column := range [2][]int64{c.counts, c.zeros} {
			if ok {
				src, ok = codec.DecodeColumn(column, src, &b.scratch)
			}
		}
	} else {
		c.countsF, c.zerosF = make([]float64, n), make([]float64, n)
		for _, column := range [2][]float64{c.countsF, c.zerosF} {
			if ok {
				src, ok = codec.DecodeFloats(column, src, &b.scratch)
			}
		}
	}
	if ok {
		src, ok = codec.DecodeFloats(c.sums, src, &b.scratch)
	}
	eachRun(head.runs, from, to, func(i, j int, l *block.Layout) {
		if ok && l.Buckets() > 0 {
			src, ok = b.buckets(c.buckets[i-from:j-from], l.Buckets(), src, head.integers)
		}
	})
	return c, ok && len(src) == 0
}

// buckets decodes the n buckets of all samples of dst.
func (b *Block) buckets(dst [][]int64, n int, src []byte, integers bool) (rest []byte, ok bool) {
	if len(src) == 0 || n > len(src) && src[0] != bucketsFlat {
		return nil, false
	}
	slab := make([]int64, n*len(dst))
	for i := range dst {
		dst[i] = slab[i*n : (i+1)*n : (i+1)*n]
	}
	form, rest := src[0], src[1:]
	switch form {
	case bucketColumns:
		column := make([]int64, len(dst))
		for k := range n {
			if rest, ok = codec.DecodeColumn(column, rest, &b.scratch); !ok {
				return nil, false
			}
			for i, x := range column {
				dst[i][k] = x
			}
		}
		return rest, true
	case bucketFloats:
		column := make([]float64, len(dst))
		for k := range n {
			if rest, ok = codec.DecodeFloats(column, rest, &b.scratch); !ok || integers {
				return nil, false
			}
			for i, x := range column {
				dst[i][k] = codec.Ordered(math.Float64bits(x))
			}
		}
		return rest, true
	case bucketsFlat:
		if rest, ok = codec.DecodeColumn(dst[0], rest, &b.scratch); !ok || len(dst) == 1 {
			return rest, ok
		}
		diffs := make([]int64, n*(len(dst)-1))
		if rest, ok = codec.DecodeColumn(diffs, rest, &b.scratch); !ok {
			return nil, false
		}
		for k := range n {
			for i := 1; i < len(dst); i++ {
				dst[i][k] = dst[i-1][k] + diffs[0]
				diffs = diffs[1:]
			}
		}
		return rest, true
	}
	return nil, false
}

// verifyHistograms compares the block with what it was made of.
func (e *Encoder) verifyHistograms(s *block.Span) error {
	c := &e.hist
	head, got, err := e.block.histColumns(0, s.Count)
	if err != nil {
		return fmt.Errorf("encode block: verify: %w", err)
	}
	same := head.integers == c.integers && len(head.runs) == len(c.runs) && block.EqualBits(got.sums, c.sums) &&
		block.EqualBits(got.countsF, c.countsF) && block.EqualBits(got.zerosF, c.zerosF)
	for i := range head.runs {
		same = same && head.runs[i].samples == c.runs[i].samples && head.runs[i].layout.Equal(&c.runs[i].layout)
	}
	for i := range s.Count {
		same = same && got.hints[i] == c.hints[i] && equalInts(got.buckets[i], c.buckets[i])
		if c.ints {
			same = same && got.counts[i] == c.counts[i] && got.zeros[i] == c.zeros[i]
		}
	}
	if !same {
		return fmt.Errorf("encode block: verify: histograms differ")
	}
	return nil
}

func equalInts(a, b []int64) bool {
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
