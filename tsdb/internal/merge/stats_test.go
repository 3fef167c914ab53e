package merge

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/part"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// walker draws the values of one series, which go on from part to part.
type walker struct {
	r     *rand.Rand
	shape int
	v     float64
	odd   int // one value in so many is awkward, 0 none
}

func (w *walker) next() float64 {
	r := w.r
	if w.odd > 0 && r.IntN(w.odd) == 0 {
		odd := []float64{
			math.NaN(), math.Float64frombits(0x7ff0000000000002), math.Float64frombits(0x7ff8000000abcdef), math.Inf(1), math.Inf(-1),
			math.Copysign(0, -1), 5e-324, math.MaxFloat64, 1 << 53, 1<<53 + 2, -(1 << 53), 123456789012345.6, 1e22, 1e-300, 0.1 + 0.2,
		}
		return odd[r.IntN(len(odd))]
	}
	switch w.shape {
	case 0: // counter
		w.v += float64(r.IntN(50))
		if r.IntN(700) == 0 {
			w.v = float64(r.IntN(5))
		}
	case 1: // gauge of decimals
		w.v = math.Round(100*w.v+float64(r.IntN(21)-10)) / 100
	case 2: // constant for long
		if r.IntN(300) == 0 {
			w.v = float64(r.IntN(10))
		}
	case 3: // ratios
		return float64(r.IntN(1000)) / 7
	case 4: // decimals with noise in the last place
		x := math.Round(r.Float64()*1e4) / 1e2
		return math.Float64frombits(math.Float64bits(x) + uint64(r.IntN(3)))
	case 5: // large integers
		w.v += float64(r.Int64N(1 << 40))
	case 6: // line
		w.v += 3
	case 7: // bytes in pages
		w.v = float64(4096 * r.IntN(1<<20))
	case 8: // near the border of exact sums
		w.v = float64((1<<53)/int64(8192) - r.Int64N(3))
	case 9:
		return math.Float64frombits(r.Uint64())
	case 10:
		w.v = float64(r.Int64N(1<<53)) * float64(1-2*r.IntN(2))
	}
	return w.v
}

// plainStat computes a statistic in time order; ok is false where it depends on
// who asks.
func plainStat(op block.StatOp, v []float64) (x float64, ok bool) {
	switch op {
	case block.StatCount:
		return float64(len(v)), true
	case block.StatFirst:
		return v[0], true
	case block.StatLast:
		return v[len(v)-1], true
	case block.StatSum:
		for _, y := range v {
			x += y
		}
		return x, true
	}
	x = v[0]
	if op == block.StatIncrease {
		x = v[len(v)-1] - v[0]
	}
	for i, y := range v {
		if math.IsNaN(y) || op != block.StatIncrease && y == 0 && math.Signbit(y) {
			return 0, false
		}
		switch {
		case op == block.StatMin && y < x, op == block.StatMax && y > x:
			x = y
		case op == block.StatIncrease && i > 0 && y < v[i-1]:
			x += v[i-1]
		}
	}
	return x, true
}

// requireStats holds what stored spans answer, unloaded and loaded, to values.
func requireStats(t *testing.T, r *rand.Rand, p *part.Part, ord uint32, want []float64, times []int64, hint string) {
	at := 0
	for c := p.Spans(ord, math.MinInt64, math.MaxInt64); c.Next(); {
		s := *c.Span()
		for pass := range 2 {
			for range 12 {
				i := r.IntN(s.Count)
				j := i + 1 + r.IntN(s.Count-i)
				switch r.IntN(4) {
				case 0:
					i, j = 0, s.Count
				case 1:
					i = i &^ 255
					j = max(i+1, min(s.Count, j&^255))
				}
				for op := block.StatCount; op <= block.StatIncrease; op++ {
					got, exact := s.Stat(op, i, j)
					if !exact {
						continue
					}
					x, ok := plainStat(op, want[at+i:at+j])
					require.True(t, ok, "%s: op %d of [%d,%d) pass %d: got %v", hint, op, i, j, pass, got)
					require.Equal(t, math.Float64bits(x), math.Float64bits(got), "%s: op %d of [%d,%d) of %d pass %d: got %v, want %v", hint, op, i, j, s.Count, pass, got, x)
				}
			}
			require.NoError(t, s.Load())
		}
		for i := range s.Count {
			require.Equal(t, math.Float64bits(want[at+i]), math.Float64bits(s.Float(i)), "%s: sample %d", hint, at+i)
			require.Equal(t, times[at+i], s.Time(i), "%s: sample %d", hint, at+i)
		}
		at += s.Count
		require.NoError(t, c.Err())
	}
	require.Equal(t, len(want), at, hint)
}

