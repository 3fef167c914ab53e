package tsdb_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/tsdbtest"
)

func TestGenerationChanges(t *testing.T) {
	ctx := context.Background()
	db := openStore(t, tsdb.Options{})
	lset := labels.FromStrings("__name__", "m")
	type span struct{ mint, maxt int64 }
	spans := []span{{t0, t0 + 3600_000}, {t0 + 4*3600_000, t0 + 5*3600_000}, {t0, t0 + day}, {math.MinInt64, math.MaxInt64}, {t0 + 40*day, t0 + 41*day}}
	old := make([]uint64, len(spans))
	// changed tells for which of spans the number is another.
	changed := func() (out []int) {
		for i, s := range spans {
			g := db.Generation(s.mint, s.maxt)
			require.Equal(t, g, db.Generation(s.mint, s.maxt), "while nothing happens")
			if g != old[i] {
				out = append(out, i)
			}
			old[i] = g
		}
		return out
	}
	changed()
	require.Empty(t, changed())
	add(t, db, lset, tsdbtest.Sample{T: t0 + 1000, V: 1})
	require.Equal(t, []int{0, 2, 3}, changed())
	add(t, db, lset, tsdbtest.Sample{T: t0 + 4*3600_000, V: 1})
	require.Equal(t, []int{1, 2, 3}, changed())
	add(t, db, lset, tsdbtest.Sample{T: t0 + 500, V: 1})
	require.Equal(t, []int{0, 2, 3}, changed(), "late")
	add(t, db, lset, tsdbtest.Sample{T: t0 + 1, V: 1}, tsdbtest.Sample{T: t0 + 40*day, V: 1})
	require.Equal(t, []int{0, 2, 3, 4}, changed())
	require.NoError(t, db.ForceFlush(ctx))
	require.Empty(t, changed(), "flush")
	add(t, db, lset, tsdbtest.Sample{T: t0 + 5*3600_000, V: 1})
	require.Equal(t, []int{1, 2, 3}, changed())
	require.NoError(t, db.ForceMerge(ctx))
	require.Empty(t, changed(), "merge")
	require.NoError(t, db.Delete(ctx, t0, t0+1, labels.MustNewMatcher(labels.MatchEqual, "__name__", "m")))
	require.Equal(t, []int{0, 2, 3}, changed(), "delete")
	require.NoError(t, db.CleanTombstones(ctx))
	require.Empty(t, changed(), "cleaned up")
	require.NoError(t, db.Delete(ctx, math.MinInt64, math.MaxInt64, labels.MustNewMatcher(labels.MatchEqual, "__name__", "other")))
	require.Equal(t, []int{0, 1, 2, 3, 4}, changed(), "delete of all times")
	b := db.Batch()
	s, err := b.Series(lset)
	require.NoError(t, err)
	require.NoError(t, b.Float(s, 0, t0, 1))
	b.Discard()
	require.Empty(t, changed(), "discarded")
	require.NotEqual(t, db.Generation(t0-day, t0), db.Generation(t0+1, t0), "an empty range")
}

func TestGenerationOfRetention(t *testing.T) {
	db := openStore(t, tsdb.Options{Retention: time.Hour})
	now := time.Now().UnixMilli()
	require.NotEqual(t, db.Generation(0, now), db.Generation(0, now), "what is too old changes all the time")
	require.Equal(t, db.Generation(now-1000, now), db.Generation(now-1000, now))
}

func TestGenerationOfDamage(t *testing.T) {
	mem := vfs.NewMem()
	opts := tsdb.Options{FS: mem}
	db := openStore(t, opts)
	for i := range int64(3000) {
		add(t, db, labels.FromStrings("__name__", "m"), tsdbtest.Sample{T: t0 + i*1000, V: math.Sqrt(float64(i))})
	}
	require.NoError(t, db.Close())
	spoil(t, mem, path.Join("store", "parts", "2023-11", "000000000001"), "data", 200)
	db = openStore(t, opts)
	v, err := db.Select(context.Background(), 0, t0+day)
	require.NoError(t, err)
	defer v.Close()
	before := db.Generation(t0, t0+day)
	require.ErrorIs(t, v.Read(0, 0, math.MaxInt64, &tsdb.Samples{}), tsdb.ErrCorrupt)
	require.NotEqual(t, before, db.Generation(t0, t0+day))
}

// While batches are written, flushed, merged and deleted: as long as a number
// stands, so does what was read after it. For numbers to stand now and then on a
// machine of any speed, an answer lets a writer write one batch, and the later an
// hour, the less is written to it.
func TestGenerationHolds(t *testing.T) {
	ctx := context.Background()
	db := openStore(t, tsdb.Options{})
	stop, turns := make(chan struct{}), make(chan struct{}, 20)
	var others sync.WaitGroup
	for w := range uint64(2) {
		others.Go(func() {
			r := rand.New(rand.NewPCG(w, 1))
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-turns:
				}
				b := db.Batch()
				for k := range 3 {
					s, err := b.Series(labels.FromStrings("__name__", "m", "k", fmt.Sprint(k)))
					if err == nil {
						err = b.Float(s, 0, t0+r.Int64N(1+r.Int64N(20))*3600_000, float64(i))
					}
					if err != nil {
						t.Error(err)
					}
				}
				if err := b.Commit(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	others.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(3 * time.Millisecond):
			}
			err := db.ForceFlush(ctx)
			if i%4 == 3 && err == nil {
				err = db.ForceMerge(ctx)
			}
			if i%4 == 2 && err == nil {
				err = db.Delete(ctx, t0, t0+int64(i%20)*3600_000, labels.MustNewMatcher(labels.MatchEqual, "k", "1"))
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	type answer struct {
		generation uint64
		lines      []string
	}
	kept := map[int64]answer{}
	held := 0
	for start := time.Now(); time.Since(start) < 700*time.Millisecond || held < 20 && time.Since(start) < time.Minute; {
		for hour := range int64(20) {
			mint, maxt := t0+hour*3600_000, t0+hour*3600_000+1000
			select {
			case turns <- struct{}{}:
			default:
			}
			before := db.Generation(mint, maxt)
			lines := dump(t, db, mint, maxt)
			if old, ok := kept[hour]; ok && old.generation == before && db.Generation(mint, maxt) == before {
				require.Equal(t, old.lines, lines, "hour %d", hour)
				held++
			}
			kept[hour] = answer{before, lines}
		}
	}
	close(stop)
	others.Wait()
	t.Log(held, "answers held")
	require.NotZero(t, held)
}
