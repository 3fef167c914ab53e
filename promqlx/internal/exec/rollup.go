package exec

import (
	"context"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/rollup"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/tsdb"
)

// rollup evaluates a function over a window of samples at each step.
func (q *query) rollup(ctx context.Context, n *plan.Rollup, g scope, emit func(*row.Row) error) error {
	w, err := q.windows(ctx, n, g)
	if err != nil {
		return err
	}
	if n.Func == "absent_over_time" {
		return q.absentOverTime(ctx, w, emit)
	}
	return q.merging(n.Collide && !q.DelayedNames, g, emit, func(emit func(*row.Row) error) error {
		return w.run(ctx, emit)
	})
}

// windows slides windows over the samples of one series after the other.
type windows struct {
	q *query
	n *plan.Rollup
	scope
	fn    *rollup.Func
	in    rollup.Input
	fixed bool // all steps look at the window of the first
	drop  bool // the function drops the name
	noted
	add func() // adds the annotations of arguments, behind those of a subquery

	leaf *leaf
	at   int // number of the series in it
}

func (q *query) windows(ctx context.Context, n *plan.Rollup, g scope) (*windows, error) {
	fn, ok := rollup.Lookup(n.Func)
	if !ok {
		panic("exec: no function over windows is called " + n.Func)
	}
	w := &windows{q: q, n: n, scope: g, fn: fn, drop: !rollup.KeepsName(n.Func)}
	env := q.env(g.Grid)
	w.in = rollup.Input{
		Range: n.Range, RangeRest: n.RangeRest, OffsetRest: n.OffsetRest, Pos: n.Position(), ArgPos: positions(n.ArgPos), Env: env,
	}
	if sel := n.Selector; sel != nil {
		w.in.Offset, w.fixed = offset(sel, g.Grid), sel.At != nil
		w.in.Anchored, w.in.Smoothed = sel.Anchored, sel.Smoothed
		if err := rollup.Check(n.Func, sel.Anchored, sel.Smoothed); err != nil {
			return nil, err
		}
	} else {
		w.in.Offset, w.fixed = n.Subquery.Offset, n.Subquery.At != nil
		if w.fixed {
			w.in.Offset += g.Start - *n.Subquery.At
		}
	}
	add, err := q.aside(func() error {
		for _, a := range n.Args {
			vals, err := q.scalar(ctx, a, g)
			if err != nil {
				return err
			}
			w.in.Args = append(w.in.Args, vals)
		}
		return nil
	})
	if err != nil && n.Subquery != nil { // which is evaluated before
		below, count, failed := q.below(g, subGrid(n.Subquery, g.Grid), stats.SubqueryConsumer{})
		if failed != nil {
			return nil, failed
		}
		defer count()
		return nil, q.firstError(ctx, n.Subquery.Child, below, err)
	}
	if err != nil {
		return nil, err
	}
	if w.add = add; n.Subquery == nil {
		add()
	}
	w.noted = noted{on: n.Func == "rate" || n.Func == "increase", env: env}
	if w.noted.on {
		w.noted.pos = w.in.ArgPos[0]
	}
	return w, nil
}

func (w *windows) run(ctx context.Context, emit func(*row.Row) error) error {
	if w.n.Subquery != nil {
		return w.overRows(ctx, emit)
	}
	return w.overSeries(ctx, emit)
}

// overSeries reads the windows from the store.
func (w *windows) overSeries(ctx context.Context, emit func(*row.Row) error) error {
	l := &leaf{q: w.q, sel: w.n.Selector, scope: w.scope, hints: storage.SelectHints{
		Step: w.scope.Step, Range: w.n.Range, Func: w.n.Func,
	}}
	l.mint, l.maxt = w.scope.Start-w.in.Offset-w.n.Range+1, w.scope.End()-w.in.Offset
	if w.fixed {
		l.maxt = w.scope.Start - w.in.Offset
	}
	if w.in.Anchored || w.in.Smoothed {
		l.mint -= w.q.Lookback
	}
	if w.in.Smoothed {
		l.maxt += w.q.Lookback
	}
	if err := l.open(ctx); err != nil {
		return l.close(err)
	}
	return l.close(l.each(ctx, func(env *row.Env, g scope, b *bench) *reader {
		own := *w
		own.leaf, own.scope = l, g
		own.in.Env, own.in.Scratch, own.noted.env = env, &b.scratch, env
		own.in.Name = func() string { return l.series.labels(own.at).Get(labels.MetricName) }
		b.samples.WithST = w.q.StartTimes && takesStartTimes(w.n.Func)
		b.reader = reader{leaf: l, maker: &own, stats: own.statistics(l), bench: b}
		r := &b.reader
		if w.n.Selector.StatsOnly {
			r.samples.WithStale, r.visits = true, w.visits(g)
		}
		return r
	}, func(r *row.Row) error {
		if w.drop {
			r.LoseName(w.in.Env)
		}
		return emit(r)
	}))
}

