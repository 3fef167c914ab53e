package part

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// Payloads that are kept, of which there is room for all or for few, change nothing
// about what is read, by many at once.
func TestKeptPayloads(t *testing.T) {
	for _, limit := range []int{1 << 20, 20 << 10} {
		fs := vfs.NewMem()
		m := writePart(t, fs, "a", WriterOptions{}, tsbs(10, 4000))
		plain, kept := openPart(t, fs, "a"), openPart(t, fs, "a")
		c := NewPayloads(limit)
		kept.UsePayloads(c)
		var readers sync.WaitGroup
		for seed := range uint64(3) {
			readers.Go(func() {
				r := rand.New(rand.NewPCG(seed, 1))
				var want, got block.Floats
				for range 600 {
					o := uint32(r.Uint64N(m.Series))
					ok, err := plain.AppendFloats(o, math.MinInt64, math.MaxInt64, false, &want)
					ok2, err2 := kept.AppendFloats(o, math.MinInt64, math.MaxInt64, false, &got)
					if !ok || !ok2 || err != nil || err2 != nil || len(got.T) != 4000 || !block.EqualBits(want.F, got.F) {
						t.Errorf("series %d: %v, %v, %d samples", o, err, err2, len(got.T))
					}
					want.Truncate(0)
					got.Truncate(0)
				}
			})
		}
		readers.Wait()
		require.Positive(t, c.Bytes())
		require.LessOrEqual(t, c.Bytes(), limit)
		require.NoError(t, kept.Close())
		require.Zero(t, c.Bytes())
		require.NoError(t, plain.Close())
	}
}
