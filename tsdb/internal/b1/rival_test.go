package b1

import (
	"encoding/binary"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// The rival's codec of values, as its sources describe it: a block of floats
// becomes decimals of one scale, those differences or second differences as
// zigzagged varints, those zstd at a level that depends on the number of rows.
// It is lossy, and it is what our sizes are compared with. Its block header is
// 81 bytes.
const rivalHeader = 81

func rivalSize(v []float64) int {
	a, _ := rivalDecimals(v)
	return len(rivalEncode(a))
}

var rivalZstd = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(5)), zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	return e
})

func rivalEncode(a []int64) []byte {
	constant, line := true, len(a) > 1
	for i := 1; i < len(a); i++ {
		constant = constant && a[i] == a[0]
		line = line && a[i]-a[i-1] == a[1]-a[0]
	}
	if constant {
		return nil
	}
	if line {
		return binary.AppendVarint(nil, a[1]-a[0])
	}
	var b []byte
	if rivalGauge(a) {
		for i := 1; i < len(a); i++ {
			b = binary.AppendVarint(b, a[i]-a[i-1])
		}
	} else {
		b = binary.AppendVarint(b, a[1]-a[0])
		for i := 2; i < len(a); i++ {
			b = binary.AppendVarint(b, a[i]-2*a[i-1]+a[i-2])
		}
	}
	if len(b) < 128 {
		return b
	}
	if out := rivalZstd().EncodeAll(b, nil); float64(len(out)) <= 0.9*float64(len(b)) {
		return out
	}
	return b
}

// rivalGauge tells gauges from counters: by how far values fall.
func rivalGauge(a []int64) bool {
	if len(a) < 2 || a[0] < 0 {
		return len(a) >= 2
	}
	resets, previous := 0, a[0]
	for _, v := range a[1:] {
		if v < previous {
			if v < 0 || v > previous>>3 {
				return true
			}
			resets++
		}
		previous = v
	}
	return resets > 2 && resets > len(a)>>3
}

func rivalDecimals(v []float64) ([]int64, int16) {
	m, e := make([]int64, len(v)), make([]int16, len(v))
	least := int16(math.MaxInt16)
	for i, x := range v {
		m[i], e[i] = rivalDecimal(x)
		least = min(least, e[i])
	}
	down := int16(0)
	for i := range m {
		down = max(down, e[i]-least-rivalRoom(m[i]))
	}
	least += down
	for i := range m {
		for ; e[i] > least; e[i]-- {
			m[i] *= 10
		}
		for ; e[i] < least; e[i]++ {
			m[i] /= 10
		}
	}
	return m, least
}

// rivalRoom is how many times m can be multiplied by ten.
func rivalRoom(m int64) int16 {
	if m == 0 {
		return 1024
	}
	n := int16(0)
	for u := max(m, -m); u <= math.MaxInt64/10; u *= 10 {
		n++
	}
	return n
}

func rivalDecimal(f float64) (int64, int16) {
	switch {
	case f == 0:
		return 0, 0
	case f < 0:
		m, e := rivalPositive(-f)
		return -m, e
	}
	return rivalPositive(f)
}

func rivalPositive(f float64) (int64, int16) {
	u := uint64(f)
	if float64(u) != f {
		return rivalFraction(f)
	}
	scale := int16(0)
	for u >= 1<<55 {
		u /= 10
		scale++
	}
	for u != 0 && u%10 == 0 {
		u /= 10
		scale++
	}
	return int64(u), scale
}

func rivalFraction(f float64) (int64, int16) {
	scale, precision := int16(0), 1e12
	if f > 1e6 || f < 1e-6 {
		if f > 1e6 {
			precision = 1e15
		}
		_, exp := math.Frexp(f)
		exp = min(max(exp, -1022), 1023)
		scale = int16(float64(exp) * (math.Ln2 / math.Ln10))
		f *= math.Pow10(-int(scale))
	}
	for f < precision {
		x, frac := math.Modf(f)
		if frac*precision < x {
			f = x
			break
		}
		if (1-frac)*precision < x {
			f = x + 1
			break
		}
		f *= 100
		scale -= 2
	}
	u := uint64(f)
	if u%10 != 0 {
		return int64(u), scale
	}
	return int64(u / 10), scale + 1
}
