package tsdb

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/head"
)

// Exemplars returns the exemplars inside [mint, maxt] of the series that any of
// the groups of matchers matches, in label order, each series' by time and
// without duplicates.
func (db *DB) Exemplars(ctx context.Context, mint, maxt int64, groups ...[]*labels.Matcher) ([]exemplar.QueryResult, error) {
	s, err := db.reading()
	if err != nil {
		return nil, err
	}
	defer s.refs.release()
	mint = max(mint, db.oldest(time.Now()))
	found := exemplarSet{}
	for _, ms := range groups {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i := range s.parts {
			if err := found.addPart(&s.parts[i], mint, maxt, ms); err != nil {
				return nil, err
			}
		}
		err := db.head.Exemplars(s.generations(), mint, maxt, ms, func(g *head.Generation, lset labels.Labels, xs []exemplar.Exemplar) {
			hidden := s.liveGen(g).hiddenOf(lset, s.tombstones)
			for _, x := range xs {
				if !covers(hidden, x.Ts, x.Ts) {
					found.add(lset, x)
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return found.results(), nil
}

// exemplarSet gathers exemplars by series.
type exemplarSet map[string]*exemplar.QueryResult

func (f exemplarSet) add(lset labels.Labels, x exemplar.Exemplar) {
	key := string(lset.Bytes(nil))
	r := f[key]
	if r == nil {
		r = &exemplar.QueryResult{SeriesLabels: lset}
		f[key] = r
	}
	r.Exemplars = append(r.Exemplars, x)
}

func (f exemplarSet) addPart(p *partView, mint, maxt int64, ms []*labels.Matcher) error {
	if p.info.MinT > maxt || p.info.MaxT < mint {
		return nil
	}
	index, err := p.part.Index()
	if err != nil {
		return err
	}
	ords, err := p.matching(ms)
	if err != nil {
		return err
	}
	builder := labels.NewScratchBuilder(16)
	for _, ord := range ords {
		xs, err := p.part.Exemplars(ord, mint, maxt)
		if err != nil {
			return err
		}
		for _, x := range xs {
			if covers(p.hidden[ord], x.Ts, x.Ts) {
				continue
			}
			lset, err := index.Labels(ord, &builder)
			if err != nil {
				return err
			}
			f.add(lset, x)
		}
	}
	return nil
}

func (f exemplarSet) results() []exemplar.QueryResult {
	out := make([]exemplar.QueryResult, 0, len(f))
	for _, r := range f {
		slices.SortStableFunc(r.Exemplars, func(a, b exemplar.Exemplar) int {
			return cmp.Or(cmp.Compare(a.Ts, b.Ts), cmp.Compare(a.Value, b.Value), labels.Compare(a.Labels, b.Labels))
		})
		r.Exemplars = slices.CompactFunc(r.Exemplars, exemplar.Exemplar.Equals)
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b exemplar.QueryResult) int { return labels.Compare(a.SeriesLabels, b.SeriesLabels) })
	return out
}
