package funcs

import (
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// histograms is a vector split into native and classic histograms, for all
// steps at once. (resetHistograms of Prometheus' promql/engine.go, which does it
// step by step.)
type histograms struct {
	env     *row.Env
	pos     posrange.PositionRange // of the vector
	natives []*row.Row             // rows with histograms
	classic []*classic             // in the order of first appearance
	forced  forced

	bounds, counts []float64 // scratch of one step
	buckets        []bucket
}

// classic is one classic histogram: the series that differ in label le alone.
type classic struct {
	labels labels.Labels // without le
	bounds []float64     // ascending unless twins
	rows   []*row.Row    // by bound
	counts [][]float64   // of rows
	twins  bool          // bounds are equal: "1" and "1.0"
	// steps has the steps with a bucket, full those with all.
	steps, full row.Bits
}

// split sorts rows into native and classic histograms. Where there are both of
// one name and one label set at a step neither counts, and a warning is left.
func split(env *row.Env, pos posrange.PositionRange, rows []*row.Row) *histograms {
	hs := &histograms{env: env, pos: pos}
	byLabels := map[string]*classic{}
	var key []byte
	for i, r := range rows {
		if env.Alive(i) != nil {
			break
		}
		if r.Histograms() {
			hs.natives = append(hs.natives, r)
		}
		if !r.Has.Any() {
			continue
		}
		le := r.Labels.Get(labels.BucketLabel)
		bound, err := strconv.ParseFloat(le, 64)
		if err != nil || math.IsNaN(bound) {
			env.Annos.Add(annotations.NewBadBucketLabelWarning(hs.name(r.Labels), le, pos))
			continue
		}
		key = r.Labels.BytesWithoutLabels(key, labels.BucketLabel)
		c := byLabels[string(key)]
		if c == nil {
			c = &classic{labels: labels.NewBuilder(r.Labels).Del(labels.BucketLabel).Labels()}
			byLabels[string(key)] = c
			hs.classic = append(hs.classic, c)
		}
		c.bounds = append(c.bounds, bound)
		c.rows = append(c.rows, r)
	}
	for _, c := range hs.classic {
		c.order(env.Grid.N)
		if n := len(c.rows); n > len(hs.counts) {
			hs.bounds, hs.counts = make([]float64, n), make([]float64, n)
		}
	}
	for _, r := range hs.natives {
		key = r.Labels.Bytes(key)
		if c := byLabels[string(key)]; c != nil {
			hs.resolve(r, c)
		}
	}
	return hs
}

// name returns the metric's name for annotations: "" where it is dropped at
// once.
func (hs *histograms) name(l labels.Labels) string {
	if !hs.env.DelayedNames {
		return ""
	}
	return l.Get(labels.MetricName)
}

// resolve takes the steps at which r has a histogram and c a bucket out of both.
func (hs *histograms) resolve(r *row.Row, c *classic) {
	for i, h := range r.H {
		if h == nil || !c.steps.Get(i) {
			continue
		}
		hs.env.Annos.Add(annotations.NewMixedClassicNativeHistogramsWarning(hs.name(r.Labels), hs.pos))
		r.H[i] = nil
		c.steps.Unset(i)
	}
}

// order sorts the buckets by bound once for all steps. Twins stay as they are:
// the order in which their counts are added is that of a sort at each step.
func (c *classic) order(n int) {
	type column struct {
		bound float64
		r     *row.Row
	}
	columns := make([]column, len(c.rows))
	for i, r := range c.rows {
		columns[i] = column{c.bounds[i], r}
	}
	slices.SortFunc(columns, func(a, b column) int {
		switch {
		case a.bound < b.bound:
			return -1
		case a.bound > b.bound:
			return +1
		}
		c.twins = true
		return 0
	})
	if !c.twins {
		for i, col := range columns {
			c.bounds[i], c.rows[i] = col.bound, col.r
		}
	}
	c.counts = make([][]float64, len(c.rows))
	for i, r := range c.rows {
		c.counts[i] = r.F
	}
	c.steps, c.full = row.NewBits(n), row.NewBits(n)
	c.full.Fill(n)
	for _, r := range c.rows {
		for k, has := range r.Has {
			c.steps[k] |= has
			c.full[k] &= has
		}
	}
}

// drop drops the name of l, now or later, as row.LoseName does.
func (hs *histograms) drop(l labels.Labels) labels.Labels {
	r := row.Row{Labels: l}
	r.LoseName(hs.env)
	return r.Labels
}

// newRow returns an empty row for results.
func (hs *histograms) newRow(l labels.Labels) *row.Row {
	r := row.New(hs.env.Grid.N)
	r.Labels, r.DropName = l, true
	return r
}

// gather returns the bounds and counts of the buckets at step i, which is valid
// until the next call. c has no twins.
func (hs *histograms) gather(c *classic, i int) (bounds, counts []float64) {
	counts = hs.counts[:len(c.counts)]
	if c.full.Get(i) {
		for k, column := range c.counts {
			counts[k] = column[i]
		}
		return c.bounds, counts
	}
	bounds = hs.bounds[:len(c.counts)]
	n := 0
	for k, r := range c.rows {
		if r.Has.Get(i) {
			bounds[n], counts[n] = c.bounds[k], r.F[i]
			n++
		}
	}
	return bounds[:n], counts[:n]
}

// gatherTwins returns the buckets at step i in the order of their series.
func (hs *histograms) gatherTwins(c *classic, i int) []bucket {
	hs.buckets = hs.buckets[:0]
	for k, r := range c.rows {
		if r.Has.Get(i) {
			hs.buckets = append(hs.buckets, bucket{c.bounds[k], r.F[i]})
		}
	}
	return hs.buckets
}

// about returns what annotations about a histogram with the labels l, after
// their name was dropped, say of it.
func (hs *histograms) about(l labels.Labels) subject {
	return subject{name: l.Get(labels.MetricName), pos: hs.pos, annos: &hs.env.Annos}
}
