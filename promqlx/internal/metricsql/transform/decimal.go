package transform

import "math"

// exponent returns the e of v*10^e that f is, or that it comes close to, with v an
// integer without needless zeros: some twelve digits of a fraction count. It is 0 if f
// is no finite number. (FromFloat of VictoriaMetrics' lib/decimal, without v.)
func exponent(f float64) int {
	f = math.Abs(f)
	if f == 0 || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	if f >= 1<<64 || f != math.Trunc(f) {
		return fractionExponent(f)
	}
	u, e := uint64(f), 0
	for u >= 1<<55 { // more digits than a float has
		u /= 10
		e++
	}
	for u != 0 && u%10 == 0 {
		u /= 10
		e++
	}
	return e
}

func fractionExponent(f float64) int {
	e := 0
	prec := 1e12
	if f > 1e6 || f < 1e-6 {
		if f > 1e6 {
			prec = 1e15
		}
		_, exp2 := math.Frexp(f)
		exp2 = min(max(exp2, -1022), 1023)
		e = int(float64(exp2) * (math.Ln2 / math.Ln10))
		f *= math.Pow10(-e)
	}
	for f < prec {
		x, frac := math.Modf(f)
		if frac*prec < x {
			f = x
			break
		}
		if (1-frac)*prec < x {
			f = x + 1
			break
		}
		f *= 100
		e -= 2
	}
	if uint64(f)%10 == 0 { // of two digits more, only one was needed
		e++
	}
	return e
}
