package metricsql

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// doubling returns templates each of which is twice the one before, and f of the last.
func doubling(n int, first, twice, body string) string {
	var b strings.Builder
	b.WriteString("WITH (a0 = " + first)
	for i := range n {
		b.WriteString(", " + fmt.Sprintf("a%d = ", i+1) + strings.ReplaceAll(twice, "$", fmt.Sprintf("a%d", i)))
	}
	return b.String() + ") " + strings.ReplaceAll(body, "$", fmt.Sprintf("a%d", n))
}

// TestExpansionIsBounded: short texts that are long when their templates are written out
// are refused, and soon.
func TestExpansionIsBounded(t *testing.T) {
	f := func(text string) {
		t.Helper()
		began := time.Now()
		_, err := Parse(text)
		require.ErrorContains(t, err, "too long query", text)
		require.Less(t, time.Since(began), 2*time.Second, "%d", len(text)) // some hundred times what it takes
	}
	f(doubling(40, "m", "$+$", "$"))
	f(doubling(40, "m", "$+$", "m{x=~\"y\"} + $"))
	f(doubling(40, `"x"`, `$+$`, `label_set(m, "a", $)`))
	f(doubling(40, `{a="b"}`, `{$,$}`, `m{$}`))
	f(doubling(40, `m`, `{__name__="$"} + {"$"}`, `$`))
	f(doubling(40, `m`, `{__name__="a"+"b"} + {__name__=x}`, `$`))
	f(doubling(40, "m", `\$ + \$`, `\$`))
	f("WITH (f(x) = x+x) " + strings.Repeat("f(", 40) + "m" + strings.Repeat(")", 40))
	f(strings.Repeat("ru(1, ", 60) + "m" + strings.Repeat(")", 60))
	f(strings.Repeat("(", 1<<20))
	f(strings.Repeat("ttf(", 60) + "m" + strings.Repeat(")", 60))
	f("WITH (sum(x) = x+x) " + strings.Repeat("SUM(", 40) + "m" + strings.Repeat(")", 40))
	f("WITH (sum(x) = x+x) " + strings.Repeat("sum by (a) (", 40) + "m" + strings.Repeat(")", 40))
	f("WITH (t = {" + strings.Repeat(`l="x",`, 700) + `}) t{` + strings.Repeat(`l="y" or `, 700) + `a="b"}`)
	f("WITH (t = {" + strings.Repeat(`l="x" or `, 700) + `a="b"}) t{` + strings.Repeat(`l="y",`, 700) + "}")
}

// TestLongTextsParse: what is long by itself is parsed, in time.
func TestLongTextsParse(t *testing.T) {
	f := func(text string) {
		t.Helper()
		began := time.Now()
		_, err := Parse(text)
		require.NoError(t, err)
		require.Less(t, time.Since(began), 10*time.Second, text[:20])
	}
	f(strings.Repeat("(", 30_000) + "m" + strings.Repeat(")", 30_000))
	f(strings.Repeat("abs(", 12_000) + "m" + strings.Repeat(")", 12_000))
	f(strings.Repeat("-", 10_000) + "m")
	f(strings.Repeat("m+", 10_000) + "m")
	f(strings.Repeat(`m{a="b",c="d"}+`, 4000) + "m")
	f(strings.Repeat("WITH (a=b) ", 500) + "m")
	f(doubling(8, "m", "$+$", "$"))
	f("WITH (t = m{" + strings.Repeat(`l="x",`, 700) + "}) t{" + strings.Repeat(`l="y",`, 700) + "}")
	f("WITH (f(x) = x+x) f(f(f(m))) + " + strings.Repeat("(", 1000) + "m" + strings.Repeat(")", 1000))
	f("ru(node_memory_free_bytes, node_memory_total_bytes{job=~\"a\\\\.b\"}) # ru(ru(")
}

// TestExpansionCounts: what is counted is about what is written.
func TestExpansionCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	atom := []string{"m", "a", "b", "f(m)", "f(a)", "g(a, b)", "ru(m, b)", `m{a="b"}`, "sum(b) by (x)", "1", "rate(m[5m])", `{"b"}`, `{__name__="a"}`}
	body := func() string {
		s := atom[r.IntN(len(atom))]
		for range r.IntN(3) {
			s += " + " + atom[r.IntN(len(atom))]
		}
		return s
	}
	parsed := 0
	for range 3000 {
		text := fmt.Sprintf("WITH (a = %s, f(x) = %s + x, b = %s, g(y, a) = %s - y*a) %s", body(), body(), body(), body(), body())
		e, err := mql.Parse(text)
		if err != nil {
			continue
		}
		parsed++
		written := len(strings.NewReplacer(" ", "", "(", "", ")", "").Replace(string(e.AppendString(nil))))
		tree, ok := parseTree(text)
		require.True(t, ok, text)
		base, _ := parseTree(defaults)
		x := &expansion{left: 1 << 20, work: 1 << 20}
		x.list(base[0].defs, tree)
		counted := 1<<20 - x.left
		require.GreaterOrEqual(t, 2*counted, written, text)
		require.LessOrEqual(t, counted, 8*written+100, text)
	}
	require.Greater(t, parsed, 1000)
}

// The templates that are there by themselves are those of the parser.
func TestDefaults(t *testing.T) {
	base, ok := parseTree(defaults)
	require.True(t, ok)
	for _, d := range base[0].defs {
		var args []string
		for i := range d.args {
			args = append(args, fmt.Sprintf(`"arg%d"`, i))
		}
		f := func(text string) string {
			e, err := mql.Parse(text)
			require.NoError(t, err)
			return string(e.AppendString(nil))
		}
		call := d.name + "(" + strings.Join(args, ", ") + ")"
		require.Equal(t, f(call), f(strings.TrimSuffix(defaults, "x")+call))
		require.NotContains(t, f(call), d.name+"(")
	}
}

func FuzzExpansion(f *testing.F) {
	tally := fuzztally.New(f)
	f.Add(doubling(3, "m", "$+$", "$"))
	f.Add(`WITH (f(x) = {__name__="a"+x}) f("b") # c`)
	f.Add(`with(a\x62=1)ab{"a" or b='c\'',d!~` + "`e`" + `}[1h:5m] offset -5m @ end()`)
	f.Fuzz(func(t *testing.T, text string) {
		tally.Input()
		if len(text) > 1000 || checkExpansion(text) != nil {
			return
		}
		e, err := mql.Parse(text)
		if err != nil {
			return
		}
		tally.Accepted()
		if _, ok := parseTree(text); !ok {
			t.Fatalf("%q is parsed, but as a tree it is not", text)
		}
		if n := len(e.AppendString(nil)); n > 16*maxExpanded {
			t.Fatalf("%q is %d bytes long", text, n)
		}
	})
}
