package eval_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/budget"
	"github.com/varvedb/varve/promqlx/internal/metricsql"
	"github.com/varvedb/varve/promqlx/internal/metricsql/eval"
)

// TestMemoryIsCounted: what is held at the end is the answer, and what is needed on the
// way is bounded too.
func TestMemoryIsCounted(t *testing.T) {
	db := open(t)
	const points = 1000
	scope := eval.Scope{Start: start - (points-1)*1000, End: start, Step: 1000}
	f := func(text string, series, peak int64) {
		t.Helper()
		p := eval.Params{Scope: scope, Meter: budget.NewPool(budget.Limits{}).Meter()}
		a, err := run(t, db, text, p)
		require.NoError(t, err, text)
		require.Len(t, a.Series, int(series), text)
		const one = points*8 + 300
		require.Equal(t, series*one, p.Meter.Used(), text)
		require.LessOrEqual(t, p.Meter.Peak(), peak*one+peak*one/2, text)
		require.GreaterOrEqual(t, p.Meter.Peak(), peak*one, text)
		p.Meter.Release()

		p.Meter = budget.NewPool(budget.Limits{QueryMemory: peak*one - 1}).Meter()
		_, err = run(t, db, text, p)
		var memory *budget.MemoryError
		require.ErrorAs(t, err, &memory, text)
	}
	f("1", 1, 1)
	f("m", 2, 2)
	f("abs(m) + 1", 2, 3)
	f("time()+time()+time()+time()+time()", 1, 2)
	f("("+strings.Repeat("1,", 99)+"1) == 2", 0, 100)
	f("sum(m) by (job)", 2, 2)
	f("sum(m) without (a)", 2, 2)
	f("count_values_over_time(`v`, m{job=`x`}[1m])", 106, 106)
	f("sum(count_values_over_time(`v`, m{job=`x`}[1m]))", 1, 106)
	f("quantiles_over_time(`q`, 0.1, 0.5, 0.9, m[1m:10s])", 6, 9) // three of them arguments
}

// TestTextsAreCounted: labels that functions make count until the query ends, whatever
// becomes of their series.
func TestTextsAreCounted(t *testing.T) {
	db := open(t)
	join := "sum(label_join(m, `b`, `" + strings.Repeat("-", 1000) + "`" + strings.Repeat(", `a`", 1001) + "))"
	text := join + strings.Repeat(" + "+join, 4)
	p := eval.Params{Scope: at(start), Meter: budget.NewPool(budget.Limits{}).Meter()}
	a, err := run(t, db, text, p)
	require.NoError(t, err)
	require.Len(t, a.Series, 1)
	require.GreaterOrEqual(t, p.Meter.Used(), int64(5*2*1_000_000))
	require.Less(t, p.Meter.Used(), int64(5*2*1_010_000))
	p.Meter.Release()
	require.Zero(t, p.Meter.Used())

	p.Meter = budget.NewPool(budget.Limits{QueryMemory: 9_000_000}).Meter()
	_, err = run(t, db, text, p)
	var memory *budget.MemoryError
	require.ErrorAs(t, err, &memory)
}

// TestLongLoopsStop: a function that looks at many samples in each of many windows of
// one series is given up in its midst.
func TestLongLoopsStop(t *testing.T) {
	db := open(t)
	scope := eval.Scope{Start: start - 20_000*10, End: start, Step: 10}
	for _, text := range []string{
		"quantile_over_time(0.9, m[1h])", "sum(stddev_over_time(m[1h]))", "count_values_over_time(`v`, m[1h])",
		"sum_over_time((m/7)[1h:5s])",
	} {
		e, err := metricsql.Parse(text)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Millisecond, cancel)
		began := time.Now()
		_, err = eval.Run(ctx, eval.Prepare(e), eval.Params{DB: db, Scope: scope, Memory: &eval.Memory{}})
		require.ErrorIs(t, err, context.Canceled, text)
		require.Less(t, time.Since(began), 2*time.Second, text) // some hundred times what it takes
	}
}
