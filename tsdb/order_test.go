package tsdb_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// oddLabels draws label sets whose names and values are prefixes of each other,
// of any length, and of bytes at both ends of their range.
func oddLabels(r *rand.Rand) labels.Labels {
	text := func(name bool) string {
		s := []string{"a", "b", "aa", "ab", "a\x01", "Z", "_", "ä", "\x7f", "a.b", "\U0010ffff", "__name__", "a/"}[r.IntN(13)]
		if n := r.IntN(30); n == 0 {
			s = strings.Repeat(s, 254/len(s)+r.IntN(3))
		} else if n < 10 {
			s += s[:1]
		}
		if !name && r.IntN(3) == 0 {
			s = fmt.Sprint(r.IntN(50))
		}
		return strings.ToValidUTF8(s, "x")
	}
	b := labels.NewScratchBuilder(8)
	seen := map[string]bool{}
	for range 1 + r.IntN(7) {
		if name := text(true); !seen[name] {
			seen[name] = true
			b.Add(name, text(false))
		}
	}
	b.Sort()
	return b.Labels()
}

// Whatever label sets there are, many or few, in memory, parts and both: a View
// has each once, in label order, with its own samples.
func TestLabelOrderOfOddLabels(t *testing.T) {
	ctx := context.Background()
	seeds, share := uint64(3), 1
	if testing.Short() || raceDetector {
		seeds, share = 1, 5
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		db := openOn(t, vfs.NewMem(), quiet())
		want := map[string]float64{}
		check := func() {
			t.Helper()
			v, err := db.Select(ctx, 0, math.MaxInt64)
			require.NoError(t, err)
			defer v.Close()
			require.Equal(t, len(want), v.Len())
			last := labels.EmptyLabels()
			for i := range v.Len() {
				l := v.Labels(i)
				require.Negative(t, labels.Compare(last, l), "%s before %s", last, l)
				last = l
				c := v.Cursor(i, 0, math.MaxInt64)
				require.True(t, c.Next())
				x := -1.0
				for ok := true; ok; ok = c.Next() {
					x = c.Span().Float(c.Span().Count - 1)
				}
				require.Equal(t, want[l.String()], x, "%s", l)
			}
		}
		for round := range 4 {
			b := db.Batch()
			for i := range []int{300, 2500, 800, 4000}[round] / share {
				l := oddLabels(r)
				s, err := b.Series(l)
				require.NoError(t, err)
				x := float64(round*10000 + i)
				require.NoError(t, b.Float(s, 0, someTime+int64(x), x))
				want[l.String()] = x
			}
			require.NoError(t, b.Commit(ctx))
			check()
			switch round {
			case 0, 1:
				require.NoError(t, db.ForceFlush(ctx))
			case 2:
				require.NoError(t, db.ForceMerge(ctx))
			}
			check()
		}
		require.NoError(t, db.ForceMerge(ctx))
		check()
		require.NoError(t, db.Close())
	}
}
