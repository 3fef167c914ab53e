package read_test

import (
	"math"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/read"
	"github.com/varvedb/varve/tsdb"
)

func openDB(t *testing.T) *tsdb.DB {
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{MinFree: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func write(t *testing.T, db *tsdb.DB, lset labels.Labels, tv ...float64) {
	b := db.Batch()
	s, err := b.Series(lset)
	require.NoError(t, err)
	for i := 0; i < len(tv); i += 2 {
		require.NoError(t, b.Float(s, 0, int64(tv[i]), tv[i+1]))
	}
	require.NoError(t, b.Commit(t.Context()))
}

// Samples from several flushes and the head are one series in order.
func TestReadFromTheStore(t *testing.T) {
	db := openDB(t)
	rrs := labels.FromStrings("__name__", "rrs")
	write(t, db, rrs, 10, 1, 30, 3)
	require.NoError(t, db.ForceFlush(t.Context()))
	write(t, db, rrs, 20, 2)
	require.NoError(t, db.ForceFlush(t.Context()))
	write(t, db, rrs, 40, 4)

	b := db.Batch()
	s, err := b.Series(labels.FromStrings("__name__", "h"))
	require.NoError(t, err)
	hs := tsdbutil.GenerateTestHistograms(5)
	want := make([]point, 0, len(hs))
	for i, h := range hs {
		want = append(want, point{t: int64(i), v: math.Float64bits(h.Sum), h: h.String()})
		require.NoError(t, b.Histogram(s, 0, int64(i), h))
	}
	require.NoError(t, b.Commit(t.Context()))

	h := read.New(read.FromDB(db), read.Options{})
	both(t, func(t *testing.T, typ prompb.ReadRequest_ResponseType) {
		got := fetch(t, h, typ, ask(math.MinInt64, math.MaxInt64, eq("__name__", "rrs")), ask(20, 30, eq("__name__", "rrs")), ask(0, 100, eq("__name__", "h")))
		require.Equal(t, [][]series{
			{{`{__name__="rrs"}`, pts(10, 1, 20, 2, 30, 3, 40, 4)}},
			{{`{__name__="rrs"}`, pts(20, 2, 30, 3)}},
			{{`{__name__="h"}`, want}},
		}, got)
	})
}
