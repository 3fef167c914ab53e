package rollup

import (
	"math"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// floats is the Floats form of stddev_over_time and stdvar_over_time.
func (k varianceKind) floats(in *Input, out *row.Row) {
	in.byFours(out, 1, func(_ int, fs []float64) float64 { return k.fast(fs) }, k.four)
}

// moments are a mean and a sum of squared distances with their compensations.
type moments struct{ count, mean, cMean, aux, cAux float64 }

// add takes in values, as varianceKind.of does, but without a look whether sums
// are infinite: the result tells.
func (m *moments) add(fs []float64) {
	count, mean, cMean, aux, cAux := m.count, m.mean, m.cMean, m.aux, m.cAux
	for _, f := range fs {
		count++
		mean, cMean, aux, cAux = momentsStep(f, count, mean, cMean, aux, cAux)
	}
	*m = moments{count, mean, cMean, aux, cAux}
}

func momentsStep(f, count, mean, cMean, aux, cAux float64) (_, _, _, _ float64) {
	delta := f - (mean + cMean)
	mean, e := twoSum(mean, delta/count)
	cMean += e
	aux, e = twoSum(aux, float64(delta*(f-(mean+cMean))))
	return mean, cMean, aux, cAux + e
}

// variance returns the result over the values, which is computed anew with all
// care if it is not finite.
func (k varianceKind) variance(m *moments, fs []float64) float64 {
	if !finite(m.mean) || !finite(m.cMean) || !finite(m.aux) || !finite(m.cAux) {
		return k.of(fs)
	}
	v := (m.aux + m.cAux) / m.count
	if k.root {
		return math.Sqrt(v)
	}
	return v
}

func (k varianceKind) fast(fs []float64) float64 {
	var m moments
	m.add(fs)
	return k.variance(&m, fs)
}

func (k varianceKind) four(x *four) (v [4]float64) {
	n := x.shortest()
	var m [4]moments
	addFour(&m, x, n)
	for i := range m {
		m[i].add(x.fs[i][n:])
		v[i] = k.variance(&m[i], x.fs[i])
	}
	return v
}

// addFour adds the first n values of each window to its moments.
func addFour(m *[4]moments, x *four, n int) {
	var m0, c0, a0, b0, m1, c1, a1, b1, m2, c2, a2, b2, m3, c3, a3, b3, count float64
	f0, f1, f2, f3 := x.fs[0][:n], x.fs[1][:n], x.fs[2][:n], x.fs[3][:n]
	for i, f := range f0 {
		count++
		m0, c0, a0, b0 = momentsStep(f, count, m0, c0, a0, b0)
		m1, c1, a1, b1 = momentsStep(f1[i], count, m1, c1, a1, b1)
		m2, c2, a2, b2 = momentsStep(f2[i], count, m2, c2, a2, b2)
		m3, c3, a3, b3 = momentsStep(f3[i], count, m3, c3, a3, b3)
	}
	m[0], m[1] = moments{count, m0, c0, a0, b0}, moments{count, m1, c1, a1, b1}
	m[2], m[3] = moments{count, m2, c2, a2, b2}, moments{count, m3, c3, a3, b3}
}
