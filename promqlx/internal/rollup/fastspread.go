package rollup

import (
	"math"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// floats is the Floats form of stddev_over_time and stdvar_over_time.
func (k varianceKind) floats(in *Input, out *row.Row) {
	in.byFours(out, 0, 1, func(_ int, fs []float64) float64 { return k.fast(fs) }, k.four)
}

// moments are a mean and a sum of squared distances with their compensations.
type moments struct{ count, mean, cMean, aux, cAux float64 }

// add takes in values, as varianceKind.of does, but without a look whether sums
// are infinite: the result tells.
func (m *moments) add(fs []float64) {
	count, mean, cMean, aux, cAux := m.count, m.mean, m.cMean, m.aux, m.cAux
	var e float64
	for _, f := range fs {
		count++
		delta := f - (mean + cMean)
		mean, e = twoSum(mean, delta/count)
		cMean += e
		aux, e = twoSum(aux, float64(delta*(f-(mean+cMean))))
		cAux += e
	}
	*m = moments{count, mean, cMean, aux, cAux}
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
	var m0, c0, a0, b0, m1, c1, a1, b1, m2, c2, a2, b2, m3, c3, a3, b3, count, e float64
	f0, f1, f2, f3 := x.same(n)
	for i, p := range f0 {
		count++
		q, r, s := f1[i], f2[i], f3[i]
		d0, d1, d2, d3 := p-(m0+c0), q-(m1+c1), r-(m2+c2), s-(m3+c3)
		m0, e = twoSum(m0, d0/count)
		c0 += e
		m1, e = twoSum(m1, d1/count)
		c1 += e
		m2, e = twoSum(m2, d2/count)
		c2 += e
		m3, e = twoSum(m3, d3/count)
		c3 += e
		a0, e = twoSum(a0, float64(d0*(p-(m0+c0))))
		b0 += e
		a1, e = twoSum(a1, float64(d1*(q-(m1+c1))))
		b1 += e
		a2, e = twoSum(a2, float64(d2*(r-(m2+c2))))
		b2 += e
		a3, e = twoSum(a3, float64(d3*(s-(m3+c3))))
		b3 += e
	}
	m[0], m[1] = moments{count, m0, c0, a0, b0}, moments{count, m1, c1, a1, b1}
	m[2], m[3] = moments{count, m2, c2, a2, b2}, moments{count, m3, c3, a3, b3}
}
