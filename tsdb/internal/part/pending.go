package part

import (
	"github.com/prometheus/prometheus/model/histogram"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// maxBuckets closes a block of histograms: its buckets together.
const maxBuckets = 1 << 16

// pending are the samples of one series and kind that are not in a block yet.
type pending struct {
	kind            block.Kind
	times, starts   []int64
	hasStarts       bool
	floats          []float64
	histograms      []*histogram.Histogram
	floatHistograms []*histogram.FloatHistogram
	buckets         int
}

func (p *pending) len() int { return len(p.times) }

// add copies sample i of s.
func (p *pending) add(s *block.Span, i int) {
	p.kind = s.Kind
	p.times = append(p.times, s.Time(i))
	start := s.StartTime(i)
	p.starts = append(p.starts, start)
	p.hasStarts = p.hasStarts || start != 0
	switch s.Kind {
	case block.KindHistogram:
		h := s.Histograms[i].Copy()
		p.histograms = append(p.histograms, h)
		p.buckets += len(h.PositiveBuckets) + len(h.NegativeBuckets)
	case block.KindFloatHistogram:
		h := s.FloatHistograms[i].Copy()
		p.floatHistograms = append(p.floatHistograms, h)
		p.buckets += len(h.PositiveBuckets) + len(h.NegativeBuckets)
	default:
		p.floats = append(p.floats, s.Float(i))
	}
}

// span returns the first n samples; regular times become a grid.
func (p *pending) span(n int) block.Span {
	s := block.Span{Kind: p.kind, Count: n}
	if step, ok := grid(p.times[:n]); ok {
		s.Start, s.Step = p.times[0], step
	} else {
		s.Times = p.times[:n]
	}
	if p.hasStarts {
		s.StartTimes = p.starts[:n]
	}
	switch p.kind {
	case block.KindHistogram:
		s.Histograms = p.histograms[:n]
	case block.KindFloatHistogram:
		s.FloatHistograms = p.floatHistograms[:n]
	default:
		s.Floats = p.floats[:n]
	}
	return s
}

// drop forgets the first n samples.
func (p *pending) drop(n int) {
	p.times = append(p.times[:0], p.times[n:]...)
	p.starts = append(p.starts[:0], p.starts[n:]...)
	switch p.kind {
	case block.KindHistogram:
		p.histograms = append(p.histograms[:0], p.histograms[n:]...)
	case block.KindFloatHistogram:
		p.floatHistograms = append(p.floatHistograms[:0], p.floatHistograms[n:]...)
	default:
		p.floats = append(p.floats[:0], p.floats[n:]...)
	}
	if len(p.times) == 0 {
		p.buckets, p.hasStarts = 0, false
	}
}

// grid returns the step of regular times.
func grid(times []int64) (step int64, ok bool) {
	if len(times) == 1 {
		return 0, true
	}
	step = times[1] - times[0]
	for i := 2; i < len(times); i++ {
		if times[i]-times[i-1] != step {
			return 0, false
		}
	}
	return step, true
}
