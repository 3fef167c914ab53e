package codec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// columns are number sequences of many natures.
var columns = map[string]func(r *rand.Rand, n int) []int64{
	"constant": func(r *rand.Rand, n int) []int64 { return list(n, func(int) int64 { return -7 }) },
	"linear":   func(r *rand.Rand, n int) []int64 { return list(n, func(i int) int64 { return 5 - int64(i)*1001 }) },
	"walk":     func(r *rand.Rand, n int) []int64 { return walkOf(r, n, 1.1) },
	"wide":     func(r *rand.Rand, n int) []int64 { return walkOf(r, n, 300) },
	"wider":    func(r *rand.Rand, n int) []int64 { return walkOf(r, n, 1e12) },
	"noise":    func(r *rand.Rand, n int) []int64 { return list(n, func(int) int64 { return r.Int64N(1000) }) },
	"multiples": func(r *rand.Rand, n int) []int64 {
		return list(n, func(int) int64 { return 5 + 4096*(r.Int64N(50)-25) })
	},
	"counter": func(r *rand.Rand, n int) []int64 {
		v := int64(1 << 40)
		return list(n, func(int) int64 { v += 1000 + r.Int64N(60); return v })
	},
	"accelerating": func(r *rand.Rand, n int) []int64 {
		return list(n, func(i int) int64 { return int64(i*i) + r.Int64N(2) })
	},
	"classes": func(r *rand.Rand, n int) []int64 {
		return list(n, func(int) int64 { return int64(math.Exp(r.Float64()*40)) * (r.Int64N(2)*2 - 1) })
	},
	"spikes": func(r *rand.Rand, n int) []int64 {
		return list(n, func(i int) int64 {
			if r.IntN(40) == 0 {
				return r.Int64()
			}
			return r.Int64N(3)
		})
	},
	"any": func(r *rand.Rand, n int) []int64 { return list(n, func(int) int64 { return int64(r.Uint64()) }) },
	"extremes": func(r *rand.Rand, n int) []int64 {
		return list(n, func(i int) int64 { return math.MinInt64 + int64(i&1) })
	},
	"ends": func(r *rand.Rand, n int) []int64 {
		return list(n, func(int) int64 { return []int64{math.MinInt64, math.MaxInt64, 0, -1}[r.IntN(4)] })
	},
}

func list(n int, at func(i int) int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = at(i)
	}
	return out
}

func walkOf(r *rand.Rand, n int, sigma float64) []int64 {
	v := 0.0
	return list(n, func(int) int64 { v += r.NormFloat64() * sigma; return int64(v) })
}

func TestColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var c Columns
	var scratch Scratch
	for name, values := range columns {
		for _, n := range []int{1, 2, 3, 4, 7, 30, 255, 256, 1000, 3072, 3073, 3500, 4095, 8192} {
			v := values(r, n)
			got := append([]int64(nil), v...)
			clear(got)
			b := c.Append([]byte("x"), v)
			require.LessOrEqual(t, len(b), n*8+n/8+24, name)
			rest, ok := DecodeColumn(got, append(b[1:], "rest"...), &scratch)
			require.True(t, ok, "%s %d", name, n)
			require.Equal(t, "rest", string(rest))
			require.Equal(t, v, got, "%s %d", name, n)
		}
	}
}

