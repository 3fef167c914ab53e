package b1

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

func gridSpan(v []float64) *block.Span {
	return &block.Span{Kind: block.KindFloat, Count: len(v), Start: 1_700_000_000_000, Step: 15000, Floats: v}
}

func requireBits(t *testing.T, want, got []float64, msg ...any) {
	t.Helper()
	require.Len(t, got, len(want), msg...)
	for i := range want {
		if math.Float64bits(want[i]) != math.Float64bits(got[i]) {
			require.Equal(t, math.Float64bits(want[i]), math.Float64bits(got[i]), append([]any{"sample", i}, msg...)...)
		}
	}
}

// encoded returns a block of v, opened by way of a page of headers.
func encoded(t testing.TB, e *Encoder, s *block.Span) (*Block, int) {
	t.Helper()
	var h Header
	payload, _, err := e.Encode(nil, nil, &h, s)
	require.NoError(t, err)
	page := AppendPage(nil, []Header{h})
	headers, err := appendHeaders(nil, page)
	require.NoError(t, err)
	require.Equal(t, []Header{h}, headers)
	b := new(Block)
	require.NoError(t, b.Open(&headers[0], payload))
	return b, len(payload)
}

// eachShape calls f with blocks of every shape, with and without strange values,
// of many lengths.
func eachShape(r *rand.Rand, f func(name string, v []float64)) {
	var names []string
	for name := range shapes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, n := range []int{1, 2, 3, 17, 63, 64, 65, 255, 256, 257, 600, 1500, 4320, 8192} {
			f(name, shapes[name](r, n))
			f(name+" with strange values", sprinkled(r, shapes[name](r, n)))
		}
	}
}

func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, mini := range []int{64, 256, 1024} {
		e := NewEncoder(Options{MiniSamples: mini})
		eachShape(r, func(name string, v []float64) {
			b, size := encoded(t, e, gridSpan(v))
			require.LessOrEqual(t, size, len(v)*8+len(v)*8/100+60, "%s %d", name, len(v))
			got := make([]float64, len(v))
			require.NoError(t, b.Floats(got, 0))
			requireBits(t, v, got, name, len(v), b.Header())
			i := r.IntN(len(v))
			part := make([]float64, 1+r.IntN(len(v)-i))
			require.NoError(t, b.Floats(part, i))
			requireBits(t, v[i:i+len(part)], part, name, i)
			requireMantissas(t, b, v, i, len(part))
		})
	}
}

// requireMantissas reads [i, i+n) as integers.
func requireMantissas(t *testing.T, b *Block, v []float64, i, n int) {
	scale, ok := b.Decimal()
	if !ok {
		require.Error(t, b.Ints64(make([]int64, n), i))
		return
	}
	wide := make([]int64, n)
	require.NoError(t, b.Ints64(wide, i))
	list := b.exceptionsIn(i, i+n)
	for k, m := range wide {
		if len(list) > 0 && list[0].Index == i+k {
			list = list[1:]
			continue
		}
		require.Equal(t, math.Float64bits(v[i+k]), math.Float64bits(codec.Decimal(m, scale)))
	}
	if !b.Narrow() {
		return
	}
	low := make([]int32, n)
	require.NoError(t, b.Ints32(low, i))
	for k := range low {
		require.Equal(t, wide[k], int64(low[k]))
	}
}

