package aggr_test

import (
	"errors"
	"fmt"
	"testing"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql/aggr"
	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// TestEveryAggregateStops: those that sort at each step do not go through all steps
// once the query has ended.
func TestEveryAggregateStops(t *testing.T) {
	const steps = 2000
	ended := errors.New("ended")
	f := func(text string) {
		t.Helper()
		e, err := mql.Parse(text)
		require.NoError(t, err)
		call := e.(*mql.AggrFuncExpr)
		args := make([][]*series.Series, len(call.Args))
		for i, arg := range call.Args {
			switch arg := arg.(type) {
			case *mql.NumberExpr:
				args[i] = []*series.Series{series.Constant(arg.N, steps)}
			default:
				for k := range 400 {
					s := series.Constant(float64(k*7919%400), steps)
					s.Name.Add("a", fmt.Sprint(k))
					args[i] = append(args[i], s)
				}
			}
		}
		asked := 0
		pace := &series.Pace{Ended: func() error { asked++; return ended }}
		_, err = aggr.Eval(&aggr.Call{Expr: call, Grid: row.Grid{Step: 1, N: steps}, Args: args, Pace: pace})
		require.ErrorIs(t, err, ended, text)
		require.Equal(t, 1, asked, "it is told once")
	}
	for _, text := range []string{
		"topk(3, m)", "bottomk(3, m)", "quantile(0.9, m)", "median(m)", "mode(m)", "distinct(m)", "mad(m)",
		"outliers_iqr(m)", "outliers_mad(3, m)", "outliersk(3, m)", "sum(m)", "stddev(m)", "topk_avg(2, m)",
	} {
		f(text)
	}
}
