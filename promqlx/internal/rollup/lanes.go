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

// drop takes the first n values off window k.
func (x *four) drop(k, n int) { x.fs[k] = x.fs[k][n:] }

// same returns the first n values of each window.
func (x *four) same(n int) (a, b, c, d []float64) {
	a = x.fs[0][:n]
	return a, x.fs[1][:len(a)], x.fs[2][:len(a)], x.fs[3][:len(a)]
}

// byFours computes the windows from number from on that have at least least floats, four at once and the
// last ones one by one. Windows that share a call of many ascend, but need not
// be adjacent; many may change what it is given.
func (in *Input) byFours(out *row.Row, from, least int, one func(step int, fs []float64) float64, many func(x *four) [4]float64) {
	x := &in.scratch().lanes
	n := 0
	for i := from; i < len(in.Lo); i++ {
		lo, hi := in.Lo[i], in.Hi[i]
		if int(hi-lo) < least {
			continue
		}
		x.step[n], x.fs[n] = i, in.F[lo:hi]
		if n++; n < 4 {
			continue
		}
		for k, v := range many(x) {
			out.SetF(x.step[k], v)
		}
		n = 0
	}
	for k := range n {
		out.SetF(x.step[k], one(x.step[k], x.fs[k]))
	}
	x.fs = [4][]float64{}
}

// twoSum returns a+b and the error of that, which is exact unless something is
// not finite.
func twoSum(a, b float64) (sum, err float64) {
	sum = a + b
	d := sum - a
	return sum, (a - (sum - d)) + (b - d)
}
