package rollup

import "github.com/varvedb/varve/promqlx/internal/row"

// Some functions are one long chain of operations, each of which waits for the
// one before. Four windows at once take about as long as one.

// four is a window each of four steps.
type four struct {
	step [4]int
	fs   [4][]float64
}

// shortest returns the length of the shortest window.
func (x *four) shortest() int {
	return min(len(x.fs[0]), len(x.fs[1]), len(x.fs[2]), len(x.fs[3]))
}

// byFours computes the windows of at least least floats, four at once and the
// last ones one by one. The numbers of windows that share a call of many are
// ascending, not adjacent.
func (in *Input) byFours(out *row.Row, least int, one func(step int, fs []float64) float64, many func(x *four) [4]float64) {
	var x four
	n := 0
	for i, lo := range in.Lo {
		hi := in.Hi[i]
		if int(hi-lo) < least {
			continue
		}
		x.step[n], x.fs[n] = i, in.F[lo:hi]
		if n++; n < 4 {
			continue
		}
		for k, v := range many(&x) {
			out.SetF(x.step[k], v)
		}
		n = 0
	}
	for k := range n {
		out.SetF(x.step[k], one(x.step[k], x.fs[k]))
	}
}

// twoSum returns a+b and the error of that, which is exact unless something is
// not finite.
func twoSum(a, b float64) (sum, err float64) {
	sum = a + b
	d := sum - a
	return sum, (a - (sum - d)) + (b - d)
}
