package aggr

import (
	"math"
	"math/bits"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// variances are the groups of stddev and stdvar, by Welford's method as STDVAR
// in aggregation of Prometheus' promql/engine.go.
type variances struct {
	base
	root  bool
	v     column[float64] // sum of squares of differences from the mean
	mean  column[float64]
	count column[float64]
}

func newVariances(b base) *variances {
	return &variances{
		base: b, root: b.Op == parser.STDDEV, v: newFloats(b.env, b.n),
		mean: newFloats(b.env, b.n), count: newFloats(b.env, b.n),
	}
}

func (a *variances) Add(g int, r *row.Row) {
	v, mean, count := a.v.at(g), a.mean.at(g), a.count.at(g)
	a.noteDrop(g, r, func(i int) bool { return count[i] > 0 })
	if !a.ignored && anyHistogram(r.H) {
		a.ignored = true
	}
	for w, x := range r.Has {
		lo := w << 6
		if x == a.full(w) {
			hi := min(lo+64, a.n)
			addVariance(v[lo:hi], mean[lo:hi], count[lo:hi], r.F[lo:hi])
			continue
		}
		for ; x != 0; x &= x - 1 {
			i := lo + bits.TrailingZeros64(x)
			addVariance(v[i:i+1], mean[i:i+1], count[i:i+1], r.F[i:i+1])
		}
	}
}

// addVariance adds x. All slices are of one length.
func addVariance(v, mean, count, x []float64) {
	mean, count, x = mean[:len(v)], count[:len(v)], x[:len(v)]
	for i, f := range x {
		n := count[i] + 1
		count[i] = n
		if n == 1 {
			mean[i] = f
			if f-f != 0 { // NaN or infinite
				v[i] = math.NaN()
			}
			continue
		}
		delta := f - mean[i]
		m := mean[i] + float64(delta/n)
		mean[i] = m
		v[i] += float64(delta * (f - m))
	}
}

func (a *variances) Finish(groups []labels.Labels, emit func(*row.Row) error) error {
	out := row.Row{Has: row.NewBits(a.n)}
	for g, ls := range groups {
		out.F = a.v.at(g)
		out.Has.Clear()
		for i, n := range a.count.at(g) {
			if n == 0 {
				continue
			}
			out.Has.Set(i)
			if out.F[i] /= n; a.root {
				out.F[i] = math.Sqrt(out.F[i])
			}
		}
		if err := a.emitGroup(g, ls, &out, emit); err != nil {
			return err
		}
	}
	a.finish()
	return nil
}

func (a *variances) Bytes() int64 { return int64(8 * (a.v.held + a.mean.held + a.count.held)) }

// Free gives the columns back.
func (a *variances) Free() {
	a.v.free()
	a.mean.free()
	a.count.free()
}
