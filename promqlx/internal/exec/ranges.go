package exec

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"

	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/rollup"
	"github.com/varvedb/varve/tsdb"
)

// matrix reads a range vector that is the answer itself: all samples of the
// range, at their own times.
func (q *query) matrix(ctx context.Context, n *plan.Matrix) (promql.Matrix, error) {
	maxt := q.Grid.Start - offset(&n.Selector, q.Grid)
	mint := maxt - n.Range
	l := &leaf{q: q, sel: &n.Selector, scope: q.whole(), mint: mint + 1, maxt: maxt, hints: storage.SelectHints{Range: n.Range}}
	if n.Anchored || n.Smoothed {
		l.mint -= q.Lookback
	}
	if n.Smoothed {
		l.maxt += q.Lookback
	}
	if err := l.open(ctx); err != nil {
		return nil, l.close(err)
	}
	var out promql.Matrix
	var into tsdb.Samples
	err := func() error {
		for i := range l.series.len() {
			if err := q.pause(ctx); err != nil {
				return err
			}
			into.Reset()
			if n.Range > 0 {
				if err := l.series.read(i, l.mint, l.maxt, &into); err != nil {
					return err
				}
			}
			l.read += len(into.T) + len(into.HT)
			s, err := q.ownSamples(n, &into, mint, maxt)
			if err != nil {
				return err
			}
			n := int64(len(s.Floats))
			for _, p := range s.Histograms {
				n += histogramSamples(p.H)
			}
			q.whole().at(0, n, n)
			if n > 0 {
				s.Metric = l.series.labels(i)
				out = append(out, s)
			}
		}
		return nil
	}()
	return out, l.close(err)
}

// ownSamples copies what was read of a series.
func (q *query) ownSamples(n *plan.Matrix, s *tsdb.Samples, mint, maxt int64) (out promql.Series, err error) {
	if err := q.Meter.Samples(int64(len(s.T) + len(s.HT))); err != nil {
		return out, err
	}
	if err := q.Meter.Grow(seriesBytes + 16*int64(len(s.T)+len(s.HT)) + histogramBytes(s.H)); err != nil {
		return out, err
	}
	ts, fs := s.T, s.F
	if n.Anchored || n.Smoothed {
		if len(s.H) > 0 {
			return out, extendedHistograms(n.Anchored)
		}
		ts, fs = rollup.Extend(s.T, s.F, mint, maxt, n.Smoothed)
	}
	for i, t := range ts {
		out.Floats = append(out.Floats, promql.FPoint{T: t, F: fs[i]})
	}
	for i, t := range s.HT {
		out.Histograms = append(out.Histograms, promql.HPoint{T: t, H: s.H[i]})
	}
	return out, nil
}

func extendedHistograms(anchored bool) error {
	if anchored {
		return errors.New("anchored modifier is not supported with histograms")
	}
	return errors.New("smoothed modifier is not supported with histograms")
}
