package transform_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/metricsql/transform"
)

// grown evaluates a call on 1,000 series m with a label a of 40 bytes, and returns how
// much it asked for.
func grown(t *testing.T, text string, limit int64, ended func() error) (asked int64, err error) {
	t.Helper()
	e, err := mql.Parse(text)
	require.NoError(t, err, text)
	call := e.(*mql.FuncExpr)
	hold := func(n int64) error {
		if asked += n; asked > limit {
			return errors.New("full")
		}
		return nil
	}
	c := &transform.Call{Expr: call, Grid: grid(), Pace: &series.Pace{Ended: ended}, HoldText: hold, Hold: func(n int) error {
		return hold(int64(n) * int64(8*grid().N+300))
	}}
	for _, arg := range call.Args {
		if s, ok := arg.(*mql.StringExpr); ok {
			one := series.Constant(0, grid().N)
			one.Name.Group = s.S
			for i := range one.Values {
				one.Values[i] = math.NaN()
			}
			c.Args = append(c.Args, []*series.Series{one})
			continue
		}
		if n, ok := arg.(*mql.NumberExpr); ok {
			c.Args = append(c.Args, []*series.Series{series.Constant(n.N, grid().N)})
			continue
		}
		var all []*series.Series
		for i := range 1000 {
			s := series.Constant(1, grid().N)
			s.Name.Group = "m.x"
			s.Name.Set("a", fmt.Sprintf("%040d", i))
			s.Name.Set("le", "1")
			all = append(all, s)
		}
		c.Args = append(c.Args, all)
	}
	_, err = transform.Eval(c)
	return asked, err
}

// Functions that make texts and series out of nothing ask for their room, and as soon
// as it is refused they end.
func TestRoom(t *testing.T) {
	const none = int64(1) << 60
	f := func(text string, least, most int64) {
		t.Helper()
		asked, err := grown(t, text, none, nil)
		require.NoError(t, err, text)
		require.GreaterOrEqual(t, asked, least, text)
		require.LessOrEqual(t, asked, most, text)
		if least > 1<<17 {
			asked, err = grown(t, text, least/2, nil)
			require.EqualError(t, err, "full", text)
			require.Less(t, asked, least/2+1<<19, text) // it asks for many series at once
		}
	}
	f(`abs(m)`, 0, 0)
	f(`label_set(m, "b", "c")`, 32_000, 32_000)
	f(`label_set(m, "a", "c")`, 0, 0)
	f(`label_set(m, "a", "")`, 0, 0)
	f(`label_copy(m, "a", "b", "a", "c")`, 64_000, 64_000)
	f(`label_move(m, "a", "b")`, 32_000, 32_000)
	f(`label_map(m, "b", "", "x")`, 32_000, 32_000)
	f(`label_uppercase(m, "a")`, 40_000, 40_000)
	f(`label_join(m, "a", "-", "a", "a", "a")`, 122_000, 122_000)
	f(`label_join(m, "b"`+strings.Repeat(`, "a"`, 101)+`)`, 1000*(32+100*40+99), 1000*(32+100*40+99))
	f(`label_replace(m, "b", "$1$1", "a", "(.*)")`, 112_000, 112_000)
	f(`label_replace(m, "b", "`+strings.Repeat("$1", 3000)+`", "a", "(.*)")`, 1000*(32+3000*40), 1000*(32+3000*40))
	f(`label_transform(m, "a", "0", "`+strings.Repeat("$0", 300)+`")`, 1000*300*30, 1000*350*40)
	f(`label_graphite_group(m, 0, 0, 1)`, 9000, 9000)
	f(`histogram_quantiles("q", 0.1, 0.2, 0.3, 0.4, m)`, 4000*332, 4000*332)
}

func TestEndedInAFunction(t *testing.T) {
	stop := errors.New("stop")
	_, err := grown(t, `label_replace(m, "b", "$1$1", "a", "(.*)")`, 1<<40, func() error { return stop })
	require.ErrorIs(t, err, stop)
}
