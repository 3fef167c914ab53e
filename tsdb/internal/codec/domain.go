package codec

import (
	"math"
	"slices"
)

// Domain is how values are said as integers. Numbers are part of the format.
type Domain uint8

// The domains.
const (
	Decimals10 Domain = 0 // m / 10^scale, |m| < 2^53; integers have scale 0
	NearTens   Domain = 1 // bits(m / 10^scale) + ulps: what adding decimals up yields
	Doubles    Domain = 2 // the ordered bits of the doubles
)

func (d Domain) String() string { return [...]string{"decimal", "near", "doubles", "?"}[d&3] }

// Exception is a value that is no integer of the domain.
type Exception struct {
	Index int
	Bits  uint64
}

// Limit returns how many exceptions a block of n values may have: what fits a
// domain less well takes another one. Blocks of doubles have as many at most;
// with more, all values are taken as they are.
func Limit(n int) int { return 2 + n/32 }

// GoodEnough is how many bits per value decimals may take to be preferred to
// anything else at once.
const GoodEnough = 20

const (
	exceptionBits = 60      // what an exception costs, about
	maxUlps       = 1 << 12 // the most that is taken as a sign of added up decimals
	scaleSamples  = 64
)

// Values are floats said as integers. Ints has one for every value: an
// exception repeats the one before it, or the first that is none.
type Values struct {
	Domain     Domain
	Scale      uint8
	Ints       []int64
	Ulps       []int64 // NearTens only
	Exceptions []Exception
	Special    bool // Ints holds NaN or -0: only if there are too many for exceptions
}

// Analyzer chooses domains. It is for one goroutine; the zero value is ready.
type Analyzer struct {
	planner            Planner
	decimal, near, raw Values
}

// Analyze says v, which is not empty, as integers in the domain with the
// fewest bits. The result is valid until the next call.
func (a *Analyzer) Analyze(v []float64) *Values {
	best, least := (*Values)(nil), 0
	if a.asDecimals(v) {
		best, least = &a.decimal, a.cost(&a.decimal)
		if least < GoodEnough*len(v) {
			return best
		}
	}
	if a.asNear(v) {
		if c := a.cost(&a.near); best == nil || c < least {
			best, least = &a.near, c
		}
	}
	a.asDoubles(v)
	if c := a.cost(&a.raw); best == nil || c < least {
		best = &a.raw
	}
	return best
}

// Decimals says v, which is not empty, as decimals, if all but a few values are,
// without a thought about how many bits they take. The result is valid until the
// next call.
func (a *Analyzer) Decimals(v []float64) (*Values, bool) { return &a.decimal, a.asDecimals(v) }

func (a *Analyzer) cost(v *Values) int {
	c := a.planner.Estimate(v.Ints, 2)
	if v.Domain == NearTens {
		c += a.planner.Estimate(v.Ulps, 1)
	}
	return c + exceptionBits*len(v.Exceptions)
}

// scaleOf returns the smallest scale at which fits says yes, MaxScale+1 if
// there is none.
func scaleOf(x float64, from uint8, fits func(float64, uint8) bool) uint8 {
	s := from
	for s <= MaxScale && !fits(x, s) {
		s++
	}
	return s
}

// vote chooses a scale from a sample of v: the one with the fewest bits in
// digits and exceptions.
func vote(v []float64, fits func(float64, uint8) bool) (scale uint8, ok bool) {
	var votes [MaxScale + 2]int
	step, n := max(1, len(v)/scaleSamples), 0
	for i := step / 2; i < len(v); i += step {
		votes[scaleOf(v[i], 0, fits)]++
		n++
	}
	above := votes[MaxScale+1]
	if above > Limit(n) {
		return 0, false
	}
	least := -1
	for s := MaxScale; s >= 0; s-- {
		if above > Limit(n) {
			break
		}
		if cost := above*exceptionBits + n*s*10/3; least < 0 || cost < least {
			scale, least = uint8(s), cost
		}
		above += votes[s]
	}
	return scale, true
}

func isDecimal(x float64, scale uint8) bool { _, ok := Mantissa(x, scale); return ok }

// asDecimals fills a.decimal if all but a few values are decimals.
func (a *Analyzer) asDecimals(v []float64) bool {
	if a.asWholes(v) {
		return true
	}
	scale, ok := vote(v, isDecimal)
	if !ok {
		return false
	}
	if a.decimalsOf(v, scale) {
		return true
	}
	strange := 0
	for _, x := range v {
		if s := scaleOf(x, scale, isDecimal); s <= MaxScale {
			scale = s
		} else if strange++; strange > Limit(len(v)) {
			return false
		}
	}
	return a.decimalsOf(v, scale)
}

