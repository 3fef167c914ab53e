package promqlx

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

func TestMemo(t *testing.T) {
	m := memo[string, int]{max: 10}
	_, ok := m.get("a")
	require.False(t, ok)
	m.put("a", 1, 4)
	m.put("b", 2, 4)
	m.put("b", 3, 4) // counts once
	m.put("huge", 4, 6)
	v, ok := m.get("b")
	require.Equal(t, []any{3, true}, []any{v, ok})
	_, ok = m.get("huge")
	require.False(t, ok, "it would push out too much")

	m.put("c", 5, 4) // the first of a new generation
	v, ok = m.get("a")
	require.Equal(t, []any{1, true}, []any{v, ok}, "moves to the young generation")
	m.put("d", 6, 4) // the next generation
	_, ok = m.get("b")
	require.False(t, ok, "nobody asked for it for a generation")
	for k, want := range map[string]int{"a": 1, "c": 5, "d": 6} {
		v, ok := m.get(k)
		require.Equal(t, []any{want, true}, []any{v, ok}, k)
	}
}

// A remembered plan is that of a new engine, whatever was asked before.
func TestPlansAreRemembered(t *testing.T) {
	const hour = time.Hour
	start := time.Unix(1_700_000_000, 0)
	times := []struct {
		start     time.Time
		span      time.Duration
		step      time.Duration
		lookback  time.Duration
		different bool // from the one above
	}{
		{start, hour, time.Minute, 0, true},
		{start.Add(12345 * time.Millisecond), hour, time.Minute, 0, false},
		{start, 2 * hour, time.Minute, 0, true},
		{start, 2 * hour, 2 * time.Minute, 0, true},
		{start, 2 * hour, 2 * time.Minute, time.Second, false},
		{start, 0, 0, 0, true},
		{start.Add(hour), 0, 0, 0, false},
	}
	explained := func(e *Engine, text string, at int) string {
		c := times[at]
		var qry Query
		var err error
		if c.step == 0 {
			qry, err = e.Instant(t.Context(), newNoData(nil), text, QueryOptions{LookbackDelta: c.lookback}, c.start)
		} else {
			qry, err = e.Range(t.Context(), newNoData(nil), text, QueryOptions{LookbackDelta: c.lookback}, c.start, c.start.Add(c.span), c.step)
		}
		require.NoError(t, err, text)
		defer qry.Close()
		text = qry.(Explainer).Explain()
		require.NoError(t, qry.Exec(t.Context()).Err)
		require.Equal(t, text, qry.(Explainer).Explain(), "a plan stays as it is")
		return text
	}
	remembering := newEngine(t, Options{EnabledFeatures: []string{"promql-experimental-functions", "promql-duration-expr"}})
	plans := func() int { return len(remembering.evaluator.(*own).plans.mu.young) }
	for _, text := range []string{
		"sum by (a) (rate(b[5m]))", "a / a offset 90m", "range() + step()", "sum_over_time(a[step() + 1m:5m]) > bool 1",
		"start() + a", "a - a @ end()", "a @ 7 + max_over_time(a[10m:] @ start())", "vector(end())",
	} {
		timeless := !strings.Contains(text, "@") && !strings.Contains(text, "start()") && !strings.Contains(text, "end()")
		for at, c := range times {
			before := plans()
			want := explained(newEngine(t, Options{EnabledFeatures: remembering.opts.EnabledFeatures}), text, at)
			require.Equal(t, want, explained(remembering, text, at), "%s, %d", text, at)
			require.Equal(t, timeless && c.different, plans() > before, "%s, %d", text, at)
			require.Equal(t, want, explained(remembering, text, at), "%s, %d, again", text, at)
		}
	}
	require.NotEmpty(t, remembering.parsed.mu.young)
}

func TestTimesThatCannotBeShifted(t *testing.T) {
	require.True(t, whole(time.Unix(-5, 1e6)))
	require.False(t, whole(time.Unix(5, 1)))
	require.False(t, whole(time.Unix(1<<41, 0)))
	require.False(t, whole(time.Unix(-1<<41, 0)))
}

// What is shared by queries stays as it is, and a text that is a part of a request
// is not kept.
func TestExpressionsAreShared(t *testing.T) {
	e := newEngine(t, Options{})
	request := "query=" + "sum(a) + 1" + "&time=7"
	text := request[6:16]
	for range 3 {
		_, _, err := execute(t, e, newNoData(nil), text)
		require.NoError(t, err)
	}
	require.Len(t, e.parsed.mu.young, 1)
	for kept, r := range e.parsed.mu.young {
		require.Equal(t, text, kept)
		again, err := parser.NewParser(parser.Options{}).ParseExpr(text)
		require.NoError(t, err)
		require.Equal(t, again, r.value)
	}
}
