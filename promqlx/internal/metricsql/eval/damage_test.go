package eval_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql"
	"github.com/varvedb/varve/promqlx/internal/metricsql/eval"
	"github.com/varvedb/varve/tsdb"
)

// An answer of MetricsQL has no place for a warning: what is left out because it is
// known to be damaged fails each query that would have it, not the first alone.
func TestDamageIsTold(t *testing.T) {
	dir := t.TempDir()
	db, err := tsdb.Open(dir, tsdb.Options{})
	require.NoError(t, err)
	app := tsdb.NewStorage(db).Appender(t.Context())
	for i := range int64(3000) {
		_, err := app.Append(0, labels.FromStrings("__name__", "m"), start-30_000_000+i*10_000, float64(i*i%977))
		require.NoError(t, err)
	}
	require.NoError(t, app.Commit())
	require.NoError(t, db.ForceFlush(t.Context()))
	require.NoError(t, db.Close())
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "data" {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			data[40] ^= 1 // of the first block
			err = os.WriteFile(path, data, 0o600)
		}
		return err
	}))

	db, err = tsdb.Open(dir, tsdb.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	e, err := metricsql.Parse("count_over_time(m[10h])")
	require.NoError(t, err)
	for range 3 {
		p := eval.Params{DB: db, Scope: at(start), Memory: &eval.Memory{}, Now: time.Now}
		_, err = eval.Run(context.Background(), eval.Prepare(e), p)
		require.ErrorContains(t, err, "corrupt")
		_, err = eval.Raw(context.Background(), selectorOf(t, "m"), eval.Params{DB: db, Scope: eval.Scope{Start: start - 40_000_000, End: start, Step: 1}, Memory: &eval.Memory{}})
		require.ErrorContains(t, err, "corrupt")
	}
}

func selectorOf(t *testing.T, text string) *mql.MetricExpr {
	e, err := metricsql.Parse(text)
	require.NoError(t, err)
	return e.(*mql.MetricExpr)
}
