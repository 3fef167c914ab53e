package rollup

import (
	"math"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// floatsDeriv is the Floats form of deriv.
func floatsDeriv(in *Input, out *row.Row) {
	l := in.liner()
	for i, lo := range in.Lo {
		if hi := in.Hi[i]; hi-lo >= 2 {
			slope, _ := l.line(int(lo), int(hi), in.T[lo])
			out.SetF(i, slope)
		}
	}
}

// floatsPredictLinear is the Floats form of predict_linear.
func floatsPredictLinear(in *Input, out *row.Row) {
	l := in.liner()
	for i, lo := range in.Lo {
		if hi := in.Hi[i]; hi-lo >= 2 {
			slope, intercept := l.line(int(lo), int(hi), in.Env.Grid.T(i))
			out.SetF(i, float64(slope*in.Args[0][i])+intercept)
		}
	}
}

// liner finds the lines of a series' windows.
type liner struct {
	in  *Input
	run equalRun
	wholeLine
	evenLine
}

func (in *Input) liner() liner {
	l := liner{in: in}
	lo, hi, overlap := in.overlap()
	if hi-lo < 2 {
		return l
	}
	l.wholeLine.ok = overlap && l.wholeLine.sum(in, lo, hi)
	if !l.wholeLine.ok {
		l.evenLine.interval = evenly(in.T[lo:hi])
		l.evenLine.in = in
	}
	return l
}

// line is regression of the window [lo, hi). Windows are asked for in ascending
// order.
func (l *liner) line(lo, hi int, origin int64) (slope, intercept float64) {
	t, f := l.in.T[lo:hi], l.in.F[lo:hi]
	if l.run.reaches(l.in.F, lo, hi) {
		if math.IsInf(f[0], 0) {
			return math.NaN(), math.NaN()
		}
		return 0, f[0]
	}
	if l.wholeLine.ok {
		if slope, intercept, ok := l.wholeLine.line(t, lo, hi, origin); ok {
			return slope, intercept
		}
	}
	if l.evenLine.interval > 0 {
		return l.evenLine.line(t, f, origin)
	}
	return fastRegression(t, f, origin)
}

// equalRun finds windows of nothing but equal values.
type equalRun struct{ end int }

// reaches tells whether the values [lo, hi) are equal.
func (r *equalRun) reaches(f []float64, lo, hi int) bool {
	r.end = max(r.end, lo+1)
	for r.end < hi && f[r.end] == f[r.end-1] {
		r.end++
	}
	return r.end >= hi
}

// wholeLine makes lines of integers at whole seconds from prefix sums: as long
// as all magnitudes stay below 2^53 the four Kahan sums of a regression are
// exact, as in floatsSum. The prefix sums may go beyond 64 bits: what does not
// fit cancels in their differences.
type wholeLine struct {
	ok           bool
	lo           int
	t0           int64   // the time that x is counted from, in the sums
	size         float64 // of all values together
	y, xy, x, x2 []int64
}

// sum adds up the floats [lo, hi), and tells whether that is possible.
func (l *wholeLine) sum(in *Input, lo, hi int) bool {
	y, size, ok := in.prefixSums(in.F[lo:hi])
	if !ok {
		return false
	}
	s := in.scratch()
	n := hi - lo + 1
	xy, x1, x2 := grow(&s.i1, n), grow(&s.i2, n), grow(&s.i3, n)
	xy[0], x1[0], x2[0] = 0, 0, 0
	*l = wholeLine{lo: lo, t0: in.T[lo], size: float64(size), y: y, xy: xy, x: x1, x2: x2}
	for i, t := range in.T[lo:hi] {
		x := (t - l.t0) / 1000
		if x*1000 != t-l.t0 {
			return false
		}
		xy[i+1] = xy[i] + x*(y[i+1]-y[i])
		x1[i+1] = x1[i] + x
		x2[i+1] = x2[i] + x*x
	}
	return true
}

// line is regression of the floats [lo, hi), whose times are t; ok is false if
// it is not exact.
func (l *wholeLine) line(t []int64, lo, hi int, origin int64) (slope, intercept float64, ok bool) {
	o := (origin - l.t0) / 1000
	if o*1000 != origin-l.t0 {
		return 0, 0, false
	}
	n := int64(len(t))
	far := max(math.Abs(float64(t[0]-origin)), math.Abs(float64(t[n-1]-origin))) / 1000
	if far*l.size >= exactBelow/2 || far*far*float64(n) >= exactBelow/2 {
		return 0, 0, false
	}
	a, b := lo-l.lo, hi-l.lo
	y, x := l.y[b]-l.y[a], l.x[b]-l.x[a]
	xy := l.xy[b] - l.xy[a] - o*y
	x2 := l.x2[b] - l.x2[a] - 2*o*x + o*o*n
	slope, intercept = fit(float64(n), float64(x-o*n), float64(y), float64(xy), float64(x2))
	return slope, intercept, true
}

// evenLine makes lines of evenly spaced samples. What depends on times alone is
// kept for windows that lie alike.
type evenLine struct {
	in       *Input
	interval int64 // zero if samples are not evenly spaced
	off      int64 // of the first sample of the last window from its origin
	misses   int   // how often that changed
	xs       []float64
	n        int // sumX and sumX2 are of the first n of xs
	sumX     kahanSum
	sumX2    kahanSum
}

// evenly returns the distance of the times, 0 if they are not evenly spaced.
func evenly(t []int64) int64 {
	d := t[1] - t[0]
	for i := 1; i < len(t); i++ {
		if t[i]-t[i-1] != d {
			return 0
		}
	}
	return d
}

func (l *evenLine) line(t []int64, f []float64, origin int64) (slope, intercept float64) {
	off := t[0] - origin
	if off != l.off || len(l.xs) < len(f) {
		if l.misses > 2+len(l.in.Lo)/16 {
			return fastRegression(t, f, origin)
		}
		l.misses++
		l.off, l.n = off, 0
		l.xs = grow(&l.in.scratch().f0, len(f))
		for i, t := range t {
			l.xs[i] = float64(t-origin) / 1e3
		}
	}
	xs := l.xs[:len(f)]
	if l.n != len(f) {
		l.sumTimes(xs)
	}
	var sumY, cY, sumXY, cXY, e float64
	for i, y := range f {
		sumY, e = twoSum(sumY, y)
		cY += e
		sumXY, e = twoSum(sumXY, float64(xs[i]*y))
		cXY += e
	}
	if !finite(sumY+sumXY) || !finite(cY+cXY) {
		return regression(t, f, origin)
	}
	return fit(float64(len(f)), l.sumX.sum+l.sumX.c, sumY+cY, sumXY+cXY, l.sumX2.sum+l.sumX2.c)
}

func (l *evenLine) sumTimes(xs []float64) {
	l.n, l.sumX, l.sumX2 = len(xs), kahanSum{}, kahanSum{}
	l.sumX.add(xs)
	var e float64
	for _, x := range xs {
		l.sumX2.sum, e = twoSum(l.sumX2.sum, float64(x*x))
		l.sumX2.c += e
	}
}

// fastRegression is regression of values that are not all equal, without a look
// whether sums are infinite: the results tell.
func fastRegression(t []int64, f []float64, origin int64) (slope, intercept float64) {
	var sumX, cX, sumY, cY, sumXY, cXY, sumX2, cX2, e float64
	t = t[:len(f)]
	for i, y := range f {
		x := float64(t[i]-origin) / 1e3
		sumX, e = twoSum(sumX, x)
		cX += e
		sumY, e = twoSum(sumY, y)
		cY += e
		sumXY, e = twoSum(sumXY, float64(x*y))
		cXY += e
		sumX2, e = twoSum(sumX2, float64(x*x))
		cX2 += e
	}
	if !finite(sumY+sumXY) || !finite(cY+cXY) || !finite(cX+cX2) {
		return regression(t, f, origin)
	}
	return fit(float64(len(f)), sumX+cX, sumY+cY, sumXY+cXY, sumX2+cX2)
}
