package eval

import (
	"context"
	"slices"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/tsdb"
)

// RawSeries is the stored samples of a series, staleness markers among them.
type RawSeries struct {
	Name   series.Name // in the order of storage
	Times  []int64
	Values []float64
}

// Raw returns the samples of a selector's series between the start and the end of the
// scope, both included, in the order of the store.
func Raw(ctx context.Context, m *mql.MetricExpr, p Params) ([]RawSeries, error) {
	sets, err := Matchers(m)
	if err != nil {
		return nil, err
	}
	if sets, err = joinSets(sets, p.Filters); err != nil {
		return nil, err
	}
	q := &query{Params: p, ctx: ctx}
	end, err := q.begin(len(sets))
	if err != nil {
		return nil, err
	}
	defer end()
	found, err := q.find(p.Scope.Start, p.Scope.End, sets)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var out []RawSeries
	samples := tsdb.Samples{WithStale: true}
	for i := range found.Len() {
		if err := q.pause(); err != nil {
			return nil, err
		}
		samples.Reset()
		if err := found.Read(i, p.Scope.Start, p.Scope.End, &samples); err != nil {
			return nil, err
		}
		if len(samples.T) == 0 {
			continue
		}
		if err := p.Meter.Grow(int64(16*len(samples.T) + seriesBytes)); err != nil {
			return nil, err
		}
		out = append(out, RawSeries{
			Name:  series.FromLabels(found.Labels(i)),
			Times: slices.Clone(samples.T), Values: slices.Clone(samples.F),
		})
	}
	return out, found.Err()
}
