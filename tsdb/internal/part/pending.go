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
	ints            []int64 // in place of floats, as long as all come as mantissas
	scale           uint8   // of ints
	histograms      []*histogram.Histogram
	floatHistograms []*histogram.FloatHistogram
	buckets         int
}

func (p *pending) len() int { return len(p.times) }

// add copies the samples [i, j) of s; histograms are shared.
func (p *pending) add(s *block.Span, i, j int) {
	p.kind = s.Kind
	if s.Times != nil {
		p.times = append(p.times, s.Times[i:j]...)
	} else {
		for k := i; k < j; k++ {
			p.times = append(p.times, s.Start+int64(k)*s.Step)
		}
	}
	p.addStarts(s, i, j)
	switch s.Kind {
	case block.KindHistogram:
		for _, h := range s.Histograms[i:j] {
			p.histograms = append(p.histograms, h)
			p.buckets += len(h.PositiveBuckets) + len(h.NegativeBuckets)
		}
	case block.KindFloatHistogram:
		for _, h := range s.FloatHistograms[i:j] {
			p.floatHistograms = append(p.floatHistograms, h)
			p.buckets += len(h.PositiveBuckets) + len(h.NegativeBuckets)
		}
	default:
		p.addFloats(s, i, j)
	}
}

// addFloats keeps mantissas where all are of one scale: they need not be looked
// for again.
func (p *pending) addFloats(s *block.Span, i, j int) {
	if len(p.ints) == 0 && len(p.floats) == 0 {
		p.scale = s.Scale
	}
	if s.Floats == nil && len(p.floats) == 0 && p.scale == s.Scale {
		if s.Ints32 == nil {
			p.ints = append(p.ints, s.Ints64[i:j]...)
			return
		}
		for _, m := range s.Ints32[i:j] {
			p.ints = append(p.ints, int64(m))
		}
		return
	}
	if len(p.ints) > 0 {
		before := block.Span{Kind: block.KindFloat, Count: len(p.ints), Ints64: p.ints, Scale: p.scale}
		for k := range p.ints {
			p.floats = append(p.floats, before.Float(k))
		}
		p.ints = p.ints[:0]
	}
	if s.Floats != nil {
		p.floats = append(p.floats, s.Floats[i:j]...)
		return
	}
	for k := i; k < j; k++ {
		p.floats = append(p.floats, s.Float(k))
	}
}

// addStarts keeps start timestamps from the first one that is known on.
func (p *pending) addStarts(s *block.Span, i, j int) {
	if s.StartTimes == nil && !p.hasStarts {
		return
	}
	for k := len(p.times) - (j - i) - len(p.starts); k > 0; k-- {
		p.starts = append(p.starts, 0)
	}
	for k := i; k < j; k++ {
		start := s.StartTime(k)
		p.starts = append(p.starts, start)
		p.hasStarts = p.hasStarts || start != 0
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
		if len(p.ints) > 0 {
			s.Ints64, s.Scale = p.ints[:n], p.scale
		} else {
			s.Floats = p.floats[:n]
		}
	}
	return s
}

// drop forgets the first n samples.
func (p *pending) drop(n int) {
	p.times = append(p.times[:0], p.times[n:]...)
	p.starts = append(p.starts[:0], p.starts[min(n, len(p.starts)):]...)
	switch p.kind {
	case block.KindHistogram:
		p.histograms = append(p.histograms[:0], p.histograms[n:]...)
	case block.KindFloatHistogram:
		p.floatHistograms = append(p.floatHistograms[:0], p.floatHistograms[n:]...)
	default:
		p.floats = append(p.floats[:0], p.floats[min(n, len(p.floats)):]...)
		p.ints = append(p.ints[:0], p.ints[min(n, len(p.ints)):]...)
	}
	if len(p.times) == 0 {
		p.starts, p.buckets, p.hasStarts = p.starts[:0], 0, false
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
