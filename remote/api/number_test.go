package api

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// slowFloat is appendFloat without its shortcuts.
func slowFloat(f float64) string { return `"` + string(appendShortest(nil, f)) + `"` }

func TestAppendFloat(t *testing.T) {
	f := func(v float64, want string) {
		t.Helper()
		require.Equal(t, want, string(appendFloat(nil, v)))
		require.Equal(t, want, slowFloat(v))
	}
	f(0, `"0"`)
	f(math.Copysign(0, -1), `"-0"`)
	f(math.NaN(), `"NaN"`)
	f(math.Inf(1), `"+Inf"`)
	f(math.Inf(-1), `"-Inf"`)
	f(7, `"7"`)
	f(-42, `"-42"`)
	f(0.5, `"0.5"`)
	f(-0.25, `"-0.25"`)
	f(100.001, `"100.001"`)
	f(0.30000000000000004, `"0.30000000000000004"`)
	f(1234567.8, `"1234567.8"`)
	f(1700000000.123, `"1700000000.123"`)
	f(1.0/3, `"0.3333333333333333"`)
	f(1.2345678e-6, `"0.0000012345678"`)
	f(1e-6, `"0.000001"`)
	f(9.99e-7, `"9.99e-07"`)
	f(1.2345678e-67, `"1.2345678e-67"`)
	f(1e-7, `"1e-07"`)
	f(1<<53+2, `"9007199254740994"`)
	f(1<<60, `"1152921504606847000"`)
	f(1e20, `"100000000000000000000"`)
	f(1e21, `"1e+21"`)
	f(-(1 << 53), `"-9007199254740992"`)
	f(math.MaxFloat64, `"1.7976931348623157e+308"`)
	f(math.SmallestNonzeroFloat64, `"5e-324"`)
}

// TestFloatsAreThoseOfStrconv compares with the slow twin where its shortcuts
// begin and end, around powers of two and ten, and at random.
func TestFloatsAreThoseOfStrconv(t *testing.T) {
	var buf []byte
	check := func(v float64) {
		if buf = appendFloat(buf[:0], v); string(buf) != slowFloat(v) {
			t.Fatalf("got %s, want %s", buf, slowFloat(v))
		}
		if k, ok := small(v); ok {
			if end := appendSmallEnd(make([]byte, 0, 8), k); string(end) != slowFloat(v)[1:]+"]," {
				t.Fatalf("got %s at the end of %v", end, v)
			}
		}
		if len(buf) > maxFloatBytes {
			t.Fatalf("%s is too long", buf)
		}
	}
	around := func(v float64) {
		for _, v := range []float64{v, -v} {
			up, down := v, v
			for range 50 {
				check(up)
				check(down)
				up, down = math.Nextafter(up, math.Inf(1)), math.Nextafter(down, math.Inf(-1))
			}
		}
	}
	for k := range 2 * smallNumbers {
		around(float64(k))
	}
	for e := -80; e < 80; e++ {
		around(math.Ldexp(1, e))
	}
	for e := -25; e < 25; e++ {
		for m := 1; m < 100; m++ {
			around(float64(m) * math.Pow(10, float64(e)))
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	n := 100_000
	if testing.Short() {
		n = 20_000
	}
	for range n {
		check(math.Float64frombits(r.Uint64()))
		check(math.Float64frombits(r.Uint64()>>12 | uint64(1023-20+r.IntN(90))<<52))
		check(float64(r.Int64() >> r.IntN(64)))
		check(float64(r.Int64N(1e15)>>r.IntN(50)) / math.Pow(10, float64(r.IntN(12))))
		check(float64(r.IntN(1e6)) / float64(1+r.IntN(1e6)))
	}
}

// TestPowers computes the table anew.
func TestPowers(t *testing.T) {
	for i, p := range powers {
		want := big.NewInt(1)
		ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(i+minPower, -i-minPower))), nil)
		if i+minPower >= 0 {
			want.Mul(want, ten)
			want.Lsh(want, uint(128-want.BitLen()))
		} else {
			want.Lsh(want, uint(127+ten.BitLen()))
			want.Add(want, new(big.Int).Sub(ten, big.NewInt(1))) // round up
			want.Div(want, ten)
		}
		got := new(big.Int).SetUint64(p[0])
		got.Lsh(got, 64).Add(got, new(big.Int).SetUint64(p[1]))
		require.Zero(t, want.Cmp(got), "10^%d: got %x, want %x", i+minPower, got, want)
	}
}

func TestAppendTimestamp(t *testing.T) {
	f := func(ms int64, want string) {
		t.Helper()
		require.Equal(t, want, string(appendTimestamp(nil, ms)))
	}
	f(0, "0")
	f(1, "0.001")
	f(10, "0.010")
	f(100, "0.100")
	f(1001, "1.001")
	f(1010, "1.010")
	f(1100, "1.100")
	f(2000, "2")
	f(-1, "-0.001")
	f(-1500, "-1.500")
	f(1700000000433, "1700000000.433")
	f(12345678123456555, "12345678123456.555")
	f(math.MaxInt64, "9223372036854775.807")
	f(math.MinInt64, "-9223372036854775.808")
}

func BenchmarkAppendFloat(b *testing.B) {
	for _, c := range []struct {
		name string
		make func(r *rand.Rand) float64
	}{
		{"integers", func(r *rand.Rand) float64 { return float64(r.IntN(100)) }},
		{"counters", func(r *rand.Rand) float64 { return float64(r.Int64N(1e12)) }},
		{"decimals", func(r *rand.Rand) float64 { return float64(r.IntN(1e6)) / 100 }},
		{"doubles", func(r *rand.Rand) float64 { return float64(r.IntN(1e6)) / 3600 }},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		var values [1024]float64
		for i := range values {
			values[i] = c.make(r)
		}
		for _, way := range []struct {
			name   string
			append func([]byte, float64) []byte
		}{{"strconv", appendShortest}, {"ours", appendDigits}} {
			b.Run(c.name+"/"+way.name, func(b *testing.B) {
				buf, i := make([]byte, 0, 64), 0
				for b.Loop() {
					buf = way.append(buf[:0], values[i%len(values)])
					i++
				}
			})
		}
	}
}