// asWholes is asDecimals for integers without exception.
func (a *Analyzer) asWholes(v []float64) bool {
	d := &a.decimal
	d.reset(Decimals10, 0)
	d.Ints = slices.Grow(d.Ints, len(v))[:len(v)]
	for i, x := range v {
		m := int64(x)
		if math.Float64bits(float64(m)) != math.Float64bits(x) || m >= maxMantissa || m <= -maxMantissa {
			return false
		}
		d.Ints[i] = m
	}
	return true
}

// decimalsOf fills a.decimal with decimals of one scale.
func (a *Analyzer) decimalsOf(v []float64, scale uint8) bool {
	d := &a.decimal
	d.reset(Decimals10, scale)
	d.Ints = slices.Grow(d.Ints, len(v))[:len(v)]
	previous, limit, power := int64(0), Limit(len(v)), pow10[scale]
	for i, x := range v {
		f := math.RoundToEven(x * power)
		m := int64(f)
		if !(math.Abs(f) < maxMantissa) || math.Float64bits(float64(m)/power) != math.Float64bits(x) {
			if len(d.Exceptions) == limit {
				return false
			}
			d.Exceptions = append(d.Exceptions, Exception{i, math.Float64bits(x)})
			m = previous
		}
		d.Ints[i] = m
		previous = m
	}
	d.settle()
	return true
}

// asNear fills a.near if all but a few values are near decimals.
func (a *Analyzer) asNear(v []float64) bool {
	scale, ok := vote(v, isNear)
	if !ok {
		return false
	}
	d := &a.near
	d.reset(NearTens, scale)
	m, u, limit := int64(0), int64(0), Limit(len(v))
	for i, x := range v {
		if mi, ui, ok := near(x, scale); ok {
			m, u = mi, ui
		} else {
			if len(d.Exceptions) == limit {
				return false
			}
			d.Exceptions = append(d.Exceptions, Exception{i, math.Float64bits(x)})
		}
		d.Ints, d.Ulps = append(d.Ints, m), append(d.Ulps, u)
	}
	d.settle()
	return true
}

// near splits x into a decimal and the distance to it. Only distances far below
// half of that to the neighbouring decimals, 2^52/m or more, are near: so values
// are in the order of (m, ulps).
func near(x float64, scale uint8) (m, ulps int64, ok bool) {
	f := math.RoundToEven(x * pow10[scale])
	if !(math.Abs(f) < maxMantissa) || x == 0 && math.Signbit(x) {
		return 0, 0, false
	}
	m = int64(f)
	ulps = int64(math.Float64bits(x) - math.Float64bits(Decimal(m, scale)))
	far := uint64(max(ulps, -ulps))
	return m, ulps, far == 0 || far <= maxUlps && uint64(max(m, -m)) < 1<<50/far
}

func isNear(x float64, scale uint8) bool { _, _, ok := near(x, scale); return ok }

// asDoubles fills a.raw, which always succeeds.
func (a *Analyzer) asDoubles(v []float64) {
	d := &a.raw
	d.reset(Doubles, 0)
	special, size := 0, 0
	for _, x := range v {
		if isSpecial(x) {
			special++
			size += exceptionBytes(math.Float64bits(x))
		}
	}
	d.Special = special > Limit(len(v)) || size > mostExceptionBytes(len(v))
	previous := int64(0)
	for i, x := range v {
		m := Ordered(math.Float64bits(x))
		if !d.Special && isSpecial(x) {
			d.Exceptions = append(d.Exceptions, Exception{i, math.Float64bits(x)})
			m = previous
		}
		d.Ints = append(d.Ints, m)
		previous = m
	}
	d.settle()
}

// mostExceptionBytes is how much larger exceptions may make n doubles, which may
// be incompressible.
func mostExceptionBytes(n int) int { return 40 + n/16 }

// isSpecial tells whether x has no place in the order of numbers, or shares one.
func isSpecial(x float64) bool { return x != x || x == 0 && math.Signbit(x) }

func (v *Values) reset(d Domain, scale uint8) {
	v.Domain, v.Scale, v.Special = d, scale, false
	v.Ints, v.Ulps, v.Exceptions = v.Ints[:0], v.Ulps[:0], v.Exceptions[:0]
}

// settle lets exceptions at the start repeat the first value that is none.
func (v *Values) settle() {
	n := 0
	for n < len(v.Exceptions) && v.Exceptions[n].Index == n {
		n++
	}
	if n == 0 || n == len(v.Ints) {
		return
	}
	for i := range n {
		v.Ints[i] = v.Ints[n]
		if v.Domain == NearTens {
			v.Ulps[i] = v.Ulps[n]
		}
	}
}