// row implements maker.
func (w *windows) row(i int, s *tsdb.Samples, out *row.Row) error {
	w.at = i
	w.in.T, w.in.F, w.in.ST = s.T, s.F, s.ST
	w.in.HT, w.in.H, w.in.HST = s.HT, s.H, s.HST
	if err := w.values(out); err != nil {
		return err
	}
	if w.noted.on && out.Has.Any() {
		w.noted.note(w.leaf, i)
	}
	return nil
}

// visits tells how Prometheus' engine reads the windows.
func (w *windows) visits(g scope) *visits {
	v := &visits{scope: g, off: w.in.Offset, fixed: w.fixed, back: w.n.Range, dropStale: true}
	if w.in.Anchored {
		v.back += w.q.Lookback
	}
	if w.in.Smoothed {
		v.back += 2 * w.q.Lookback
		v.off -= w.q.Lookback
	}
	v.window = min(v.back, g.Step)
	return v
}

func takesStartTimes(fn string) bool {
	switch fn {
	case "rate", "irate", "increase", "resets":
		return true
	}
	return false
}

// values computes all windows of the series that w.in has.
func (w *windows) values(out *row.Row) error {
	w.in.Slide(w.fixed)
	if w.n.Subquery == nil {
		w.scope.windows(&w.in)
	}
	return w.fn.Run(&w.in, out)
}

// overRows slides over the rows of a subquery.
func (w *windows) overRows(ctx context.Context, emit func(*row.Row) error) error {
	sub := w.n.Subquery
	g, count, err := w.q.below(w.scope, subGrid(sub, w.scope.Grid), stats.SubqueryConsumer{
		Offset: sub.Offset, Range: sub.Range, AtTimestamp: sub.At,
	})
	if err != nil {
		return err
	}
	defer count()
	b := w.q.Memory.getBench()
	defer w.q.Memory.putBench(b)
	b.out.Resize(w.scope.N)
	s, out := &b.samples, &b.out
	w.in.Scratch = &b.scratch
	var name string
	w.in.Name = func() string { return name }
	defer w.q.note(w.in.Env)
	defer w.add()
	return w.q.run(ctx, sub.Child, g, func(r *row.Row) error {
		if err := w.q.pause(ctx); err != nil {
			return err
		}
		samplesOf(r, g.Grid, s)
		n := int64(len(s.T) + len(s.HT))
		if err := w.q.Meter.Samples(n); err != nil {
			return err
		}
		defer w.q.Meter.Samples(-n) // giving back cannot fail
		w.in.T, w.in.F, w.in.HT, w.in.H = s.T, s.F, s.HT, s.H
		name = r.Labels.Get(labels.MetricName)
		out.Reset()
		if err := w.values(out); err != nil || out.Empty() {
			return err
		}
		if w.noted.on && out.Has.Any() {
			w.noted.add(r.Labels)
		}
		out.Labels, out.DropName = r.Labels, r.DropName
		if w.drop || r.DropName {
			out.LoseName(w.in.Env)
		}
		return emit(out)
	})
}

// samplesOf makes samples of a row. Hints of counter resets are forgotten: the
// samples between the steps are not seen.
func samplesOf(r *row.Row, g row.Grid, s *tsdb.Samples) {
	s.Reset()
	for i := r.Has.Next(0); i >= 0; i = r.Has.Next(i + 1) {
		s.T, s.F = append(s.T, g.T(i)), append(s.F, r.F[i])
	}
	for i, h := range r.H {
		if h == nil {
			continue
		}
		switch h.CounterResetHint {
		case histogram.NotCounterReset, histogram.CounterReset:
			c := *h
			c.CounterResetHint = histogram.UnknownCounterReset
			h = &c
		}
		s.HT, s.H = append(s.HT, g.T(i)), append(s.H, h)
	}
}

// absentOverTime yields one series with a 1 wherever no series has samples.
func (q *query) absentOverTime(ctx context.Context, w *windows, emit func(*row.Row) error) error {
	out := row.New(w.scope.N)
	fill(out.F, 1)
	out.Has.Fill(w.scope.N)
	err := w.run(ctx, func(r *row.Row) error {
		for i := range out.Has {
			out.Has[i] &^= r.Has[i]
		}
		for i, h := range r.H {
			if h != nil {
				out.Has.Unset(i)
			}
		}
		return nil
	})
	if err != nil || out.Empty() {
		return err
	}
	out.Labels, out.DropName = w.n.Absent, true
	return emit(out)
}
