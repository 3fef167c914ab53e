package exec

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/schema"

	"github.com/varvedb/varve/promqlx/internal/budget"
	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// pointBytes and seriesBytes are the memory of a result.
const (
	pointBytes  = 16
	seriesBytes = 96
)

// matrix evaluates a node into the series of an answer, sorted by labels.
func (q *query) series(ctx context.Context, n plan.Node, g scope) (promql.Matrix, error) {
	m := &matrix{q: q, grid: g.Grid, sorted: true}
	g.kept = int64(seriesBytes + pointBytes*g.N)
	err := q.final(ctx, n, g, m.add)
	if err != nil {
		return nil, err
	}
	if !m.sorted {
		sortSeries(m.out)
	}
	return m.out, nil
}

// sortSeries sorts series by their labels, no two of which are equal. It sorts labels
// with numbers, since series are large to be moved, and puts each in its place at last.
func sortSeries(m promql.Matrix) {
	type place struct {
		labels labels.Labels
		from   int
	}
	order := make([]place, len(m))
	for i, s := range m {
		order[i] = place{s.Metric, i}
	}
	slices.SortFunc(order, func(a, b place) int { return labels.Compare(a.labels, b.labels) })
	for i := range order {
		// A cycle: what is to come to each place, until it is what was at the first.
		first, to := m[i], i
		for order[to].from != i {
			from := order[to].from
			m[to], order[to].from = m[from], to
			to = from
		}
		m[to], order[to].from = first, to
	}
}

// vector evaluates a node at one time.
func (q *query) vector(ctx context.Context, n plan.Node, g scope) (promql.Vector, error) {
	out := promql.Vector{}
	g.kept = seriesBytes
	err := q.final(ctx, n, g, func(r *row.Row) error {
		s := promql.Sample{Metric: r.Labels, T: g.Start, DropName: r.DropName}
		samples := int64(1)
		if h := r.HAt(0); h != nil {
			s.H, samples = h, histogramSamples(h)
			if err := q.Meter.Grow(int64(h.Size())); err != nil {
				return err
			}
		} else {
			s.F = r.F[0]
		}
		if len(out) == cap(out) {
			out = slices.Grow(out, 1)
			if err := q.Meter.Grow(int64(cap(out)-len(out)) * seriesBytes); err != nil {
				return err
			}
		}
		out = append(out, s)
		return q.Meter.Samples(samples)
	})
	return out, err
}

// final evaluates the root of a plan: its rows come with their final names.
func (q *query) final(ctx context.Context, n plan.Node, g scope, emit func(*row.Row) error) error {
	if !q.DelayedNames {
		if err := q.run(ctx, n, g, emit); err != nil {
			return err
		}
		return budget.Alive(ctx)
	}
	t := q.newTable(g.Grid)
	defer t.free()
	g.kept += t.bytes()
	if err := q.run(ctx, n, g, t.add); err != nil {
		return err
	}
	if err := budget.Alive(ctx); err != nil {
		return err
	}
	for _, r := range t.rows {
		if r.DropName {
			r.Labels = r.Labels.DropReserved(schema.IsMetadataLabel)
		}
	}
	rows, err := row.MergeSame(t.rows)
	if err != nil {
		return warnedError{error: err} // the annotations are there by now
	}
	return q.emitAll(rows, emit)
}

// matrix collects rows as series.
type matrix struct {
	q      *query
	grid   row.Grid
	out    promql.Matrix
	sorted bool // so far
	room   []promql.FPoint
}

// add takes the samples of r over.
func (m *matrix) add(r *row.Row) error {
	s := promql.Series{Metric: r.Labels, DropName: r.DropName}
	n := r.Has.Count()
	samples := int64(n)
	if n > 0 {
		if err := m.reserve(n); err != nil {
			return err
		}
		from := len(m.room)
		m.room = m.points(r, n)
		s.Floats = m.room[from:len(m.room):len(m.room)]
	}
	for i, h := range r.H {
		if h != nil {
			s.Histograms = append(s.Histograms, promql.HPoint{T: m.grid.T(i), H: h})
			samples += histogramSamples(h)
		}
	}
	if err := m.q.Meter.Grow(histogramBytes(r.H)); err != nil {
		return err
	}
	if k := len(m.out); k > 0 && m.sorted {
		m.sorted = labels.Compare(m.out[k-1].Metric, s.Metric) < 0
	}
	if m.out == nil {
		m.out = make(promql.Matrix, 0, min(max(1, m.q.rows), 1024))
	}
	m.out = append(m.out, s)
	if err := m.q.Meter.Grow(seriesBytes); err != nil {
		return err
	}
	return m.q.Meter.Samples(samples)
}

// histogramBytes is the memory of the histograms of a row; one that is current at
// several steps counts once.
func histogramBytes(hs []*histogram.FloatHistogram) (bytes int64) {
	var last *histogram.FloatHistogram
	for _, h := range hs {
		if h != nil && h != last {
			bytes += int64(h.Size())
		}
		last = h
	}
	return bytes
}

// points appends the floats of r.
func (m *matrix) points(r *row.Row, n int) []promql.FPoint {
	room, t := m.room, m.grid.Start
	if n == len(r.F) {
		for _, f := range r.F {
			room = append(room, promql.FPoint{T: t, F: f})
			t += m.grid.Step
		}
		return room
	}
	for i := r.Has.Next(0); i >= 0; i = r.Has.Next(i + 1) {
		room = append(room, promql.FPoint{T: m.grid.T(i), F: r.F[i]})
	}
	return room
}

// reserve makes room for n points: for all series, as far as it is known how many
// there may be. What is neither little nor one long series comes out of slabs that
// are used again.
func (m *matrix) reserve(n int) error {
	if cap(m.room)-len(m.room) >= n {
		return nil
	}
	size := n
	switch rest := m.q.rows - len(m.out); {
	case rest > 0:
		size = min(n*rest, slabPoints)
	case len(m.out) > 0:
		size = min(4*cap(m.room), slabPoints)
	}
	size = max(size, n)
	if err := m.q.Meter.Grow(int64(size) * pointBytes); err != nil {
		return err
	}
	if size < worthPoints || size > slabPoints {
		m.room = make([]promql.FPoint, 0, size)
		return nil
	}
	m.room = m.q.Memory.getPoints(size)
	m.q.freed.points = append(m.q.freed.points, m.room)
	return m.q.Meter.Grow(int64(cap(m.room)-size) * pointBytes)
}
