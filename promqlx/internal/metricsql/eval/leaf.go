package eval

import (
	"slices"
	"strings"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/aggr"
	"github.com/varvedb/varve/promqlx/internal/metricsql/rollup"
	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/narrow"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/tsdb"
)

// read evaluates a function over windows of stored series, folded into the aggregate
// around it if there is one.
func (q *query) read(s Scope, c *call, m *mql.MetricExpr, window int64) ([]*series.Series, error) {
	if window < 0 {
		return nil, nil
	}
	roller, err := q.roller(s, c, window)
	if err != nil {
		return nil, err
	}
	sets, err := q.prepared.matchersOf(m)
	if err != nil {
		return nil, err
	}
	mint := s.Start - max(window, s.Step)
	if c.f.NeedsSilence() {
		mint -= silence
	}
	if sets, err = joinSets(sets, q.Filters); err != nil {
		return nil, err
	}
	found, err := q.find(mint, s.End, sets)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	q.fetched += found.Len()
	l := &leaf{query: q, call: c, roller: roller, found: found, mint: mint, maxt: s.End, grid: s.grid(), keeps: c.keepsNames()}
	l.op, l.width = narrowOp(c.f.Name()), window
	if window == 0 {
		l.width = s.Step
	}
	all, err := l.run(s)
	if err == nil {
		err = found.Err()
	}
	return all, err
}

// leaf is one reading of stored series.
type leaf struct {
	*query
	call       *call
	roller     *rollup.Roller
	found      *selection
	mint, maxt int64
	grid       row.Grid
	keeps      bool // names are kept because the text says so
	groups     int  // that are counted

	op    narrow.Op // the function, if it needs but the form in which samples are kept
	width int64     // of windows then
}

// narrowOp returns the form of a function that needs no floats.
func narrowOp(name string) narrow.Op {
	switch name {
	case "sum_over_time":
		return narrow.Sum
	case "avg_over_time":
		return narrow.Avg
	case "min_over_time":
		return narrow.Min
	case "max_over_time":
		return narrow.Max
	case "count_over_time":
		return narrow.Count
	case "first_over_time":
		return narrow.First
	case "last_over_time":
		return narrow.Last
	}
	return narrow.None
}

func (l *leaf) run(s Scope) ([]*series.Series, error) {
	l.bench.scratch.Pace, l.bench.scratch.Hold = &l.pace, l.holding(s)
	l.bench.narrow.Over = l.pace.Over
	l.bench.samples.WithStale = l.call.f.KeepsStale()
	if l.call.aggr == nil {
		return l.rows(s)
	}
	fold := aggr.NewFold(l.call.aggr, l.grid.N)
	var err error
	if by, ok := l.grouping(); ok && l.roller.Single() {
		err = l.foldGroups(fold, by)
	} else {
		err = l.foldNames(fold)
	}
	if err != nil {
		return nil, err
	}
	return fold.Series(), nil
}

// opened counts the memory of groups that a series has opened.
func (l *leaf) opened(fold *aggr.Fold) error {
	n := int64(fold.Len() - l.groups)
	l.groups += int(n)
	return l.Meter.Grow(n * (12*int64(l.grid.N) + seriesBytes)) // a value and a count at each step
}

// sometimes asks whether the query is to go on.
func (l *leaf) sometimes(i int) error {
	if i&15 != 0 {
		return nil
	}
	return l.pause()
}

// load reads the samples of series i; ok is false if there are none.
func (l *leaf) load(i int) (s *tsdb.Samples, ok bool, err error) {
	if err := l.sometimes(i); err != nil {
		return nil, false, err
	}
	s = &l.bench.samples
	s.Reset()
	if err := l.found.Read(i, l.mint, l.maxt, s); err != nil {
		return nil, false, err
	}
	n := int64(len(s.T))
	if n == 0 {
		return nil, false, nil
	}
	l.samples += n
	if err := l.Meter.Samples(n); err != nil {
		return nil, false, err
	}
	return s, true, l.Meter.Samples(-n)
}

