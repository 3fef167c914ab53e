package part

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// flat is the floats of a cursor; ok is false if it has others.
func flat(t testing.TB, c block.Cursor) (out []block.Sample, ok bool) {
	t.Helper()
	ok = true
	for c.Next() {
		s := c.Span()
		ok = ok && s.Kind == block.KindFloat
		for i := 0; ok && i < s.Count; i++ {
			out = append(out, block.Sample{T: s.Time(i), ST: s.StartTime(i), F: s.Float(i)})
		}
	}
	require.NoError(t, c.Err())
	return out, ok
}

func requireSamples(t testing.TB, want, got []block.Sample) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, []any{want[i].T, want[i].ST, math.Float64bits(want[i].F)}, []any{got[i].T, got[i].ST, math.Float64bits(got[i].F)})
	}
}

// TestFloatsEqualCursor reads parts of both formats into columns.
func TestFloatsEqualCursor(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 77))
		list := randomSeries(r, 40, 200)
		fs := vfs.NewMem()
		opts := WriterOptions{BlockSamples: []int{0, 20}[seed%2]}
		if seed < 2 {
			writeTables(t, fs, "a", opts, list)
		} else {
			writePart(t, fs, "a", opts, list)
		}
		p := openPart(t, fs, "a")
		floats := 0
		for o := range uint32(p.Meta().Series) {
			for k := range 6 {
				mint, maxt := int64(math.MinInt64), int64(math.MaxInt64)
				if k > 0 {
					mint = dayStart + r.Int64N(20000)
					maxt = mint + r.Int64N(10000)
				}
				want, plain := flat(t, p.Cursor(o, mint, maxt))
				got := block.Floats{Starts: true, Stale: true}
				ok, err := p.AppendFloats(o, mint, maxt, k%2 == 0, &got)
				require.NoError(t, err)
				require.Equal(t, plain, ok)
				last, found, ok, err := p.LastFloat(o, mint, maxt, k%2 == 0)
				require.NoError(t, err)
				if ok && plain {
					require.Equal(t, len(want) > 0, found)
				}
				if !plain {
					continue
				}
				got.Settle()
				got.Pad()
				floats += len(want)
				samples := []block.Sample{}
				for i := range got.T {
					samples = append(samples, block.Sample{T: got.T[i], ST: got.S[i], F: got.F[i]})
				}
				requireSamples(t, want, samples)
				if ok && found {
					requireSamples(t, want[len(want)-1:], []block.Sample{last})
				}
			}
		}
		require.Greater(t, floats, 1000)
		require.NoError(t, p.Close())
	}
}

// requireFlatRead reads all of a part whose files are not what was written into
// columns: that tells of damage or gives samples.
func requireFlatRead(t *testing.T, p *Part) {
	var into block.Floats
	for o := range uint32(min(p.Meta().Series, 100)) {
		for _, maxt := range []int64{math.MaxInt64, dayStart + 700} {
			_, err := p.AppendFloats(o, math.MinInt64, maxt, false, &into)
			require.True(t, err == nil || errors.Is(err, block.ErrCorrupt) || isVersion(err), "%v", err)
			require.Len(t, into.F, len(into.T))
			into.Truncate(0)
			_, _, _, err = p.LastFloat(o, math.MinInt64, maxt, false)
			require.True(t, err == nil || errors.Is(err, block.ErrCorrupt) || isVersion(err), "%v", err)
		}
	}
}
