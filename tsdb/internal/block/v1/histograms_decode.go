package v1

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// runs reads the runs of n samples. The buckets they claim are not more than
// there are tokens.
func (d *decoder) runs(n int) []run {
	const minRun = 1 + 1 + 8 + 5
	out := make([]run, 0, min(d.head.Count(minRun), n)+1)
	count := cap(out) - 1
	samples, buckets := 0, 0
	for range count {
		claimed := d.head.Uvarint()
		if claimed == 0 || claimed > uint64(n-samples) {
			d.head.Fail()
			return nil
		}
		r := run{samples: int(claimed), layout: block.ReadLayout(&d.head, uint64(len(d.tokens)))}
		samples += r.samples
		buckets += r.samples * r.layout.Buckets()
		if buckets > len(d.tokens) {
			d.head.Fail()
		}
		if d.head.Bad() {
			return nil
		}
		out = append(out, r)
	}
	if samples != n {
		d.head.Fail()
		return nil
	}
	return out
}

func bucketFloat(i int64, integer bool) float64 {
	if integer {
		return float64(i)
	}
	return math.Float64frombits(uint64(i))
}

// buckets reads the buckets of all runs in one piece, sample after sample.
func (d *decoder) buckets(runs []run) []int64 {
	total := 0
	for _, r := range runs {
		total += r.samples * r.layout.Buckets()
	}
	out := make([]int64, total)
	if !d.residuals(out, 1, 0) {
		return nil
	}
	at := 0
	for _, r := range runs {
		width := r.layout.Buckets()
		for k := at + width; k < at+r.samples*width; k++ {
			out[k] += out[k-width]
		}
		at += r.samples * width
	}
	return out
}

// hints reads the column of counter reset hints.
func (d *decoder) hints(n int) []int64 {
	out := make([]int64, n)
	d.ints(out)
	for _, h := range out {
		if h < 0 || h > math.MaxUint8 {
			d.head.Fail()
			break
		}
	}
	return out
}

func (d *decoder) histograms(s *block.Span, buf *Buffer) {
	if d.head.Byte() != flagIntegers {
		d.head.Fail()
	}
	runs := d.runs(s.Count)
	hints, counts, zeros := d.hints(s.Count), make([]int64, s.Count), make([]int64, s.Count)
	d.ints(counts)
	d.ints(zeros)
	sums := d.floatColumn(s.Count, buf)
	if d.head.Bad() {
		return
	}
	buckets := d.buckets(runs)
	if d.head.Bad() {
		return
	}
	all := make([]histogram.Histogram, s.Count)
	s.Histograms = make([]*histogram.Histogram, s.Count)
	i := 0
	for _, r := range runs {
		for range r.samples {
			h := &all[i]
			h.CounterResetHint = histogram.CounterResetHint(hints[i])
			h.Schema, h.ZeroThreshold = r.layout.Schema, r.layout.ZeroThreshold
			h.Count, h.ZeroCount, h.Sum = uint64(counts[i]), uint64(zeros[i]), sums[i]
			h.PositiveSpans, h.NegativeSpans, h.CustomValues = r.layout.Positive, r.layout.Negative, r.layout.Custom
			h.PositiveBuckets, buckets = cut(buckets, r.layout.PositiveCount)
			h.NegativeBuckets, buckets = cut(buckets, r.layout.NegativeCount)
			s.Histograms[i] = h
			i++
		}
	}
}

func (d *decoder) floatHistograms(s *block.Span, buf *Buffer) {
	flags := d.head.Byte()
	if flags&^flagIntegers != 0 {
		d.head.Fail()
	}
	runs := d.runs(s.Count)
	hints := d.hints(s.Count)
	counts, zeros, sums := d.floatColumn(s.Count, buf), d.floatColumn(s.Count, buf), d.floatColumn(s.Count, buf)
	if d.head.Bad() {
		return
	}
	ints := d.buckets(runs)
	if d.head.Bad() {
		return
	}
	buckets := make([]float64, len(ints))
	for i, v := range ints {
		buckets[i] = bucketFloat(v, flags&flagIntegers != 0)
	}
	all := make([]histogram.FloatHistogram, s.Count)
	s.FloatHistograms = make([]*histogram.FloatHistogram, s.Count)
	i := 0
	for _, r := range runs {
		for range r.samples {
			h := &all[i]
			h.CounterResetHint = histogram.CounterResetHint(hints[i])
			h.Schema, h.ZeroThreshold = r.layout.Schema, r.layout.ZeroThreshold
			h.Count, h.ZeroCount, h.Sum = counts[i], zeros[i], sums[i]
			h.PositiveSpans, h.NegativeSpans, h.CustomValues = r.layout.Positive, r.layout.Negative, r.layout.Custom
			h.PositiveBuckets, buckets = cut(buckets, r.layout.PositiveCount)
			h.NegativeBuckets, buckets = cut(buckets, r.layout.NegativeCount)
			s.FloatHistograms[i] = h
			i++
		}
	}
}

// cut takes the first n elements, nil for none.
func cut[T any](v []T, n int) (head, rest []T) {
	if n == 0 {
		return nil, v
	}
	return v[:n:n], v[n:]
}

// floatColumn reads a column of floats into memory of its own.
func (d *decoder) floatColumn(n int, buf *Buffer) []float64 {
	var s block.Span
	d.floats(n, &s, buf)
	out := make([]float64, n)
	if d.head.Bad() {
		return out
	}
	for i := range out {
		out[i] = s.Float(i)
	}
	return out
}
