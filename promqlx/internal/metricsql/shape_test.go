package metricsql_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql"
	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// byShape parses a text by its shape; ok is false if it has none.
func byShape(t *testing.T, text string) (ok bool) {
	t.Helper()
	shape, values, ok := metricsql.Cut(text)
	if !ok {
		return false
	}
	common, err := metricsql.Parse(shape)
	want, wantErr := metricsql.Parse(text)
	if err != nil {
		return false // whose error nobody sees
	}
	require.NoError(t, wantErr, text)
	before := string(common.AppendString(nil))
	got, ok := metricsql.Fill(common, values)
	require.True(t, ok, text)
	if !strings.Contains(string(want.AppendString(nil)), "NaN") { // which differs from itself
		require.Equal(t, want, got, text)
	}
	require.Equal(t, string(want.AppendString(nil)), string(got.AppendString(nil)))
	require.Equal(t, before, string(common.AppendString(nil)), "the common expression stays as it is")
	return true
}

func TestCut(t *testing.T) {
	f := func(want, text string, values ...string) {
		t.Helper()
		shape, got, ok := metricsql.Cut(text)
		require.True(t, ok, text)
		require.Equal(t, want, shape)
		require.Equal(t, values, got)
		require.True(t, byShape(t, text))
	}
	f(`m{a="%aa%"}`, `m{a="b"}`, "b")
	f(`m{a="%ab%",c=~'%aa%' or d!~ "%ab%" } - {e != "%ab%"}`, `m{a="y",c=~'x|z.*' or d!~ "y" } - {e != "y"}`, "x|z.*", "y")
	f(`max(max_over_time(cpu{hostname=~'%aa%'}[1m])) by (__name__)`, `max(max_over_time(cpu{hostname=~'host_1|host_22'}[1m])) by (__name__)`, "host_1|host_22")
	f(`{__name__=~"%aa%"}[5m:1m] offset 1h @ end()`, `{__name__=~"m"}[5m:1m] offset 1h @ end()`, "m")
	f(`m{a="%aa%"} + {}`, `m{a="b"} + {}`, "b")
	f(`sum(m{a="%aa%"}) without (running)`, `sum(m{a="inf"}) without (running)`, "inf")
	f(`m{a=~"%aa%"}`, `m{a=~"(x|y)+[0-9]{3}"}`, "(x|y)+[0-9]{3}")

	for _, text := range []string{
		"m", `m{a=""}`, `m{a="\x41"}`, `m{a="b",c=~""}`, `m{"b"}`, `m{a="b"+"c"}`, `m{a="é"}`, "m{a=\"b\nc\"}", `"a" == "b"`, `label_set(m{a="b"}, "c", "d")`,
		`m{a=~"("}`, `m{a=~"x**"}`, `WITH (x = {a="b"}) m{x}`, `ru(m{a="b"}, 1)`, `m{a="b"} # {c="d"}`, `m{a\="b"}`, `m{a="it's"}`, "m{a=`b'`}",
		// What the parser reads as something else when it reads its own text.
		`{__name__="inf"} + m{a="b"}`, `{__name__ != "sum"} default m{a="b"}`, `m{a="b"} + {__name__="on"}[5m]`,
		`m{a="` + strings.Repeat("x", 5000) + `"}`,
	} {
		_, _, ok := metricsql.Cut(text)
		require.False(t, ok, text)
	}
	for _, text := range []string{`m{a="b"`, `m{a=="b"}`, `m{a="b" o}`, `nosuch(m{a="b"})`} {
		require.False(t, byShape(t, text), text)
	}
	many := func(n int) string {
		var b strings.Builder
		b.WriteString("m{")
		for i := range n {
			fmt.Fprintf(&b, "a!='%d',", i)
		}
		return b.String() + "}"
	}
	require.True(t, byShape(t, many(300)))
	_, _, ok := metricsql.Cut(many(500)) // which is long
	require.False(t, ok)
}

// TestShapesOfRandomTexts: an expression made by the shape of a text is what the parser
// makes of the text.
func TestShapesOfRandomTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	value := func() string {
		q := pick(`"`, `'`, "`")
		return q + pick("a", "b", "x|y", ".*", ".+", "", "a.b", "%aa%", "(a|b)c", "m", "host_1|host_2", "[", `a\.b`, "é", "inf", "sum", "on", "NaN") + q
	}
	filters := func() string {
		var b strings.Builder
		for i := range 1 + r.IntN(4) {
			if i > 0 {
				b.WriteString(pick(",", ", ", " or "))
			}
			b.WriteString(pick("a", "b", "__name__", "c") + pick("=", "!=", "=~", "!~", " = ", "=~ ") + value())
		}
		return pick("m", "", "n.o", "{} + m") + "{" + b.String() + "}"
	}
	var expr func(depth int) string
	expr = func(depth int) string {
		if depth == 0 {
			return filters() + pick("", "[5m]", "[1h:5m]", " offset 5m", " @ 100")
		}
		e := expr(depth - 1)
		switch r.IntN(7) {
		case 0:
			return "sum(" + e + ") by (a, b) limit 3"
		case 1:
			return "rate(" + e + ") keep_metric_names"
		case 2:
			return e + pick(" + ", " == ", " / on (a) group_left (b) ", " or ", " default ", " > bool ") + expr(depth-1)
		case 3:
			return "quantiles(" + e + ", 0.5, 0.9)"
		case 4:
			return "(" + e + ", 5, " + expr(0) + ")"
		case 5:
			return "label_set(" + e + `, "a", ` + value() + ")"
		}
		return "time() > " + e
	}
	shaped := 0
	for range 20_000 {
		if byShape(t, expr(r.IntN(4))) {
			shaped++
		}
	}
	require.Greater(t, shaped, 2000)
}

func FuzzShape(f *testing.F) {
	tally := fuzztally.New(f)
	f.Add(`sum(rate(m{a=~"b|c", d!='e'}[5m])) by (x) / m{a=~"b|c"}`)
	f.Add(`{__name__="a" or b=~".*"} offset 5m`)
	f.Fuzz(func(t *testing.T, text string) {
		tally.Input()
		if byShape(t, text) {
			tally.Accepted()
		}
	})
}
