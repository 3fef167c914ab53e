package rollup

import (
	"math"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// floatsSum is the Floats form of sum_over_time.
//
// Sums of integers are exact as long as all partial sums stay below 2^53. Then
// Kahan's compensation is 0 at every step, since sum-t is -f without rounding,
// and the sum of a window is the difference of two prefix sums. It is never -0:
// the sum begins with +0, and x + -x is +0.
func floatsSum(in *Input, out *row.Row) {
	if lo, hi, overlap := in.overlap(); overlap {
		if sums, _, ok := in.prefixSums(in.F[lo:hi]); ok {
			for i, a := range in.Lo {
				if b := in.Hi[i]; b > a {
					out.SetF(i, float64(sums[int(b)-lo]-sums[int(a)-lo]))
				}
			}
			return
		}
	}
	in.kahans(out, func(sum, c float64, _ int) float64 { return sum + c }, sumOf)
}

// floatsAvg is the Floats form of avg_over_time, with the sums of floatsSum: a
// sum that starts with the first value instead of 0 is the same, as no value is
// -0. The compensation of 0 over the count adds +0.
func floatsAvg(in *Input, out *row.Row) {
	if lo, hi, overlap := in.overlap(); overlap {
		if sums, _, ok := in.prefixSums(in.F[lo:hi]); ok {
			for i, a := range in.Lo {
				if b := in.Hi[i]; b > a {
					out.SetF(i, float64(sums[int(b)-lo]-sums[int(a)-lo])/float64(b-a))
				}
			}
			return
		}
	}
	in.kahans(out, func(sum, c float64, n int) float64 {
		return sum/float64(n) + c/float64(n)
	}, avgOf)
}

// kahans computes windows from their Kahan sums by finish, or by slow if the sum
// is not finite: an infinite sum never becomes finite again, so nothing but the
// last needs a look.
func (in *Input) kahans(out *row.Row, finish func(sum, c float64, n int) float64, slow func(fs []float64) float64) {
	enough := math.Inf(1)
	if lo, hi, _ := in.covered(); len(in.Lo) >= 4 {
		enough = enoughOf(in.F[lo:hi])
	}
	last := func(s *kahanSum, fs []float64) float64 {
		if finite(s.sum) && finite(s.c) {
			return finish(s.sum, s.c, len(fs))
		}
		return slow(fs)
	}
	in.byFours(out, 0, 1, func(_ int, fs []float64) float64 {
		var s kahanSum
		s.add(fs)
		return last(&s, fs)
	}, func(x *four) (v [4]float64) {
		var s [4]kahanSum
		addKahans(&s, x, enough)
		for k, fs := range x.fs {
			v[k] = last(&s[k], fs)
		}
		return v
	})
}

// enoughOf returns the greatest value if none is negative, else +Inf: a sum that
// has come so far is at least as large as any value that is still to be added.
func enoughOf(fs []float64) float64 {
	greatest := 0.0
	for _, f := range fs {
		if !(f >= 0) {
			return math.Inf(1)
		}
		if f > greatest {
			greatest = f
		}
	}
	return greatest
}

// kahanSum is a sum and its compensation. The error of each addition is exact
// both in Knuth's way, which has no branches, and in Neumaier's: they are equal
// but for the sign of a zero, which does not show in c. So is that of Dekker's,
// which is the cheapest, if the sum is not less than the value in magnitude. All
// is meaningless once something is not finite.
type kahanSum struct{ sum, c float64 }

func (s *kahanSum) add(fs []float64) {
	sum, c, e := s.sum, s.c, 0.0
	for _, f := range fs {
		sum, e = twoSum(sum, f)
		c += e
	}
	s.sum, s.c = sum, c
}

// addUntil adds values until the sum is at least enough, and returns how many it
// took.
func (s *kahanSum) addUntil(fs []float64, enough float64) int {
	sum, c, e := s.sum, s.c, 0.0
	n := 0
	for n < len(fs) && sum < enough {
		sum, e = twoSum(sum, fs[n])
		c += e
		n++
	}
	s.sum, s.c = sum, c
	return n
}

// addKahans adds up four windows.
func addKahans(s *[4]kahanSum, x *four, enough float64) {
	var begun [4]int
	n := x.shortest()
	quick := enough <= math.MaxFloat64
	if quick {
		for k := range s {
			begun[k] = s[k].addUntil(x.fs[k], enough)
			n = min(n, len(x.fs[k])-begun[k])
		}
		quickFour(s, x, begun, n)
	} else {
		kahanFour(s, x, n)
	}
	for k := range s {
		s[k].add(x.fs[k][begun[k]+n:])
	}
}

// kahanFour adds n values of each window.
func kahanFour(s *[4]kahanSum, x *four, n int) {
	f0, f1, f2, f3 := x.same(n)
	var s0, c0, s1, c1, s2, c2, s3, c3, e float64
	for i, f := range f0 {
		s0, e = twoSum(s0, f)
		c0 += e
		s1, e = twoSum(s1, f1[i])
		c1 += e
		s2, e = twoSum(s2, f2[i])
		c2 += e
		s3, e = twoSum(s3, f3[i])
		c3 += e
	}
	s[0], s[1], s[2], s[3] = kahanSum{s0, c0}, kahanSum{s1, c1}, kahanSum{s2, c2}, kahanSum{s3, c3}
}

// quickFour adds n values of each window from the one that was begun with, to
// sums that are enough.
func quickFour(s *[4]kahanSum, x *four, begun [4]int, n int) {
	f0 := x.fs[0][begun[0]:][:n]
	f1 := x.fs[1][begun[1]:][:len(f0)]
	f2 := x.fs[2][begun[2]:][:len(f0)]
	f3 := x.fs[3][begun[3]:][:len(f0)]
	s0, c0, s1, c1 := s[0].sum, s[0].c, s[1].sum, s[1].c
	s2, c2, s3, c3 := s[2].sum, s[2].c, s[3].sum, s[3].c
	for i, f := range f0 {
		g, h, j := f1[i], f2[i], f3[i]
		t0, t1, t2, t3 := s0+f, s1+g, s2+h, s3+j
		c0 += (s0 - t0) + f
		c1 += (s1 - t1) + g
		c2 += (s2 - t2) + h
		c3 += (s3 - t3) + j
		s0, s1, s2, s3 = t0, t1, t2, t3
	}
	s[0], s[1], s[2], s[3] = kahanSum{s0, c0}, kahanSum{s1, c1}, kahanSum{s2, c2}, kahanSum{s3, c3}
}
