package promqlx

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

// Of several errors the one is told that Prometheus' engine, which evaluates arguments in
// their order, comes to first.
func TestFirstError(t *testing.T) {
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	store := tsdb.NewStorage(db)
	app := store.Appender(t.Context())
	for _, a := range []string{"1", "2"} {
		_, err := app.Append(0, labels.FromStrings("__name__", "m", "a", a), 1000, 1)
		require.NoError(t, err)
	}
	require.NoError(t, app.Commit())
	at := time.Unix(1, 0)
	set := []string{"promql-experimental-functions"}
	ours := newEngine(t, Options{EnabledFeatures: set})
	theirs := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1000, Timeout: time.Minute,
		Parser: parser.NewParser(parser.Options{EnableExperimentalFunctions: true}),
	})
	t.Cleanup(func() { require.NoError(t, theirs.Close()) })
	const nan, many = "limitk(NaN, m)", "scalar(m + on () m)"
	for _, text := range []string{
		"clamp(" + nan + ", 100, " + many + ")", "clamp(m, " + many + ", scalar(" + nan + "))", "clamp_max(" + nan + ", " + many + ")",
		"clamp(m, 1, " + many + ")", "round(" + nan + ", " + many + ")", "histogram_quantile(" + many + ", " + nan + ")",
		"topk(" + many + ", " + nan + ")", nan + " + on () (m + on () m)", "(m + on () m) + on () " + nan,
		many + " + " + nan, nan + " + " + many, "predict_linear(" + nan + "[1m:10s], " + many + ")", "quantile_over_time(" + many + ", " + nan + "[1m:10s])",
		"predict_linear(m[1m], " + many + ")", "sum(" + nan + ") + sum(m + on () m)", "-" + nan + " > bool " + many, nan + " and " + "(m + on () m)",
		"absent(" + nan + ") * " + many, "timestamp(" + nan + ") ^ " + many, "sort(" + nan + ") or (m + on () m)",
		"label_replace(" + nan + ", 'x', '$1', 'a', '(.*)') + " + many, "clamp(clamp(" + nan + ", 1, 2), " + many + ", 3)",
	} {
		want, err := theirs.NewInstantQuery(t.Context(), store, nil, text, at)
		require.NoError(t, err, text)
		res := want.Exec(t.Context())
		require.Error(t, res.Err, text)
		got, err := ours.Instant(t.Context(), store, text, QueryOptions{}, at)
		require.NoError(t, err, text)
		require.EqualError(t, got.Exec(t.Context()).Err, res.Err.Error(), text)
		got.Close()
		want.Close()
	}
}