// TestStatsOfMergedParts: whatever a block has been through, parts of any length
// that were copied, joined and coded again, its statistics are those of its values.
func TestStatsOfMergedParts(t *testing.T) {
	const shapes = 11
	seeds := uint64(8)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 7))
		fs := vfs.NewMem()
		walkers := make([]*walker, shapes*2)
		for i := range walkers {
			walkers[i] = &walker{r: r, shape: i % shapes, v: float64(r.IntN(1000)), odd: []int{0, 500}[i/shapes]}
		}
		values, times := make([][]float64, len(walkers)), make([][]int64, len(walkers))
		now, step := day, []int64{1, 1000, 5000}[r.IntN(3)]
		var level []*part.Part
		for k := range 4 + r.IntN(8) {
			n := []int{256, 512, 1024, 1 + r.IntN(700), 256 * (1 + r.IntN(8)), 4096}[r.IntN(6)]
			dir := fmt.Sprint("p", k)
			w, err := part.Create(fs, dir, part.WriterOptions{AllowMonth: true})
			require.NoError(t, err)
			for i, walk := range walkers {
				s := block.Span{Kind: block.KindFloat, Count: n, Start: now, Step: step}
				for q := range n {
					v := walk.next()
					s.Floats = append(s.Floats, v)
					values[i], times[i] = append(values[i], v), append(times[i], now+int64(q)*step)
				}
				require.NoError(t, w.Add(lset(i), &spans{list: []block.Span{s}}))
			}
			_, err = w.Commit(1, 1)
			require.NoError(t, err)
			p, err := part.Open(fs, dir)
			require.NoError(t, err)
			level = append(level, p)
			now += int64(n) * step
			if r.IntN(5) == 0 {
				now += step * int64(r.IntN(3))
			}
		}
		for round := 0; ; round++ {
			if len(level) == 1 {
				idx, err := level[0].Index()
				require.NoError(t, err)
				for i := range walkers {
					ord, ok := idx.Lookup(lset(i))
					require.True(t, ok)
					requireStats(t, r, level[0], ord, values[i], times[i], fmt.Sprintf("seed %d shape %d", seed, i))
				}
				break
			}
			var next []*part.Part
			for from := 0; from < len(level); {
				to := min(len(level), from+1+r.IntN(4))
				next = append(next, mergeAs(t, fs, fmt.Sprintf("m%d-%d", round, from), level[from:to]))
				from = to
			}
			level = next
		}
	}
}

func mergeAs(t *testing.T, fs vfs.FS, dir string, parts []*part.Part) *part.Part {
	w, err := part.Create(fs, dir, part.WriterOptions{AllowMonth: true})
	require.NoError(t, err)
	var inputs []Input
	for _, p := range parts {
		inputs = append(inputs, Input{Part: p})
	}
	require.NoError(t, Run(context.Background().Err, w, inputs, math.MinInt64, math.MaxInt64))
	_, err = w.Commit(1, 1)
	require.NoError(t, err)
	p, err := part.Open(fs, dir)
	require.NoError(t, err)
	return p
}
