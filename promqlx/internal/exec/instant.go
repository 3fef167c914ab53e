package exec

import (
	"context"
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"

	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/tsdb"
)

// offset returns what is taken off the time of a step for the time that a
// selector looks at there; with an @ modifier it is right for the first step.
func offset(sel *plan.Selector, g row.Grid) int64 {
	if sel.At != nil {
		return g.Start - *sel.At + sel.Offset
	}
	return sel.Offset
}

// instant evaluates an instant vector selector: of each series the last sample
// at or before each step, unless it is older than the look-back or a staleness
// marker.
func (q *query) instant(ctx context.Context, n *plan.Instant, g scope, emit func(*row.Row) error) error {
	if n.Smoothed && n.Time == "" {
		return q.smoothed(ctx, n, g, emit)
	}
	off := offset(&n.Selector, g.Grid)
	l := &leaf{
		q: q, sel: &n.Selector, scope: g,
		mint: g.Start - off - q.Lookback + 1, maxt: g.End() - off,
		hints: storage.SelectHints{Step: g.Step},
	}
	if n.At != nil {
		l.maxt = g.Start - off
	}
	c := current{scope: g, off: off, fixed: n.At != nil && !n.Drift, lookback: q.Lookback, what: n.Time}
	if n.Time != "" && n.At != nil {
		c.off = g.Start - *n.At // the offset is forgotten, as by Prometheus' engine
	}
	if n.Time == "start_timestamp" && !q.StartTimes {
		return nil
	}
	if err := l.open(ctx); err != nil {
		return l.close(err)
	}
	work := func(_ *row.Env, g scope, b *bench) *reader {
		b.current = c
		b.current.scope = g
		b.samples.WithStale, b.samples.WithST = true, n.Time == "start_timestamp"
		b.reader = reader{leaf: l, maker: &b.current, bench: b, last: g.N == 1 && c.off == off && !n.StatsOnly}
		if n.StatsOnly {
			b.reader.visits = &visits{scope: g, off: c.off, fixed: c.fixed, back: q.Lookback}
		}
		return &b.reader
	}
	if n.Time == "" {
		return l.close(l.each(ctx, work, emit))
	}
	return l.close(q.merging(n.Collide, g, emit, func(emit func(*row.Row) error) error {
		return l.each(ctx, work, func(r *row.Row) error {
			r.LoseName(&l.env)
			return emit(r)
		})
	}))
}

// current finds the sample that is current at each step.
type current struct {
	scope
	off      int64
	fixed    bool // all steps look at the time of the first
	lookback int64
	what     string // plan.Instant.Time, or origin: milliseconds
}

// ref returns the time that step i looks at.
func (c *current) ref(i int) int64 {
	if c.fixed {
		i = 0
	}
	return c.scope.T(i) - c.off
}

// row implements maker.
func (c *current) row(_ int, s *tsdb.Samples, out *row.Row) error {
	c.fill(s, out)
	c.scope.current(out)
	return nil
}

func (c *current) fill(s *tsdb.Samples, out *row.Row) {
	if len(s.HT) == 0 && c.what == "" && !c.fixed {
		c.floats(s.T, s.F, out)
		return
	}
	f, h := -1, -1 // the last float and the last histogram at or before ref
	for i := range c.scope.N {
		ref := c.ref(i)
		for f+1 < len(s.T) && s.T[f+1] <= ref {
			f++
		}
		for h+1 < len(s.HT) && s.HT[h+1] <= ref {
			h++
		}
		if h >= 0 && (f < 0 || s.HT[h] > s.T[f]) {
			if s.HT[h] > ref-c.lookback && !value.IsStaleNaN(s.H[h].Sum) {
				c.put(out, i, s.HT[h], startTime(s.HST, h), 0, s.H[h])
			}
			continue
		}
		if f >= 0 && s.T[f] > ref-c.lookback && !value.IsStaleNaN(s.F[f]) {
			c.put(out, i, s.T[f], startTime(s.ST, f), s.F[f], nil)
		}
	}
}

func startTime(st []int64, i int) int64 {
	if st == nil {
		return 0
	}
	return st[i]
}

// put sets the value, or what timestamp and start_timestamp make of it.
func (c *current) put(out *row.Row, i int, t, st int64, f float64, h *histogram.FloatHistogram) {
	switch c.what {
	case "":
		out.SetAt(i, f, h)
	case "timestamp":
		out.SetF(i, float64(t)/1000)
	case "start_timestamp":
		out.SetF(i, float64(st)/1000)
	case "origin":
		out.SetF(i, float64(t))
	}
}

// floats is fill for a series of floats alone.
func (c *current) floats(ts []int64, fs []float64, out *row.Row) {
	p := 0 // the first sample after the last time looked at
	ref, step := c.scope.Start-c.off, c.scope.Step
	for w := range out.Has {
		lo := w << 6
		word := out.F[lo:min(lo+64, c.scope.N)]
		if step <= c.lookback && inStep(ts[p:], ref, step, len(word)) {
			out.Has[w] = copyFresh(word, fs[p:])
			p += len(word)
		} else {
			out.Has[w], p = c.word(ts, fs, p, ref, word)
		}
		ref += int64(len(word)) * step
	}
}

// inStep tells whether at each of n steps from ref on one more sample of ts is
// current, less than a step old, and none comes in between: of a series that is
// looked at as often as it is written.
func inStep(ts []int64, ref, step int64, n int) bool {
	if len(ts) < n {
		return false
	}
	for _, t := range ts[:n] {
		if uint64(ref-t) >= uint64(step) { // t is after ref too
			return false
		}
		ref += step
	}
	return len(ts) == n || ts[n] > ref-step
}

// copyFresh copies as many values as dst has and tells which of them are no markers.
func copyFresh(dst, src []float64) (has uint64) {
	copy(dst, src)
	has = ^uint64(0) >> (64 - len(dst))
	for i, f := range dst {
		if math.Float64bits(f) == value.StaleNaN {
			has &^= 1 << i
		}
	}
	return has
}

// word finds what is current at the steps of one word of a set, from ref on; p is
// the first sample after the step before, and then after the last of the steps.
func (c *current) word(ts []int64, fs []float64, p int, ref int64, word []float64) (has uint64, after int) {
	for i := range word {
		for p < len(ts) && ts[p] <= ref {
			p++
		}
		if p > 0 && ts[p-1] > ref-c.lookback {
			if f := fs[p-1]; math.Float64bits(f) != value.StaleNaN {
				word[i] = f
				has |= 1 << i
			}
		}
		ref += c.scope.Step
	}
	return has, p
}
