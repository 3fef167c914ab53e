package exec

import (
	"context"
	"fmt"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/varvedb/varve/promqlx/internal/info"
	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/tsdb"
)

// info joins labels of info metrics to the rows of a node.
func (q *query) info(ctx context.Context, n *plan.Info, g scope, emit func(*row.Row) error) error {
	base := q.newTable(g.Grid)
	defer base.free()
	if err := q.run(ctx, n.Child, g, base.add); err != nil {
		return err
	}
	call := &info.Call{Names: n.Names, Data: n.Data}
	selectors, err := call.Selectors(base.rows)
	if err != nil {
		return err
	}
	infos := q.newTable(g.Grid)
	defer infos.free()
	for _, ms := range selectors {
		if err := q.infoRows(ctx, n, ms, g, infos.add); err != nil {
			return err
		}
	}
	rows, err := call.Join(q.env(g.Grid), base.rows, infos.rows)
	if err != nil {
		return err
	}
	return q.emitAll(rows, emit)
}

// infoRows reads info series; the values are the times of their samples.
func (q *query) infoRows(ctx context.Context, n *plan.Info, ms []*labels.Matcher, g scope, emit func(*row.Row) error) error {
	sel := &plan.Selector{Matchers: ms, Offset: n.Offset, At: n.At}
	off := offset(sel, g.Grid)
	l := &leaf{
		q: q, sel: sel, scope: g, mint: g.Start - off - q.Lookback + 1, maxt: g.End() - off,
		hints: storage.SelectHints{Step: g.Step, Func: "info"},
	}
	if n.At != nil {
		l.maxt = g.Start - off
	}
	if err := l.open(ctx); err != nil {
		return l.close(err)
	}
	return l.close(l.each(ctx, func(_ *row.Env, g scope, b *bench) *reader {
		c := &infoTimes{current{scope: g, off: off, fixed: n.At != nil, lookback: q.Lookback}, l}
		b.samples.WithStale = true
		return &reader{leaf: l, maker: c, bench: b}
	}, emit))
}

// infoTimes finds the times of the samples that are current.
type infoTimes struct {
	current
	leaf *leaf
}

// row implements maker.
func (c *infoTimes) row(i int, s *tsdb.Samples, out *row.Row) error {
	c.what = ""
	if len(s.H) > 0 {
		c.fill(s, out)
		if out.Histograms() {
			return fmt.Errorf("this should be an info metric, with float samples: %s", c.leaf.series.labels(i))
		}
		out.Reset()
	}
	c.what = "origin"
	c.fill(s, out)
	c.scope.current(out)
	return nil
}