// TestIntegerSpans encodes spans that come as integers, decimals or not, and
// compares with what the same values as doubles make.
func TestIntegerSpans(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	e := NewEncoder(Options{})
	for range 400 {
		n := 1 + r.IntN(1<<r.IntN(13))
		s := gridSpan(nil)
		s.Count, s.Scale = n, uint8(r.IntN(4))
		if r.IntN(10) == 0 {
			s.Scale = uint8(r.IntN(codec.MaxScale + 1))
		}
		m, step, limit := r.Int64N(1000), 1+r.IntN(1<<r.IntN(40)), int64(1)<<(20+r.IntN(44))
		for range n {
			if m += int64(r.IntN(2*step) - step); r.IntN(200) == 0 || m >= limit || m <= -limit {
				m = r.Int64N(10)
			}
			s.Ints64 = append(s.Ints64, m)
		}
		if limit < 1<<31 && r.IntN(2) == 0 {
			for _, m := range s.Ints64 {
				s.Ints32 = append(s.Ints32, int32(m))
			}
			s.Ints64 = nil
		}
		v := make([]float64, n)
		for i := range v {
			v[i] = s.Float(i)
		}
		b, _ := encoded(t, e, s)
		got := make([]float64, n)
		require.NoError(t, b.Floats(got, 0))
		requireBits(t, v, got)
		other, _ := encoded(t, e, gridSpan(v))
		one, two := *b.Header(), *other.Header()
		require.Equal(t, two.Resets, one.Resets)
		require.Equal(t, two.ResetAt, one.ResetAt)
		require.Equal(t, two.Flags&FlagMonotonic, one.Flags&FlagMonotonic)
		for op := block.StatCount; op <= block.StatLast; op++ {
			if want, ok := two.Stat(op); ok && op != block.StatSum {
				x, ok := one.Stat(op)
				require.True(t, ok)
				require.Equal(t, math.Float64bits(want), math.Float64bits(x))
			}
		}
	}
}

// TestLinesOfMinis encodes what is a line within each mini-block only.
func TestLinesOfMinis(t *testing.T) {
	e := NewEncoder(Options{})
	for _, slope := range []int{0, 3} {
		v := fill(1000, func(i int) float64 { return float64(i*slope + i/256*1000) })
		b, _ := encoded(t, e, gridSpan(v))
		got := make([]float64, len(v))
		require.NoError(t, b.Floats(got, 0))
		requireBits(t, v, got)
	}
}

// TestNoAllocations holds reading to the buffers it was given.
func TestNoAllocations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	e := NewEncoder(Options{})
	for name, values := range shapes {
		v := sprinkled(r, values(r, 4320))
		var h Header
		payload, _, err := e.Encode(nil, nil, &h, gridSpan(v))
		require.NoError(t, err)
		b, dst := new(Block), make([]float64, 1000)
		require.NoError(t, b.Open(&h, payload))
		require.Zero(t, testing.AllocsPerRun(5, func() {
			if b.Open(&h, payload) != nil || b.Floats(dst, 300) != nil {
				t.Fail()
			}
			for op := block.StatCount; op <= block.StatLast; op++ {
				b.Stat(op, 100, 4000)
			}
			b.Increase(100, 4000)
		}), name)
	}
}

// naive computes a statistic the slow way, in time order; ok is false where it
// would depend on the dialect.
func naive(op block.StatOp, v []float64) (out float64, ok bool) {
	switch op {
	case block.StatCount:
		return float64(len(v)), true
	case block.StatFirst:
		return v[0], true
	case block.StatLast:
		return v[len(v)-1], true
	case block.StatSum:
		for _, x := range v {
			out += x
		}
		return out, true
	}
	out = v[0]
	for _, x := range v {
		if x != x || x == 0 && math.Signbit(x) {
			return 0, false
		}
		if op == block.StatMin && x < out || op == block.StatMax && x > out {
			out = x
		}
	}
	return out, true
}

func naiveIncrease(v []float64) (float64, bool) {
	out := v[len(v)-1] - v[0]
	for i, x := range v {
		if x != x {
			return 0, false
		}
		if i > 0 && x < v[i-1] {
			out += v[i-1]
		}
	}
	return out, true
}

// kahan is how Prometheus adds.
func kahan(v []float64) float64 {
	sum, c := 0.0, 0.0
	for _, x := range v {
		t := sum + x
		if math.Abs(sum) >= math.Abs(x) {
			c += (sum - t) + x
		} else {
			c += (x - t) + sum
		}
		sum = t
	}
	return sum + c
}

