package exec

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/varvedb/varve/promqlx/internal/rollup"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/promqlx/internal/trace"
)

// scope is the grid that a node is evaluated on, and where the samples that it
// reads are counted.
type scope struct {
	row.Grid
	stats *stats.QuerySamples
	// keys asks the leaf below for the numbers of groups; nil if the rows are to
	// have labels. All that is between hands rows on one by one.
	keys *keys
	// kept is how many bytes a row takes that is kept until the query ends; 0 if
	// rows are folded, or nobody knows how many there will be.
	kept int64
	// trace is told what the nodes do; nil on a goroutine that helps.
	trace *trace.Span
}

// once returns the scope of the first step alone, and what counts its samples
// for all steps when it is done.
func (s scope) once() (scope, func()) {
	child := scope{Grid: s.First(), stats: s.stats.NewChild(), keys: s.keys, kept: s.kept, trace: s.trace}
	return child, func() {
		s.stats.MergeSeriesFromSubquery(child.stats)
		for i := range s.N {
			s.stats.IncrementSamplesAtStep(i, child.stats.TotalSamples)
		}
		s.stats.IncrementSamplesReadAtStep(0, child.stats.SamplesRead)
	}
}

// stepBytes is what a step of a subquery takes beside rows that are kept: counts of
// samples, a row, and its samples.
const stepBytes = 40

// below is scope.below, and counts the memory that any evaluation on the grid takes:
// there is no bound to the steps of a subquery.
func (q *query) below(s scope, g row.Grid, use stats.SubqueryConsumer) (scope, func(), error) {
	bytes := stepsBytes(g.N, stepBytes)
	if err := q.Meter.Grow(bytes); err != nil {
		// Of Prometheus' engine a row with a sample at each step is too many samples.
		n := int64(min(g.N, 1<<50))
		if many := q.Meter.Samples(n); many != nil {
			err = many
		}
		_ = q.Meter.Samples(-n) // giving back cannot fail
		return scope{}, nil, err
	}
	child, count := s.below(g, use)
	return child, func() {
		count()
		q.Meter.Shrink(bytes)
	}, nil
}

// stepsBytes is the memory of n steps, which may be more than can be said.
func stepsBytes(n int, each int64) int64 {
	if int64(n) > math.MaxInt64/each {
		return math.MaxInt64
	}
	return int64(n) * each
}

// below returns the scope of a subquery on a grid of its own, and what counts
// its samples for the steps of s that use them.
func (s scope) below(g row.Grid, use stats.SubqueryConsumer) (scope, func()) {
	end := g.Start - 1
	if g.N > 0 {
		end = g.End()
	}
	child := scope{Grid: g, stats: stats.NewChildWithStepTracking(g.Start, end, g.Step), trace: s.trace}
	use.Start, use.Interval, use.NumSteps = s.Start, s.Step, s.N
	return child, func() {
		s.stats.MergeSeriesFromSubquery(child.stats)
		s.stats.MergeTotalSamplesFromSubquery(child.stats, use)
		s.stats.MergeSamplesReadFromSubquery(child.stats, use)
	}
}

// current counts the samples that are current at steps: those of a row.
func (s scope) current(r *row.Row) {
	n := int64(r.Has.Count())
	s.stats.TotalSamples += n
	s.stats.SamplesRead += n
	if s.stats.StepTrackingEnabled() { // as of all that is below a subquery
		countEach(s.stats.TotalSamplesPerStep, r.Has, int(n))
		countEach(s.stats.SamplesReadPerStep, r.Has, int(n))
	}
	for i, h := range r.H {
		if h != nil {
			n := histogramSamples(h)
			s.at(i, n, n)
		}
	}
}

// countEach adds one to each step that is among the n of has. Without steps nothing
// is counted.
func countEach(steps []int64, has row.Bits, n int) {
	switch len(steps) {
	case 0:
	case n:
		for i := range steps {
			steps[i]++
		}
	default:
		for i := has.Next(0); i >= 0; i = has.Next(i + 1) {
			steps[i]++
		}
	}
}

func (s scope) at(step int, samples, read int64) {
	s.stats.IncrementSamplesAtStep(step, samples)
	s.stats.IncrementSamplesReadAtStep(step, read)
}

// histogramSamples is what a histogram counts for: its size and its time in
// samples of 16 bytes. (HPoint.size of Prometheus' promql.)
func histogramSamples(h *histogram.FloatHistogram) int64 { return int64(h.Size()+8) / 16 }

// windows counts the samples in the windows of a series: all of each, and as
// read those that were not in the window before.
func (s scope) windows(in *rollup.Input) {
	each := s.stats.StepTrackingEnabled()
	var samples, read int64
	last := int32(0) // end of the window before
	for i, hi := range in.Hi {
		lo := in.Lo[i]
		n, fresh := int64(hi-lo), int64(hi-max(lo, last))
		last = hi
		if each && n > 0 {
			s.at(i, n, fresh)
			continue
		}
		samples, read = samples+n, read+fresh
	}
	if !each {
		s.stats.TotalSamples += samples
		s.stats.SamplesRead += read
	}
	last = 0
	for i, hi := range in.HHi {
		var n, fresh int64
		for k := in.HLo[i]; k < hi; k++ {
			size := histogramSamples(in.H[k])
			n += size
			if k >= last {
				fresh += size
			}
		}
		last = hi
		if n > 0 {
			s.at(i, n, fresh)
		}
	}
}

// fork returns the scope of another goroutine on the same grid.
func (s scope) fork() scope {
	own := stats.NewQuerySamples(s.stats.StepTrackingEnabled())
	own.InitStepTracking(s.Start, s.End(), s.Step)
	return scope{Grid: s.Grid, stats: own}
}

// join adds what a forked scope counted.
func (s scope) join(own *stats.QuerySamples) {
	s.stats.TotalSamples += own.TotalSamples
	s.stats.SamplesRead += own.SamplesRead
	for i, n := range own.TotalSamplesPerStep {
		s.stats.TotalSamplesPerStep[i] += n
		s.stats.SamplesReadPerStep[i] += own.SamplesReadPerStep[i]
	}
}