// values appends the values of series i by step, of a roller that is single; ok is
// false if it has no samples.
func (l *leaf) values(i int, dst []float64) (out []float64, ok bool, err error) {
	if l.op != narrow.None {
		if err := l.sometimes(i); err != nil {
			return dst, false, err
		}
		b := l.bench
		if b.pieces, ok = l.found.AppendNarrow(i, l.mint, l.maxt, b.pieces[:0]); ok {
			if len(b.pieces) == 0 {
				return dst, false, nil
			}
			if l.op.Can(b.pieces) {
				for i := range b.pieces {
					l.samples += int64(b.pieces[i].Count)
				}
				return l.op.Append(dst, l.grid, l.width, b.pieces, &b.narrow), true, l.pace.Err()
			}
		}
	}
	samples, ok, err := l.load(i)
	if !ok || err != nil {
		return dst, false, err
	}
	return l.roller.Do(dst, samples.F, samples.T, &l.bench.scratch), true, l.pace.Err()
}

// rows makes series of all that were found.
func (l *leaf) rows(s Scope) (out []*series.Series, err error) {
	g := s.grid()
	for i := range l.found.Len() {
		samples, ok, err := l.load(i)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		name := series.FromLabels(l.found.Labels(i))
		before, since := len(out), l.used()
		out = l.roller.Append(out, &name, l.keeps, samples.F, samples.T, &l.bench.scratch)
		if err := l.pace.Err(); err != nil {
			return nil, err
		}
		if err := l.settle(since, len(out)-before, g); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// foldNames folds all series into groups by their names.
func (l *leaf) foldNames(fold *aggr.Fold) error {
	var rows []*series.Series
	for i := range l.found.Len() {
		samples, ok, err := l.load(i)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		name := series.FromLabels(l.found.Labels(i))
		since := l.used()
		rows = l.roller.Append(rows[:0], &name, l.keeps, samples.F, samples.T, &l.bench.scratch)
		if err := l.pace.Err(); err != nil {
			return err
		}
		for _, r := range rows {
			fold.Add(&r.Name, r.Values)
		}
		if err := l.settle(since, 0, l.grid); err != nil {
			return err
		}
		if err := l.opened(fold); err != nil {
			return err
		}
	}
	return nil
}

// grouping returns the labels by which columns of the index tell groups; ok is false
// if names are needed.
func (l *leaf) grouping() (by []string, ok bool) {
	a := l.call.aggr
	if len(l.found.views) != 1 || strings.EqualFold(a.Modifier.Op, "without") || strings.EqualFold(a.Name, "any") {
		return nil, false
	}
	named := l.keeps || l.call.f.KeepsName()
	for _, label := range a.Modifier.Args {
		if (label != series.NameLabel || named) && !slices.Contains(by, label) {
			by = append(by, label)
		}
	}
	return by, true
}

// foldGroups folds all series into groups told by columns of the index, without
// making a name but for the first series of each.
func (l *leaf) foldGroups(fold *aggr.Fold, by []string) error {
	view := l.found.views[0]
	columns := make([]tsdb.Column, len(by))
	for i, label := range by {
		columns[i] = view.Column(label)
	}
	groups := map[string]int{}
	var key []byte
	for i := range l.found.Len() {
		values, ok, err := l.values(i, l.bench.values[:0])
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		l.bench.values = values
		key = key[:0]
		for _, c := range columns {
			o := c.Ordinal(i)
			key = append(key, byte(o), byte(o>>8), byte(o>>16), byte(o>>24))
		}
		group, known := groups[string(key)]
		if !known {
			var name series.Name
			for k, c := range columns {
				if v := c.Value(c.Ordinal(i)); v != "" {
					name.Set(by[k], strings.Clone(v))
				}
			}
			group = fold.Group(&name)
			groups[string(key)] = group
			if err := l.opened(fold); err != nil {
				return err
			}
		}
		fold.AddTo(group, l.bench.values)
	}
	return nil
}