// TestStatistics compares statistics of random windows with those of the
// decoded values.
func TestStatistics(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	asked, exact := map[block.StatOp]int{}, map[block.StatOp]int{}
	for _, mini := range []int{64, 256} {
		e := NewEncoder(Options{MiniSamples: mini})
		eachShape(r, func(name string, v []float64) {
			b, _ := encoded(t, e, gridSpan(v))
			for range 12 {
				i := r.IntN(len(v))
				j := i + 1 + r.IntN(len(v)-i)
				switch r.IntN(6) {
				case 0:
					i, j = 0, len(v)
				case 1:
					i &^= mini - 1
				case 2:
					j = min(j|(mini-1)+1, len(v))
				}
				for op := block.StatCount; op <= block.StatLast; op++ {
					got, ok := b.Stat(op, i, j)
					asked[op]++
					if !ok {
						continue
					}
					exact[op]++
					want, defined := naive(op, v[i:j])
					require.True(t, defined, "%s: op %d of [%d,%d)", name, op, i, j)
					require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%s: op %d of [%d,%d) of %d: want %v, got %v", name, op, i, j, len(v), want, got)
					if op == block.StatSum {
						require.Equal(t, math.Float64bits(kahan(v[i:j])), math.Float64bits(got), "%s: [%d,%d)", name, i, j)
					}
					if whole, ok := b.Header().Stat(op); ok && i == 0 && j == len(v) {
						require.Equal(t, math.Float64bits(want), math.Float64bits(whole))
					}
				}
				if got, ok := b.Increase(i, j); ok {
					want, defined := naiveIncrease(v[i:j])
					require.True(t, defined)
					require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%s: increase of [%d,%d)", name, i, j)
				}
			}
		})
	}
	require.Equal(t, asked[block.StatCount], exact[block.StatCount])
	require.Equal(t, asked[block.StatFirst], exact[block.StatFirst])
	require.Equal(t, asked[block.StatLast], exact[block.StatLast])
	require.Greater(t, exact[block.StatMin]*2, asked[block.StatMin])
	require.Greater(t, exact[block.StatMax]*2, asked[block.StatMax])
	require.Greater(t, exact[block.StatSum]*5, asked[block.StatSum])
}

// TestStatisticsOfIntegers holds integers to be answered for always.
func TestStatisticsOfIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	e := NewEncoder(Options{})
	for _, name := range []string{"constant", "line", "walk", "multiples", "steps", "resetting counter", "below the edge"} {
		v := shapes[name](r, 4320)
		b, _ := encoded(t, e, gridSpan(v))
		for range 100 {
			i := r.IntN(len(v))
			j := i + 1 + r.IntN(len(v)-i)
			for op := block.StatCount; op <= block.StatLast; op++ {
				_, ok := b.Stat(op, i, j)
				require.True(t, ok, "%s %d", name, op)
			}
		}
	}
}

// TestLayouts names the layout and domain that shapes are stored in.
func TestLayouts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	e := NewEncoder(Options{})
	f := func(name string, layout Layout, domain codec.Domain) {
		t.Helper()
		b, _ := encoded(t, e, gridSpan(shapes[name](r, 2000)))
		require.Equal(t, layout, b.Header().Layout, name)
		require.Equal(t, domain, b.Header().Domain, name)
	}
	f("constant", LayoutLinear, codec.Decimals10)
	f("constant pi", LayoutLinear, codec.Decimals10)
	f("line", LayoutLinear, codec.Decimals10)
	f("walk", LayoutMinis, codec.Decimals10)
	f("decimals", LayoutMinis, codec.Decimals10)
	f("steps", LayoutRuns, codec.Decimals10)
	f("sum of tenths", LayoutMinis, codec.NearTens)
	f("falling sum", LayoutMinis, codec.NearTens)
	f("doubles", LayoutMinis, codec.Doubles)
	f("any bits", LayoutMinis, codec.Doubles)
}

func TestStartTimesAndTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := gridSpan(shapes["walk"](r, 1000))
	s.Times = make([]int64, s.Count)
	s.StartTimes = make([]int64, s.Count)
	for i := range s.Times {
		s.Times[i] = s.Start + int64(i)*s.Step + r.Int64N(5)
		s.StartTimes[i] = int64(i / 300)
	}
	var h Header
	payload, times, err := NewEncoder(Options{}).Encode([]byte("before"), []byte("times"), &h, s)
	require.NoError(t, err)
	require.Equal(t, "before", string(payload[:6]))
	var b Block
	require.NoError(t, b.Open(&h, payload[6:]))
	got := make([]int64, s.Count)
	require.NoError(t, h.DecodeTimes(got, times[5:], new(codec.Scratch)))
	require.ErrorIs(t, h.DecodeTimes(make([]int64, s.Count), times[6:], new(codec.Scratch)), block.ErrCorrupt)
	require.Equal(t, s.Times, got)
	ok, err := b.StartTimes(got)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, s.StartTimes, got)
}

