package rollup

import "github.com/varvedb/varve/promqlx/internal/row"

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
	sf, tf := in.Args[0], in.Args[1]
	in.byFours(out, 2, func(i int, fs []float64) float64 {
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
	for i, lo := range in.Lo {
		hi := in.Hi[i]
		if hi <= lo {
			continue
		}
		strategy := trapezoidal
		if len(in.Args) > 0 {
			strategy = in.strategy(in.Args[0][i])
		}
		out.SetF(i, integralOf(in.T[lo:hi], in.F[lo:hi], strategy))
	}
}
