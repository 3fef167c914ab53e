package binop_test

import (
	"errors"
	"fmt"
	"testing"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql/binop"
	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// TestOperatorsStop: operators that look at many series for each of many end with the
// query.
func TestOperatorsStop(t *testing.T) {
	ended := errors.New("ended")
	for _, text := range []string{
		"a or on() b", "a default on() b", "a == (b, c)", "a + b", "a * on() group_left(k) b",
	} {
		e, err := mql.Parse(text)
		require.NoError(t, err)
		side := func(name string) (all []*series.Series) {
			for i := range 1200 {
				s := series.Constant(float64(i), 500)
				s.Name.Add(name, fmt.Sprint(i))
				if name == "k" {
					s.Name.Add("x", fmt.Sprint(i))
				}
				all = append(all, s)
			}
			return all
		}
		right := side("k")
		if text == "a + b" {
			right = side("i")
		}
		asked := 0
		pace := &series.Pace{Ended: func() error { asked++; return ended }}
		_, err = binop.Eval(&binop.Call{Expr: e.(*mql.BinaryOpExpr), Left: side("i"), Right: right, Grid: row.Grid{Step: 1, N: 500}, Pace: pace})
		require.ErrorIs(t, err, ended, text)
		require.Equal(t, 1, asked)
	}
}