func TestInput(t *testing.T) {
	e := NewEncoder(Options{})
	f := func(s *block.Span) {
		t.Helper()
		var h Header
		_, _, err := e.Encode(nil, nil, &h, s)
		require.ErrorIs(t, err, ErrInput)
	}
	f(&block.Span{Kind: block.KindFloat})
	f(&block.Span{Kind: block.KindFloat, Count: 2, Floats: []float64{1, 2}})
	f(&block.Span{Kind: block.KindFloat, Count: 2, Step: 1, Floats: []float64{1}})
	f(&block.Span{Kind: block.KindFloat, Count: 2, Times: []int64{2, 2}, Floats: []float64{1, 2}})
	f(&block.Span{Kind: 9, Count: 1, Floats: []float64{1}})
	f(gridSpan(make([]float64, MaxSamples+1)))
	f(&block.Span{Kind: block.KindFloat, Count: 1, Ints64: []int64{1}, Scale: codec.MaxScale + 1})
}

// TestPages packs many headers and reads them back.
func TestPages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	e := NewEncoder(Options{})
	var headers []Header
	offset := uint64(7)
	for name := range shapes {
		var h Header
		payload, _, err := e.Encode(nil, nil, &h, gridSpan(shapes[name](r, 1+r.IntN(3000))))
		require.NoError(t, err)
		h.Series, h.Offset, h.TimesRef = uint32(len(headers)*3), offset, uint64(r.IntN(9))
		offset += uint64(len(payload))
		headers = append(headers, h)
	}
	page := AppendPage(nil, headers)
	got, err := appendHeaders(nil, page)
	require.NoError(t, err)
	require.True(t, slices.Equal(headers, got))
	for i := range page {
		damaged := slices.Clone(page)
		damaged[i] ^= 4
		_, err := appendHeaders(nil, damaged)
		require.ErrorIs(t, err, block.ErrCorrupt)
	}
}

// TestPageColumns names the form of columns and reads them back.
func TestPageColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	f := func(form byte, n int, at func(i int) int64) {
		t.Helper()
		v := make([]int64, n)
		for i := range v {
			v[i] = at(i)
		}
		var c columnCoder
		b := c.append(nil, v)
		require.Equal(t, form, b[0])
		reader := codec.NewReader(b)
		got := make([]int64, n)
		cr := columnReader{r: &reader}
		cr.read(got)
		require.False(t, reader.Bad())
		require.Zero(t, reader.Len())
		require.Equal(t, v, got)
	}
	f(formZero, 128, func(int) int64 { return 0 })
	f(0, 128, func(int) int64 { return math.MinInt64 })
	f(0, 1, func(int) int64 { return -5 })
	f(formDict, 128, func(int) int64 { return r.Int64N(5) << 40 })
	f(formSparse, 128, func(i int) int64 { return int64(i/127) * -7 })
	f(formSparse, 40, func(i int) int64 { return 1<<40 + int64(i/39)*7 })
	f(formColumn, 128, func(int) int64 { return int64(r.NormFloat64() * 40) })
	f(30, 128, func(i int) int64 { return r.Int64N(1<<30) - int64(i&1)<<20 })
	f(64, 128, func(i int) int64 { return int64(r.Uint64()) })
}

func TestPayloadOfOtherLength(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var h Header
	payload, _, err := NewEncoder(Options{}).Encode(nil, nil, &h, gridSpan(shapes["walk"](r, 500)))
	require.NoError(t, err)
	var b Block
	require.ErrorIs(t, b.Open(&h, payload[1:]), block.ErrCorrupt)
	require.ErrorIs(t, b.Open(&h, append(payload, 0)), block.ErrCorrupt)
}
