package funcs

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// histogramFunc looks up the functions of histograms of either kind. Answers
// about native histograms stand first, then those about classic ones in the
// order in which their first bucket stands, which Prometheus' engine leaves open.
func histogramFunc(name string) (Func, bool) {
	switch name {
	case "histogram_quantile":
		return Func{Whole: histogramQuantile, Join: true}, true
	case "histogram_quantiles":
		return Func{Whole: histogramQuantiles, Join: true}, true
	case "histogram_fraction":
		return Func{Whole: histogramFraction, Join: true}, true
	}
	return Func{}, false
}

// histogramQuantile is funcHistogramQuantile of Prometheus'
// promql/functions.go.
func histogramQuantile(in *Input, args [][]*row.Row) ([]*row.Row, error) {
	qs := in.Args[0]
	warnQuantiles(in, in.Args[:1], in.ArgPos)
	hs := split(in.Env, in.ArgPos[1], args[1])
	out := hs.answer(evaluator{
		native: func(i int, h *histogram.FloatHistogram, about subject) float64 {
			return nativeQuantile(qs[i], h, about)
		},
		sorted: func(c *classic, i int, bounds, counts []float64) float64 {
			v, f := sortedQuantile(qs[i], bounds, counts)
			hs.force(c, i, f)
			return v
		},
		twins: func(c *classic, i int, buckets []bucket) float64 {
			v, f := bucketQuantile(qs[i], buckets)
			hs.force(c, i, f)
			return v
		},
	})
	hs.forced.annotate(in.Env, hs.pos)
	return out, nil
}

// histogramFraction is funcHistogramFraction of Prometheus'
// promql/functions.go.
func histogramFraction(in *Input, args [][]*row.Row) ([]*row.Row, error) {
	lower, upper := in.Args[0], in.Args[1]
	return split(in.Env, in.ArgPos[2], args[2]).answer(evaluator{
		native: func(i int, h *histogram.FloatHistogram, about subject) float64 {
			return nativeFraction(lower[i], upper[i], h, about)
		},
		sorted: func(_ *classic, i int, bounds, counts []float64) float64 {
			return sortedFraction(lower[i], upper[i], bounds, counts)
		},
		twins: func(_ *classic, i int, buckets []bucket) float64 {
			return bucketFraction(lower[i], upper[i], buckets)
		},
	}), nil
}

// warnQuantiles warns of quantiles outside of 0 to 1, step by step: of warnings
// with one text the last stays, with its position.
func warnQuantiles(in *Input, qs [][]float64, pos []posrange.PositionRange) {
	for i := range in.Env.Grid.N {
		if i > 0 && sameAt(qs, i, i-1) {
			continue
		}
		for k, q := range qs {
			if _, bad := invalidQuantile(q[i]); bad {
				in.Env.Annos.Add(annotations.NewInvalidQuantileWarning(q[i], pos[k]))
			}
		}
	}
}

// sameAt tells whether all of vs are the same at steps i and j.
func sameAt(vs [][]float64, i, j int) bool {
	for _, v := range vs {
		if math.Float64bits(v[i]) != math.Float64bits(v[j]) {
			return false
		}
	}
	return true
}

// force notes what was done to c at step i.
func (hs *histograms) force(c *classic, i int, f force) {
	if f.any {
		hs.forced.add(hs.name(c.labels), i, hs.env.Grid.N, f)
	}
}

// evaluator is what is made of histograms at a step.
type evaluator struct {
	native func(i int, h *histogram.FloatHistogram, about subject) float64
	sorted func(c *classic, i int, bounds, counts []float64) float64
	twins  func(c *classic, i int, buckets []bucket) float64
}

// answer evaluates all histograms at all steps; one row of each histogram.
func (hs *histograms) answer(e evaluator) []*row.Row {
	out := make([]*row.Row, 0, len(hs.natives)+len(hs.classic))
	for k, r := range hs.natives {
		if hs.env.Alive(k) != nil {
			return nil
		}
		a := r
		if r.Has.Any() { // its floats are a bucket of a classic histogram
			a = hs.newRow(r.Labels)
		}
		a.LoseName(hs.env)
		about := hs.about(a.Labels)
		for i, h := range r.H {
			if h != nil {
				a.SetF(i, e.native(i, h, about))
			}
		}
		loseHistograms(a)
		out = append(out, a)
	}
	for k, c := range hs.classic {
		if hs.env.Alive(k) != nil {
			return nil
		}
		// The first bucket's row is read at a step before it is written.
		a := c.rows[0]
		if a.Histograms() {
			a = hs.newRow(c.labels)
		}
		a.Labels, a.Key = c.labels, -1
		a.LoseName(hs.env)
		for i := c.steps.Next(0); i >= 0; i = c.steps.Next(i + 1) {
			if c.twins {
				a.F[i] = e.twins(c, i, hs.gatherTwins(c, i))
				continue
			}
			bounds, counts := hs.gather(c, i)
			a.F[i] = e.sorted(c, i, bounds, counts)
		}
		copy(a.Has, c.steps)
		out = append(out, a)
	}
	return out
}

