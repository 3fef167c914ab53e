package narrow_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/narrow"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/tsdb"
)

// pieces makes up samples that follow each other.
func pieces(r *rand.Rand) (out []tsdb.Narrow) {
	t := int64(1000 + r.IntN(1000))
	for range r.IntN(4) {
		p := tsdb.Narrow{
			Start: t, Step: []int64{1, 10, 15, 1000}[r.IntN(4)], Count: 1 + r.IntN(700),
			Low: r.Int64N(200) - 100, Width: []uint8{0, 1, 2, 4}[r.IntN(4)],
		}
		if r.IntN(5) == 0 {
			p.Low = 1 << 45
		}
		if r.IntN(4) == 0 {
			p.Scale = uint8(r.IntN(4))
		}
		var word [8]byte
		for range p.Count {
			binary.LittleEndian.PutUint64(word[:], r.Uint64()>>r.IntN(64))
			if r.IntN(3) == 0 {
				binary.LittleEndian.PutUint64(word[:], math.MaxUint64)
			}
			p.Bytes = append(p.Bytes, word[:p.Width]...)
		}
		if p.Width == 1 && r.IntN(4) > 0 {
			for zone := range slices.Chunk(p.Bytes, tsdb.NarrowZone) {
				p.Least, p.Greatest = append(p.Least, slices.Min(zone)), append(p.Greatest, slices.Max(zone))
			}
		}
		if p.Count > 1 {
			p.First = r.IntN(p.Count)
			p.Start += int64(p.First) * p.Step
			p.Count -= p.First
			p.Count -= r.IntN(p.Count)
		}
		out = append(out, p)
		t = p.End() + 1 + r.Int64N(3)*r.Int64N(2000)
	}
	return out
}

// plain computes a window from floats, one after the other.
func plain(op narrow.Op, of []tsdb.Narrow, after, upTo int64) float64 {
	var in []float64
	for i := range of {
		p := &of[i]
		for k := range p.Count {
			if t := p.Start + int64(k)*p.Step; t > after && t <= upTo {
				in = append(in, p.Value(p.Mantissa(k)))
			}
		}
	}
	if len(in) == 0 {
		return math.NaN()
	}
	v := in[0]
	for _, x := range in[1:] {
		switch op {
		case narrow.Sum, narrow.Avg:
			v += x
		case narrow.Min:
			v = min(v, x)
		case narrow.Max:
			v = max(v, x)
		case narrow.Last:
			v = x
		}
	}
	switch op {
	case narrow.Avg:
		v /= float64(len(in))
	case narrow.Count:
		v = float64(len(in))
	}
	return v
}

func TestWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s narrow.Scratch
	could := map[narrow.Op]int{}
	for range 3000 {
		of := pieces(r)
		g := row.Grid{Start: r.Int64N(5000) - 1000, Step: []int64{1, 7, 60, 1000, 3000}[r.IntN(5)], N: 1 + r.IntN(20)}
		width := 1 + r.Int64N(4000)
		for op := narrow.Sum; op <= narrow.Last; op++ {
			if !op.Can(of) {
				continue
			}
			could[op]++
			got := op.Append([]float64{-1}, g, width, of, &s)
			require.Len(t, got, 1+g.N)
			for n := range g.N {
				want := plain(op, of, g.T(n)-width, g.T(n))
				if math.Float64bits(want) != math.Float64bits(got[1+n]) && !(math.IsNaN(want) && math.IsNaN(got[1+n])) {
					t.Fatalf("op %d, step %d of %+v, width %d: got %v, want %v", op, n, g, width, got[1+n], want)
				}
			}
		}
	}
	for op := narrow.Sum; op <= narrow.Last; op++ {
		require.Greater(t, could[op], 1000)
	}
	require.Less(t, could[narrow.Sum], 3000)
	require.False(t, narrow.None.Can(nil))
}

func BenchmarkWindows(b *testing.B) {
	p := tsdb.Narrow{Start: 0, Step: 10_000, Count: 4320, Width: 1, Bytes: make([]byte, 4320)}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range p.Bytes { // a walk, whose extremes come unforeseen
		p.Bytes[i] = byte(max(0, min(100, int(p.Bytes[max(i-1, 0)])+r.IntN(5)-2)))
	}
	for zone := range slices.Chunk(p.Bytes, tsdb.NarrowZone) {
		p.Least, p.Greatest = append(p.Least, slices.Min(zone)), append(p.Greatest, slices.Max(zone))
	}
	var s narrow.Scratch
	var dst []float64
	for _, c := range []struct {
		name  string
		width int64
		op    narrow.Op
	}{{"avg 1h", 3_600_000, narrow.Avg}, {"max 1h", 3_600_000, narrow.Max}, {"max 1m", 60_000, narrow.Max}} {
		b.Run(c.name, func(b *testing.B) {
			g := row.Grid{Start: 5_000, Step: c.width, N: int(43_200_000 / c.width)}
			for range b.N {
				dst = c.op.Append(dst[:0], g, c.width, []tsdb.Narrow{p}, &s)
			}
		})
	}
}

// TestAppendStops: many samples in each of many windows are not looked at once nobody
// waits for them.
func TestAppendStops(t *testing.T) {
	of := []tsdb.Narrow{{Start: 1, Step: 1, Count: 5000, Width: 1, Bytes: make([]byte, 5000)}}
	asked := 0
	s := &narrow.Scratch{Over: func(samples int) bool {
		asked++
		require.Greater(t, samples, 10_000, "it is seldom asked")
		return asked == 3
	}}
	out := narrow.Sum.Append(nil, row.Grid{Start: 5000, Step: 1, N: 100_000}, 1<<40, of, s)
	require.Len(t, out, 100_000)
	require.Equal(t, 3, asked)
}
