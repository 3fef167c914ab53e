package transform_test

import (
	"errors"
	"fmt"
	"testing"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/metricsql/transform"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// TestFunctionsStop: functions end with the query, in the midst of many series.
func TestFunctionsStop(t *testing.T) {
	const steps = 1000
	ended := errors.New("ended")
	for _, text := range []string{
		"abs(m)", "range_quantile(0.5, m)", "range_mad(m)", "running_sum(m)", "histogram_quantile(0.9, m)",
		"histogram_stdvar(m)", "buckets_limit(10, m)", "clamp_max(m, 1)", "keep_last_value(m)",
	} {
		e, err := mql.Parse(text)
		require.NoError(t, err)
		call := e.(*mql.FuncExpr)
		args := make([][]*series.Series, len(call.Args))
		for i, arg := range call.Args {
			if n, ok := arg.(*mql.NumberExpr); ok {
				args[i] = []*series.Series{series.Constant(n.N, steps)}
				continue
			}
			for k := range 1500 {
				s := series.Constant(float64(k), steps)
				s.Name.Add("le", fmt.Sprint(k))
				args[i] = append(args[i], s)
			}
		}
		asked := 0
		pace := &series.Pace{Ended: func() error { asked++; return ended }}
		_, err = transform.Eval(&transform.Call{Expr: call, Grid: row.Grid{Step: 1, N: steps}, Args: args, Pace: pace})
		require.ErrorIs(t, err, ended, text)
		require.Equal(t, 1, asked)
	}
}