// histogramQuantiles is funcHistogramQuantiles of Prometheus'
// promql/functions.go. The answers differ in a label that has the quantile.
func histogramQuantiles(in *Input, args [][]*row.Row) ([]*row.Row, error) {
	qs, label := in.Args[2:], in.Texts[1]
	warnQuantiles(in, qs, in.ArgPos[2:])
	hs := split(in.Env, in.ArgPos[0], args[0])
	names := quantileNames(qs, in.Env.Grid.N)
	fans := make([]fan, 0, len(hs.natives)+len(hs.classic))
	for k, r := range hs.natives {
		if hs.env.Alive(k) != nil {
			return nil, nil
		}
		f := hs.newFan(r.Labels, label, len(qs))
		about := hs.about(f.labels)
		for i, h := range r.H {
			if h == nil {
				continue
			}
			for k, q := range qs {
				f.set(k, i, names[k][i], nativeQuantile(q[i], h, about))
			}
		}
		fans = append(fans, f)
	}
	for k, c := range hs.classic {
		if hs.env.Alive(k) != nil {
			return nil, nil
		}
		f := hs.newFan(c.labels, label, len(qs))
		for i := c.steps.Next(0); i >= 0; i = c.steps.Next(i + 1) {
			hs.quantilesAt(c, i, qs, func(k int, v float64) { f.set(k, i, names[k][i], v) })
		}
		fans = append(fans, f)
	}
	hs.forced.annotate(in.Env, hs.pos)
	var out []*row.Row
	for k := range qs {
		for _, f := range fans {
			out = append(out, f.rows[k]...)
		}
	}
	return out, nil
}

// quantilesAt computes the quantiles of c at step i one after another on the
// same buckets: each looks at what the one before left.
func (hs *histograms) quantilesAt(c *classic, i int, qs [][]float64, set func(k int, v float64)) {
	var bounds, counts []float64
	var buckets []bucket
	if c.twins {
		buckets = hs.gatherTwins(c, i)
	} else {
		bounds, counts = hs.gather(c, i)
	}
	for k, q := range qs {
		var v float64
		var f force
		if c.twins {
			v, f = bucketQuantile(q[i], buckets)
		} else {
			v, f = sortedQuantile(q[i], bounds, counts)
		}
		hs.force(c, i, f)
		set(k, v)
	}
}

// quantileNames returns the values of the label by argument and step. Of zeros
// that differ in sign the first that comes gives the name.
func quantileNames(qs [][]float64, n int) [][]string {
	names := make([][]string, len(qs))
	for k := range names {
		names[k] = make([]string, n)
	}
	known := map[float64]string{}
	for i := range n {
		for k, q := range qs {
			if math.IsNaN(q[i]) {
				names[k][i] = "NaN"
				continue
			}
			name, ok := known[q[i]]
			if !ok {
				name = labels.FormatOpenMetricsFloat(q[i])
				known[q[i]] = name
			}
			names[k][i] = name
		}
	}
	return names
}

// fan is the answers about one histogram: by argument one row, or more if the
// argument changes from step to step.
type fan struct {
	hs     *histograms
	labels labels.Labels // without the quantile
	label  string
	rows   [][]*row.Row
	byName []map[string]*row.Row
}

func (hs *histograms) newFan(l labels.Labels, label string, n int) fan {
	f := fan{hs: hs, labels: hs.drop(l), label: label, rows: make([][]*row.Row, n)}
	f.byName = make([]map[string]*row.Row, n)
	for k := range f.byName {
		f.byName[k] = map[string]*row.Row{}
	}
	return f
}

// set puts the value of argument k, whose name is name, at step i.
func (f *fan) set(k, i int, name string, v float64) {
	r := f.byName[k][name]
	if r == nil {
		r = f.hs.newRow(labels.NewBuilder(f.labels).Set(f.label, name).Labels())
		f.rows[k] = append(f.rows[k], r)
		f.byName[k][name] = r
	}
	r.SetF(i, v)
}
