package tail

import (
	"math"
	"math/rand/v2"

	"github.com/prometheus/prometheus/model/value"
)

// shapes are value sequences of many natures, friendly and not.
var shapes = map[string]func(r *rand.Rand, n int) []float64{
	"constant":      func(_ *rand.Rand, n int) []float64 { return fill(n, func(int) float64 { return 42 }) },
	"constant tens": func(_ *rand.Rand, n int) []float64 { return fill(n, func(int) float64 { return 0.1 }) },
	"constant pi":   func(_ *rand.Rand, n int) []float64 { return fill(n, func(int) float64 { return math.Pi }) },
	"line":          func(_ *rand.Rand, n int) []float64 { return fill(n, func(i int) float64 { return float64(i*15) - 7 }) },
	"walk": func(r *rand.Rand, n int) []float64 {
		v := 50.0
		return fill(n, func(int) float64 { v = min(max(v+r.NormFloat64(), 0), 100); return math.Trunc(v) })
	},
	"multiples": func(r *rand.Rand, n int) []float64 {
		v := 1 << 16
		return fill(n, func(int) float64 { v += r.IntN(201) - 100; return float64(v)*4096 + 5 })
	},
	"counter": func(r *rand.Rand, n int) []float64 {
		v := 1 << 33
		return fill(n, func(int) float64 { v += 1000 + r.IntN(60); return float64(v) })
	},
	"resetting counter": func(r *rand.Rand, n int) []float64 {
		v := 0
		return fill(n, func(int) float64 {
			if v += r.IntN(50); r.IntN(n/3+2) == 0 {
				v = 0
			}
			return float64(v)
		})
	},
	"decimals": func(r *rand.Rand, n int) []float64 {
		v := 0
		return fill(n, func(int) float64 { v += r.IntN(41) - 20; return float64(v) / 100 })
	},
	"free decimals": func(r *rand.Rand, n int) []float64 {
		return fill(n, func(int) float64 { return float64(r.IntN(10_000)) / 100 })
	},
	"mixed scales": func(r *rand.Rand, n int) []float64 {
		return fill(n, func(int) float64 { return float64(r.IntN(1000)) / pow10[r.IntN(16)] })
	},
	"steps": func(r *rand.Rand, n int) []float64 {
		v := 5.0
		return fill(n, func(int) float64 {
			if r.IntN(60) == 0 {
				v = float64(r.IntN(100))
			}
			return v
		})
	},
	"sum of tenths": func(r *rand.Rand, n int) []float64 {
		v := 0.0
		return fill(n, func(int) float64 { v += float64(r.IntN(20)) * 0.1; return v })
	},
	"doubles": func(r *rand.Rand, n int) []float64 { return fill(n, func(int) float64 { return r.NormFloat64() }) },
	"float32": func(r *rand.Rand, n int) []float64 {
		return fill(n, func(int) float64 { return float64(float32(r.NormFloat64())) })
	},
	"big": func(r *rand.Rand, n int) []float64 {
		return fill(n, func(int) float64 { return float64(uint64(r.IntN(100)) << 56) })
	},
	"any bits": func(r *rand.Rand, n int) []float64 {
		return fill(n, func(int) float64 { return math.Float64frombits(r.Uint64()) })
	},
	"all strange": func(r *rand.Rand, n int) []float64 { return fill(n, func(int) float64 { return strange(r) }) },
	"edge of exact": func(r *rand.Rand, n int) []float64 {
		return fill(n, func(int) float64 { return float64(1<<53-int64(r.IntN(3))+1) * float64(1-2*r.IntN(2)) })
	},
	"tiny": func(r *rand.Rand, n int) []float64 {
		return fill(n, func(int) float64 { return float64(r.IntN(9)-4) * math.SmallestNonzeroFloat64 })
	},
	"sprinkled": func(r *rand.Rand, n int) []float64 {
		return fill(n, func(i int) float64 {
			if r.IntN(20) == 0 {
				return strange(r)
			}
			return float64(i % 7)
		})
	},
}

// timeShapes are strictly ascending times.
var timeShapes = map[string]func(r *rand.Rand, n int) []int64{
	"grid": func(_ *rand.Rand, n int) []int64 { return ascend(n, 1767225600000, func(int) int64 { return 10_000 }) },
	"jitter": func(r *rand.Rand, n int) []int64 {
		return ascend(n, 1767225600000, func(int) int64 { return 14_990 + r.Int64N(20) })
	},
	"wide": func(r *rand.Rand, n int) []int64 {
		return ascend(n, 1767225600000, func(int) int64 { return 10_000 + r.Int64N(9000) })
	},
	"negative": func(r *rand.Rand, n int) []int64 { return ascend(n, -int64(n)*500, func(int) int64 { return 1000 }) },
	"gaps": func(r *rand.Rand, n int) []int64 {
		return ascend(n, 1, func(int) int64 {
			if r.IntN(50) == 0 {
				return 1 + r.Int64N(1<<40)
			}
			return 15_000
		})
	},
	"huge": func(r *rand.Rand, n int) []int64 { // from the first int64 to the last
		return ascend(n, math.MinInt64, func(i int) int64 {
			switch i {
			case 1:
				return math.MaxInt64
			case 2:
				return math.MaxInt64 - int64(n)
			}
			return 1
		})
	},
}

func ascend(n int, start int64, delta func(i int) int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		if i > 0 {
			start += delta(i)
		}
		out[i] = start
	}
	return out
}

func fill(n int, at func(i int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = at(i)
	}
	return out
}

// strange returns a value that is no ordinary number.
func strange(r *rand.Rand) float64 {
	list := []float64{
		math.Float64frombits(value.StaleNaN), math.NaN(), math.Float64frombits(0x7ff8dead00000001),
		math.Float64frombits(0xfff0000000000001), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0,
		1e300, -1e300, math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 53, -(1 << 53), 1<<53 + 2, 1<<53 - 1,
		1 << 63, -(1 << 63), 0.1, 1.0 / 3,
	}
	return list[r.IntN(len(list))]
}
