package promqlx

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

// Each request writes one value to all series, at a new time and anew at an old one,
// and each delete is of all of them. A query sees all of a request or nothing, with all
// of its selectors: what is the same for all series is so in every answer.
func TestQueryIsOfOneMoment(t *testing.T) {
	const start, metrics, filling = int64(1_700_000_000_000), 3, 70 // so many that metrics are in shards of their own
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{Sync: tsdb.SyncOff(), MinFree: -1})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	var stop atomic.Bool
	var rewritten, appended atomic.Int64
	write := func(at int64, v float64) {
		b := db.Batch()
		defer b.Discard()
		for m := range metrics {
			for i := range filling {
				s, err := b.Series(labels.FromStrings("__name__", string(rune('x'+m)), "instance", "a", "job", "b", "i", fmt.Sprint(i)))
				if err == nil && i == 0 {
					err = b.Float(s, 0, at, v)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		}
		if err := b.Commit(context.Background()); err != nil {
			t.Error(err)
		}
	}
	write(start, 0)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := int64(1); !stop.Load(); i++ {
			write(start, float64(i))
			rewritten.Store(i)
		}
	})
	wg.Go(func() {
		for i := int64(1); !stop.Load() && i < 50_000; i++ {
			write(start+i, float64(i))
			appended.Store(i)
			if i%50 == 0 {
				if err := db.Delete(context.Background(), start+i-40, start+i-30, labels.MustNewMatcher(labels.MatchRegexp, "__name__", "x|y|z")); err != nil {
					t.Error(err)
				}
			}
			if i%500 == 0 {
				if err := db.ForceFlush(context.Background()); err != nil {
					t.Error(err)
				}
			}
		}
	})
	defer wg.Wait()
	defer stop.Store(true)
	store := tsdb.NewStorage(db)
	e := newEngine(t, Options{EnabledFeatures: []string{"promql-experimental-functions"}})
	first, late := time.UnixMilli(start), time.UnixMilli(start+60_000)
	for _, q := range []struct {
		text string
		at   time.Time
		want []float64
	}{
		{"x - on (i) y", first, []float64{0}},
		{"x - on (i) z", late, []float64{0}},
		{"max({__name__=~'x|y|z'}) - min({__name__=~'x|y|z'})", late, []float64{0}},
		{"x offset 0s - last_over_time(x[1m])", late, []float64{0}},
		{"count_over_time(x[2m]) - on (i) count_over_time(z[2m])", late, []float64{0}},
		{"sum_over_time(x[2m]) - on (i) sum_over_time(y[1s:10ms] @ " + fmt.Sprintf("%.3f", float64(start+500)/1000) + ") * 0 - on (i) sum_over_time(z[2m])", late, []float64{0}},
		{"sum(max_over_time(x[2m])) - sum(max_over_time(z[2m])) + sum(min_over_time(x[2m])) - sum(min_over_time(y[2m]))", late, []float64{0}},
		{"x + scalar(y) - on (i) z - scalar(z)", first, []float64{0}},
		{"count by (a) (label_replace(x, 'a', 'b', '', '') == on (i) y and on (i) z)", late, []float64{1}},
	} {
		for n, until := 0, time.Now().Add(150*time.Millisecond); n < 10 || time.Now().Before(until); n++ {
			qry, err := e.Instant(context.Background(), store, q.text, QueryOptions{}, q.at)
			require.NoError(t, err, q.text)
			got := qry.Exec(context.Background())
			require.NoError(t, got.Err, q.text)
			v, err := got.Vector()
			require.NoError(t, err)
			require.Equal(t, q.want, values(v), q.text)
			qry.Close()
		}
	}
	require.Greater(t, rewritten.Load(), int64(5))
	require.Greater(t, appended.Load(), int64(5))
}

func values(v promql.Vector) []float64 {
	out := make([]float64, len(v))
	for i, s := range v {
		if out[i] = s.F; math.IsNaN(s.F) {
			out[i] = -1
		}
	}
	return out
}