// TestStreams codes with every codec, order and table, and decodes to both
// lanes, with and without bytes behind the stream.
func TestStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var c Coder
	var scratch Scratch
	tails := 0
	f := func(name string, p Params, v []int64) {
		b := c.Append(nil, &p, v)
		slope := int64(0)
		if len(v) > 1 {
			slope = v[1] - v[0]
		}
		for _, tail := range []string{"", "tail of more than eight bytes"} {
			for _, exact := range []bool{true, false} {
				got := make([]int64, len(v))
				used, ok := Decode(got, len(got), &p, v[0], slope, append(b[:len(b):len(b)], tail...), exact, &scratch)
				require.True(t, ok, "%s %+v", name, p)
				require.Equal(t, v, got, "%s %+v", name, p)
				if exact {
					require.Equal(t, len(b), used, "%s %+v", name, p)
				}
				low := make([]int32, len(v))
				_, ok = Decode(low, len(low), &p, int32(v[0]), int32(slope), append(b[:len(b):len(b)], tail...), exact, &scratch)
				require.True(t, ok)
				for i := range v {
					require.Equal(t, int32(v[i]), low[i])
				}
				if p.Prefix() && len(v) > 2 {
					some := make([]int64, 1+r.IntN(len(v)))
					_, ok = Decode(some, len(v), &p, v[0], slope, append(b[:len(b):len(b)], tail...), false, &scratch)
					require.True(t, ok)
					require.Equal(t, v[:len(some)], some, "%s %+v", name, p)
				}
				skip := r.IntN(len(v))
				end := skip + 1 + r.IntN(min(len(v)-skip, 20))
				if DecodeTail(got[skip:end], skip, len(v), &p, v[0], append(b[:len(b):len(b)], tail...), &scratch) {
					tails++
					require.Equal(t, v, got, "%s %+v", name, p)
					require.True(t, DecodeTail(low[skip:end], skip, len(v), &p, int32(v[0]), append(b[:len(b):len(b)], tail...), &scratch))
					for i := range v {
						require.Equal(t, int32(v[i]), low[i])
					}
				}
			}
		}
	}
	for name, values := range columns {
		for _, n := range []int{1, 2, 3, 6, 50, 256} {
			v := values(r, n)
			for order := range uint8(3) {
				f(name, Params{Codec: Pack, Order: order}, v)
				f(name, Params{Codec: Class, Order: order, Table: uint8(r.IntN(singleTables)), Shift: uint8(r.IntN(65)), Centre: int64(r.Uint64())}, v)
				f(name, Params{Codec: Huff, Order: order, Table: uint8(r.IntN(singleTables)), Shift: uint8(r.IntN(57))}, v)
				f(name, Params{Codec: Huff, Order: order, Table: uint8(r.IntN(singleTables)) + pairBase, Shift: uint8(r.IntN(57)), Centre: r.Int64N(9)}, v)
				f(name, Params{Codec: Huff, Order: order, Table: pairBase, Centre: r.Int64N(2)}, v)
			}
		}
	}
	require.Greater(t, tails, 100)
}

// TestSumFields adds packed numbers of every width one by one.
func TestSumFields(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	for width := range uint(maxShift + 1) {
		for range 50 {
			n := r.IntN(300)
			var w BitWriter
			want := uint64(0)
			for range n {
				x := r.Uint64() & maskOf(width)
				want += x
				w.Write(x, width)
			}
			w.Write(r.Uint64(), uint(r.IntN(65))) // what follows
			w.Flush()
			require.Equal(t, want, sumFields(w.B, width, n), "%d numbers of %d bits", n, width)
		}
	}
}

// TestDecimals decodes streams straight to doubles and by way of integers.
func TestDecimals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var c Coder
	var s, s2 Scratch
	for range 3000 {
		shift := uint8(r.IntN(maxJoin + 1))
		p := Params{Codec: Huff, Order: 1, Table: uint8(r.IntN(singleTables)) + pairBase*uint8(r.IntN(2)), Shift: shift, Centre: r.Int64N(200) - 100}
		tens := []Tens{{Divisor: 1}, {Divisor: 4096, Base: 77}, {Divisor: 1, Scale: 2}, {Divisor: 10, Base: 3, Scale: 3}}[r.IntN(4)]
		if tens.Small = true; shift == 0 {
			p.Centre, tens = 0, Tens{Divisor: 1, Scale: uint8(r.IntN(3)), Small: true}
		}
		require.True(t, p.Joint(&tens))
		n := 1 + r.IntN(1<<r.IntN(13))
		var v [2][]int64
		var streams [2][]byte
		var want, got [2][]float64
		for k := range v {
			v[k] = walkOf(r, n, float64(int(1)<<shift)*[]float64{0.5, 1, 2, 9, 3000}[r.IntN(5)])
			streams[k] = append(c.Append(nil, &p, v[k]), make([]byte, r.IntN(20))...)
			want[k], got[k] = make([]float64, n), make([]float64, n)
			Decimals(want[k], v[k], tens.Divisor, tens.Base, tens.Scale)
		}
		require.True(t, DecodeDecimals(got[0], n, &p, v[0][0], streams[0], &tens, &s))
		require.Equal(t, want[0], got[0], "%+v %+v", p, tens)
		clear(got[0])
		require.True(t, DecodeDecimals2(got[0], got[1], &p, v[0][0], v[1][0], streams[0], streams[1], &tens, &s, &s2))
		require.Equal(t, want, got, "%+v %+v", p, tens)
	}
}

