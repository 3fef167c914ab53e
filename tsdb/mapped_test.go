//go:build linux

package tsdb_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

// An index that is cut off under the hands of those who have it mapped is damage
// like any other, whatever is asked of the store.
func TestIndexCutWhileMapped(t *testing.T) {
	ctx := context.Background()
	regex := labels.MustNewMatcher(labels.MatchRegexp, "host", "host-.*7")
	f := func(name string, job func(db *tsdb.DB) error) {
		t.Helper()
		dir := filepath.ToSlash(t.TempDir())
		opts := quiet()
		opts.FS = nil
		opts.IndexCacheBytes = -1
		db, err := tsdb.Open(dir, opts)
		require.NoError(t, err)
		b := db.Batch()
		for i := range 8000 {
			s, err := b.Series(labels.FromStrings("__name__", "m", "host", fmt.Sprintf("host-%d-%x", i, i*i), "job", fmt.Sprint("j", i%50)))
			require.NoError(t, err)
			require.NoError(t, b.Float(s, 0, someTime, float64(i)))
			if i%1000 == 0 {
				require.NoError(t, b.Exemplar(s, exemplar.Exemplar{Labels: labels.FromStrings("a", "b"), Ts: someTime, HasTs: true}))
			}
		}
		require.NoError(t, b.Commit(ctx))
		require.NoError(t, db.ForceFlush(ctx))
		found, err := filepath.Glob(filepath.Join(dir, "parts/*/*/index"))
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.NoError(t, os.Truncate(found[0], 4096))
		err = job(db)
		require.ErrorIs(t, err, tsdb.ErrCorrupt, name)
		_ = db.Close()
	}
	view := func(use func(v *tsdb.View)) func(db *tsdb.DB) error {
		return func(db *tsdb.DB) error {
			v, err := db.Select(ctx, 0, math.MaxInt64)
			if err != nil {
				return err
			}
			defer v.Close()
			use(v)
			return v.Err()
		}
	}
	f("select", func(db *tsdb.DB) error { _, err := db.Select(ctx, 0, math.MaxInt64, regex); return err })
	f("labels", view(func(v *tsdb.View) {
		for i := range v.Len() {
			v.Labels(i)
		}
	}))
	f("column", view(func(v *tsdb.View) { v.Column("host") }))
	f("names", func(db *tsdb.DB) error { _, err := db.LabelNames(ctx, 0, math.MaxInt64, regex); return err })
	f("all names", func(db *tsdb.DB) error { _, err := db.LabelNames(ctx, 0, math.MaxInt64); return err })
	f("values", func(db *tsdb.DB) error { _, err := db.LabelValues(ctx, "host", 0, math.MaxInt64); return err })
	f("exemplars", func(db *tsdb.DB) error {
		_, err := db.Exemplars(ctx, 0, math.MaxInt64, []*labels.Matcher{regex})
		return err
	})
	f("cardinality", func(db *tsdb.DB) error { _, err := db.Cardinality(ctx, 0, math.MaxInt64, 10); return err })
	f("delete", func(db *tsdb.DB) error { return db.Delete(ctx, 0, math.MaxInt64, regex) })
	f("merge", func(db *tsdb.DB) error {
		require.NoError(t, put(db, "a", 0, someTime, 1))
		return db.ForceMerge(ctx)
	})
}
