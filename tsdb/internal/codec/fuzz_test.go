package codec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// FuzzDecodeColumn decodes any column; what is accepted comes back the same when
// written again.
func FuzzDecodeColumn(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	var c Columns
	for _, values := range columns {
		f.Add(c.Append(nil, values(r, 100)), uint16(100))
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, src []byte, n uint16) {
		tally.Input()
		var s Scratch
		v := make([]int64, 1+int(n)%8192)
		if _, ok := DecodeColumn(v, src, &s); !ok {
			return
		}
		tally.Accepted()
		var c Columns
		got := make([]int64, len(v))
		rest, ok := DecodeColumn(got, c.Append(nil, v), &s)
		require.True(t, ok)
		require.Empty(t, rest)
		require.Equal(t, v, got)
	})
}

// FuzzDecode decodes any stream under any parameters, whole and in part, to both
// lanes.
func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	var c Coder
	for _, values := range columns {
		v := values(r, 100)
		for _, p := range []Params{{Codec: Pack}, {Codec: Class, Table: 9, Shift: 4}, {Codec: Huff, Table: 7, Shift: 3, Order: 1}, {Codec: Huff, Table: 70, Order: 2}} {
			f.Add(byte(p.Codec), p.Order, p.Table, p.Shift, p.Centre, uint16(100), c.Append(nil, &p, v))
		}
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, codec, order, table, shift byte, centre int64, n uint16, src []byte) {
		tally.Input()
		p := Params{Codec: Codec(codec), Order: order, Table: table, Shift: shift, Centre: centre}
		if !p.Valid() {
			return
		}
		var s Scratch
		v := make([]int64, 1+int(n)%1500)
		used, ok := Decode(v, len(v), &p, 1, 2, src, true, &s)
		if !ok {
			return
		}
		tally.Accepted()
		require.LessOrEqual(t, used, len(src))
		low := make([]int32, len(v))
		_, ok = Decode(low, len(v), &p, 1, 2, src, false, &s)
		require.True(t, ok)
		for i := range v {
			require.Equal(t, int32(v[i]), low[i])
		}
		if p.Prefix() {
			part := make([]int64, 1+len(v)/2)
			_, ok = Decode(part, len(v), &p, 1, 2, src, false, &s)
			require.True(t, ok)
			require.Equal(t, v[:len(part)], part)
			last := part[len(part)-1:]
			if last[0] = 0; DecodeTail(last, len(part)-1, len(v), &p, 1, src, &s) {
				require.Equal(t, v[:len(part)], part)
			}
		}
		doubles := make([]float64, len(v))
		tens := Tens{Divisor: 1 + 2*int64(shift&1), Base: 5, Scale: table % (MaxScale + 1)}
		if tens.Divisor == 1 {
			tens.Base = 0
		}
		tens.Small = true
		for _, q := range v {
			m := q*tens.Divisor + tens.Base
			tens.Small = tens.Small && max(q, -q) < maxMantissa/4 && max(m, -m) < maxMantissa-tens.Divisor && q > math.MinInt64
		}
		if !p.Joint(&tens) {
			return
		}
		want := make([]float64, len(v))
		Decimals(want, v, tens.Divisor, tens.Base, tens.Scale)
		require.True(t, DecodeDecimals(doubles, len(v), &p, int64(1), src, &tens, &s))
		require.Equal(t, want, doubles)
		var s2 Scratch
		doubles2 := make([]float64, len(v))
		clear(doubles)
		require.True(t, DecodeDecimals2(doubles, doubles2, &p, int64(1), int64(1), src, append(src[:len(src):len(src)], "behind it"...), &tens, &s, &s2))
		require.Equal(t, want, doubles)
		require.Equal(t, want, doubles2)
	})
}

// FuzzDecodeTimes decodes any times.
func FuzzDecodeTimes(f *testing.F) {
	f.Add(byte(0), int64(5), int64(7), uint16(9), []byte{})
	var c TimesCoder
	for _, times := range [][]int64{{1, 11, 21, 51, 61, 71, 81, 91, 101, 111}, {1, 12, 21, 30, 41}, {1, 11, 20, 31, 52, 61, 71, 80, 90, 100, 111}} {
		b, form, step := c.Append(nil, times)
		f.Add(byte(form), times[0], step, uint16(len(times)-1), b)
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, form byte, start, step int64, n uint16, src []byte) {
		tally.Input()
		var s Scratch
		times := make([]int64, 1+int(n)%8192)
		if !DecodeTimes(times, TimesForm(form), start, step, src, &s) {
			return
		}
		tally.Accepted()
		require.True(t, Ascending(times))
		var c TimesCoder
		b, again, step := c.Append(nil, times)
		got := make([]int64, len(times))
		require.True(t, DecodeTimes(got, again, times[0], step, b, &s))
		require.Equal(t, times, got)
	})
}

// FuzzDecodeFloats decodes any column of floats.
func FuzzDecodeFloats(f *testing.F) {
	var c FloatColumns
	f.Add(c.AppendFloats(nil, []float64{1, 2.5, 0.1, 1e300}), uint16(3))
	f.Add(c.AppendFloats(nil, []float64{0.1, 0.2, 0.1 + 0.2, 0.7}), uint16(3))
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, src []byte, n uint16) {
		tally.Input()
		var s Scratch
		v := make([]float64, 1+int(n)%2000)
		if _, ok := DecodeFloats(v, src, &s); !ok {
			return
		}
		tally.Accepted()
		got := make([]float64, len(v))
		_, ok := DecodeFloats(got, c.AppendFloats(nil, v), &s)
		require.True(t, ok)
		for i := range v {
			require.Equal(t, math.Float64bits(v[i]), math.Float64bits(got[i]))
		}
	})
}