// TestTablesComplete holds every code to be complete: any bits decode.
func TestTablesComplete(t *testing.T) {
	n := 0
	for id := range tables {
		if !validTable(uint8(id)) {
			continue
		}
		n++
		sum, longest := 0, 0
		for _, l := range tables[id]().length {
			if l > 0 {
				sum += 1 << (maxCode - int(l))
				longest = max(longest, int(l))
			}
		}
		require.Equal(t, 1<<maxCode, sum, "table %d", id)
		require.LessOrEqual(t, longest, maxCode)
		require.Positive(t, tables[id]().length[tables[id]().escape])
		emitted := 0
		for _, step := range tables[id]().step {
			emitted += int(step >> 9)
		}
		require.Equal(t, emitted, pace(tables[id]().length, tables[id]().width))
	}
	require.Equal(t, 2*singleTables, n)
}

// TestDivisor compares divisors and quotients with what dividing yields.
func TestDivisor(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		d, base := 1+r.Int64N(1<<r.IntN(30)), r.Int64N(1<<40)-1<<39
		v := list(1+r.IntN(50), func(int) int64 { return base + d*(r.Int64N(1<<20)-1<<19) })
		s := Summarize(v)
		want, sum, falls := int64(0), int64(0), 0
		for i, x := range v {
			for a, b := want, max(x-v[0], v[0]-x); ; a, b = b, a%b {
				if b == 0 {
					want = a
					break
				}
			}
			sum += x
			if i > 0 && x < v[i-1] {
				falls++
			}
		}
		require.Equal(t, []int64{slices.Min(v), slices.Max(v), sum, int64(falls)}, []int64{s.Min, s.Max, s.Sum, int64(s.Falls)})
		got, base := s.Divisor(v)
		require.Equal(t, max(want, 1), got)
		require.Contains(t, []int64{v[0] % got, v[0]%got + got, 0}, base)
		for i, q := range Divide(nil, v, got, base) {
			require.Equal(t, v[i], base+got*q)
			require.Zero(t, (v[i]-base)%got)
		}
	}
}

func TestOrdered(t *testing.T) {
	sorted := []float64{math.Inf(-1), -math.MaxFloat64, -1, -math.SmallestNonzeroFloat64, math.Copysign(0, -1), 0, math.SmallestNonzeroFloat64, 1, math.Inf(1)}
	for i, x := range sorted {
		o := Ordered(math.Float64bits(x))
		require.Equal(t, math.Float64bits(x), FromOrdered(o))
		if i > 0 {
			require.Greater(t, o, Ordered(math.Float64bits(sorted[i-1])))
		}
	}
}

func TestTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var c TimesCoder
	var scratch Scratch
	f := func(times []int64, want TimesForm, most int) {
		t.Helper()
		b, form, step := c.Append(nil, times)
		require.Equal(t, want, form)
		require.LessOrEqual(t, len(b), most)
		got := make([]int64, len(times))
		require.True(t, DecodeTimes(got, form, times[0], step, b, &scratch))
		require.Equal(t, times, got)
	}
	const start, step = 1_700_000_000_000, 15000
	grid := list(1000, func(i int) int64 { return start + int64(i)*step })
	f(grid[:1], TimesGrid, 0)
	f(grid[:2], TimesGrid, 0)
	f(grid, TimesGrid, 0)
	holes := append(append([]int64(nil), grid[:100]...), grid[200:]...)
	f(holes, TimesHoles, 12)
	jitter := list(1000, func(i int) int64 { return grid[i] + int64(r.NormFloat64()*3) })
	f(jitter, TimesJitter, 500)
	f(append(append([]int64(nil), jitter[:100]...), jitter[207:]...), TimesBoth, 500)
	drift := list(1000, func(i int) int64 { return grid[i] + int64(i/2) + r.Int64N(2) })
	f(drift, TimesJitter, 400)
	at := int64(-5)
	f(list(1000, func(i int) int64 { at += 1 + r.Int64N(1<<40); return at }), TimesJitter, 6000)
}
