package rollup

import (
	"math"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// floatsSmoothing is the Floats form of double_exponential_smoothing.
func floatsSmoothing(in *Input, out *row.Row) {
	for i, lo := range in.Lo {
		if in.Hi[i] <= lo {
			continue
		}
		if err := checkFactors(in.Args[0][i], in.Args[1][i]); err != nil {
			in.fail(err)
			return
		}
	}
	from := 0
	if lo, hi, held := in.covered(); held > 8*(hi-lo) && sameValues(in.Args[0]) && sameValues(in.Args[1]) {
		from = in.smoothTogether(out)
	}
	sf, tf := in.Args[0], in.Args[1]
	in.byFours(out, from, 2, func(i int, fs []float64) float64 {
		return smooth(fs, sf[i], tf[i])
	}, func(x *four) (v [4]float64) {
		a := x.step[0]
		for _, b := range x.step[1:] {
			if sf[a] != sf[b] || tf[a] != tf[b] {
				for k, i := range x.step {
					v[k] = smooth(x.fs[k], sf[i], tf[i])
				}
				return v
			}
		}
		return smoothFour(x, sf[a], tf[a])
	})
}

func sameValues(fs []float64) bool {
	for _, f := range fs {
		if f != fs[0] {
			return false
		}
	}
	return true
}

// smoothTogether smooths the first windows, with the same factors, and returns
// how many it did. What a window begins with is forgotten in time: once two
// windows stand alike to the bit at the same sample, they do so for ever. So each
// window is smoothed only until it meets a track, which goes on for all. Where
// that takes long it does not pay, and is left to others.
func (in *Input) smoothTogether(out *row.Row) (windows int) {
	origin, end, _ := in.covered()
	s := in.scratch()
	tr := track{f: in.F[origin:end], s1: grow(&s.f0, end-origin), b: grow(&s.f1, end-origin), sf: in.Args[0][0], tf: in.Args[1][0]}
	alone, all := 0, 0
	for i, a := range in.Lo {
		lo, hi := int(a)-origin, int(in.Hi[i])-origin
		if hi-lo < 2 {
			continue
		}
		v, steps := tr.window(lo, hi)
		out.SetF(i, v)
		alone += steps
		if all += hi - lo; alone > all/4+2*len(tr.f) {
			return i + 1
		}
	}
	return len(in.Lo)
}

// track is a smoothing with where it stood after each value: s1 and b of
// smoothing; s0 is the s1 before.
type track struct {
	f, s1, b []float64
	sf, tf   float64
	lo, hi   int // the values that it covers
}

// window returns the smoothed value of the window [lo, hi), and how many values
// it looked at before it met the track. Windows come in ascending order.
func (tr *track) window(lo, hi int) (v float64, steps int) {
	if tr.hi < lo+2 {
		tr.begin(lo)
	}
	tr.reach(hi)
	if tr.lo == lo {
		return tr.s1[hi-1], 0
	}
	var own smoothing
	own.begin(tr.f[lo], tr.f[lo+1], tr.sf)
	s0, s1, b := own.s0, own.s1, own.b
	restS, restT := 1-tr.sf, 1-tr.tf
	for j := lo + 1; ; {
		if same(s1, tr.s1[j]) && same(b, tr.b[j]) && same(s0, tr.s1[j-1]) {
			return tr.s1[hi-1], j - lo
		}
		if j++; j == hi {
			return s1, j - lo
		}
		s0, s1, b = smoothStep(tr.f[j], s0, s1, b, tr.sf, tr.tf, restS, restT)
	}
}

// same tells whether two values have the same bits.
func same(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// begin starts the track anew.
func (tr *track) begin(lo int) {
	var s smoothing
	s.begin(tr.f[lo], tr.f[lo+1], tr.sf)
	tr.lo, tr.hi = lo, lo+2
	tr.s1[lo], tr.s1[lo+1], tr.b[lo+1] = s.s0, s.s1, s.b
}

// reach takes the track on to hi.
func (tr *track) reach(hi int) {
	if hi <= tr.hi {
		return
	}
	s0, s1, b := tr.s1[tr.hi-2], tr.s1[tr.hi-1], tr.b[tr.hi-1]
	restS, restT := 1-tr.sf, 1-tr.tf
	for j := tr.hi; j < hi; j++ {
		s0, s1, b = smoothStep(tr.f[j], s0, s1, b, tr.sf, tr.tf, restS, restT)
		tr.s1[j], tr.b[j] = s1, b
	}
	tr.hi = hi
}

// smoothing is where the smoothing of a window stands.
type smoothing struct{ s0, s1, b float64 }

// add smooths on over values after the second.
func (s *smoothing) add(fs []float64, sf, tf float64) float64 {
	s0, s1, b := s.s0, s.s1, s.b
	restS, restT := 1-sf, 1-tf
	for _, v := range fs {
		s0, s1, b = smoothStep(v, s0, s1, b, sf, tf, restS, restT)
	}
	return s1
}

func smoothStep(v, s0, s1, b, sf, tf, restS, restT float64) (_, _, _ float64) {
	b = float64(tf*(s1-s0)) + float64(restT*b)
	return s1, float64(sf*v) + float64(restS*(s1+b)), b
}

// begin smooths the first two values.
func (s *smoothing) begin(f0, f1, sf float64) {
	s.s0, s.b = f0, f1-f0
	s.s1 = float64(sf*f1) + float64((1-sf)*(f0+s.b))
}

func smoothFour(x *four, sf, tf float64) (v [4]float64) {
	var s [4]smoothing
	for k := range s {
		s[k].begin(x.fs[k][0], x.fs[k][1], sf)
		x.drop(k, 2)
	}
	n := x.shortest()
	stepFour(&s, x, n, sf, tf)
	for k := range s {
		v[k] = s[k].add(x.fs[k][n:], sf, tf)
	}
	return v
}

// stepFour smooths on over n values of each window.
func stepFour(s *[4]smoothing, x *four, n int, sf, tf float64) {
	restS, restT := 1-sf, 1-tf
	p, q, r, u := s[0], s[1], s[2], s[3]
	f0, f1, f2, f3 := x.same(n)
	for i, v := range f0 {
		p.s0, p.s1, p.b = smoothStep(v, p.s0, p.s1, p.b, sf, tf, restS, restT)
		q.s0, q.s1, q.b = smoothStep(f1[i], q.s0, q.s1, q.b, sf, tf, restS, restT)
		r.s0, r.s1, r.b = smoothStep(f2[i], r.s0, r.s1, r.b, sf, tf, restS, restT)
		u.s0, u.s1, u.b = smoothStep(f3[i], u.s0, u.s1, u.b, sf, tf, restS, restT)
	}
	s[0], s[1], s[2], s[3] = p, q, r, u
}

// floatsIntegral is the Floats form of integral.
func floatsIntegral(in *Input, out *row.Row) {
	strategy := trapezoidal
	lo, hi, overlap := in.overlap()
	overlap = overlap && (len(in.Args) == 0 || sameValues(in.Args[0]))
	var areas areas
	for i, a := range in.Lo {
		b := in.Hi[i]
		if b <= a {
			continue
		}
		if len(in.Args) > 0 {
			strategy = in.strategy(in.Args[0][i])
		}
		if !overlap {
			out.SetF(i, integralOf(in.T[a:b], in.F[a:b], strategy))
			continue
		}
		if areas.area == nil {
			areas = in.areas(lo, hi, strategy)
		}
		v, ok := areas.sum(int(a)-lo, int(b)-lo)
		if !ok {
			v = integralOf(in.T[a:b], in.F[a:b], strategy)
		}
		out.SetF(i, v)
	}
}

// areas are the terms of an integral: what lies between each float and the one
// before it, and the compensation of that.
type areas struct{ area, c []float64 }

func (in *Input) areas(lo, hi, strategy int) areas {
	s := in.scratch()
	as := areas{grow(&s.f0, hi-lo), grow(&s.f1, hi-lo)}
	prev := nanAsZero(in.F[lo])
	for i := range as.area {
		v := nanAsZero(in.F[lo+i])
		value, c := height(prev, v, strategy)
		dt := 0.0
		if i > 0 {
			dt = float64(in.T[lo+i]-in.T[lo+i-1]) / 1000
		}
		as.area[i], as.c[i] = value*dt, c*dt
		prev = v
	}
	return as
}

// sum is integralOf of the window [lo, hi); ok is false if it is not finite. To
// add terms that are zero, which integralOf leaves out, changes nothing: neither
// the sum nor its compensation is ever -0.
func (as *areas) sum(lo, hi int) (_ float64, ok bool) {
	var sum, c, e float64
	areas, cs := as.area[lo+1:hi], as.c[lo+1:hi]
	for i, v := range areas {
		sum, e = twoSum(sum, v)
		c = (c + cs[i]) + e
	}
	return sum + c, finite(sum) && finite(c)
}
