package funcs_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/funcs"
)

// elsewhere are the functions of instant vectors and scalars that Lookup does
// not know: package doc says why.
var elsewhere = []string{"info", "start", "end", "range", "step"}

func TestLookupKnowsAll(t *testing.T) {
	for name, f := range parser.Functions {
		fn, ok := funcs.Lookup(name)
		want := !slices.Contains(f.ArgTypes, parser.ValueTypeMatrix) && !slices.Contains(elsewhere, name)
		require.Equal(t, want, ok, name)
		if !ok {
			continue
		}
		forms := 0
		for _, set := range []bool{fn.Each != nil, fn.Whole != nil, fn.Scalar != nil} {
			if set {
				forms++
			}
		}
		if f.Variadic == 1 && len(f.ArgTypes) == 1 { // dates
			require.Equal(t, 2, forms, name)
			continue
		}
		require.Equal(t, 1, forms, name)
	}
	_, ok := funcs.Lookup("rate")
	require.False(t, ok)
}

// TestAsUpstream asks Prometheus' engine and this package for the same calls
// over random series, at instants and over ranges, with names removed at once
// and late.
func TestAsUpstream(t *testing.T) {
	rounds := 50
	if testing.Short() {
		rounds = 6
	}
	tally := map[string]int{}
	for seed := range uint64(rounds) {
		rnd := rand.New(rand.NewPCG(seed, 16))
		n := []int{1, 1, 2, 7, 70, 130}[rnd.IntN(6)]
		w := anyWorld(rnd, n, rnd.IntN(2) == 0)
		ng := w.engine(t)
		for range 120 {
			query := anyCall(rnd, 0)
			want := w.theirs(t, ng, query)
			got := w.ours(t, query)
			if w.grid.N > 1 || openOrder(query) {
				slices.Sort(want.Series)
				slices.Sort(got.Series)
			}
			require.Equal(t, want, got, "seed %d, %d steps, delayed %v: %s", seed, n, w.delayed, query)
			count(tally, query, want)
		}
	}
	t.Log(tally)
	if testing.Short() {
		return
	}
	for name, f := range parser.Functions {
		if _, ok := funcs.Lookup(name); !ok {
			continue
		}
		require.Positive(t, tally[name], name)
		if len(f.ArgTypes) > 0 && f.ArgTypes[0] == parser.ValueTypeVector && name != "start_timestamp" {
			require.Positive(t, tally[name+" series"], name)
		}
	}
	require.Positive(t, tally["same labels"])
	require.Positive(t, tally["annotated"])
}

func count(tally map[string]int, query string, a answer) {
	name := query[:strings.IndexByte(query, '(')]
	tally[name]++
	if len(a.Series) > 0 {
		tally[name+" series"]++
	}
	if len(a.Annos) > 0 {
		tally["annotated"]++
	}
	if strings.Contains(a.Err, "same labelset") {
		tally["same labels"]++
	}
}

// openOrder tells of calls that answer in the order of a Go map upstream.
func openOrder(query string) bool {
	return strings.Contains(query, "histogram_quantile") || strings.Contains(query, "histogram_fraction") ||
		strings.Contains(query, "label_")
}

func pick(rnd *rand.Rand, of ...string) string { return of[rnd.IntN(len(of))] }

// anyCall returns a call of any function.
func anyCall(rnd *rand.Rand, depth int) string {
	v, s := func() string { return anyVector(rnd, depth+1) }, func() string { return anyScalar(rnd, depth+1) }
	switch rnd.IntN(14) {
	case 0, 1:
		return pick(rnd, "abs", "ceil", "floor", "exp", "sqrt", "ln", "log2", "log10", "sgn", "deg", "rad", "round",
			"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh") + "(" + v() + ")"
	case 2:
		return pick(rnd, "days_in_month", "day_of_month", "day_of_week", "day_of_year", "hour", "minute", "month", "year") +
			pick(rnd, "()", "("+v()+")", "("+v()+")")
	case 3:
		return pick(rnd,
			fmt.Sprintf("clamp(%s, %s, %s)", v(), s(), s()), fmt.Sprintf("clamp_min(%s, %s)", v(), s()),
			fmt.Sprintf("clamp_max(%s, %s)", v(), s()), fmt.Sprintf("round(%s, %s)", v(), s()))
	case 4:
		return pick(rnd, "timestamp", "start_timestamp") + "(abs(" + v() + "))"
	case 5:
		return pick(rnd, "time()", "pi()", fmt.Sprintf("max_of(%s, %s)", s(), s()), fmt.Sprintf("min_of(%s, %s)", s(), s()),
			"vector("+s()+")", "scalar("+v()+")")
	case 6, 7:
		return pick(rnd, "histogram_count", "histogram_sum", "histogram_avg", "histogram_stddev", "histogram_stdvar") + "(" + v() + ")"
	case 8:
		return fmt.Sprintf("histogram_fraction(%s, %s, %s)", s(), s(), v())
	case 9, 10:
		return fmt.Sprintf("histogram_quantile(%s, %s)", anyQuantile(rnd), v())
	case 11:
		qs := anyQuantile(rnd)
		for range rnd.IntN(4) {
			qs += ", " + anyQuantile(rnd)
		}
		// Of a selector: upstream, the second quantile of buckets with equal bounds
		// depends on their order, which a call leaves open over a range.
		v := anyVector(rnd, 99)
		return fmt.Sprintf("histogram_quantiles(%s, %q, %s)", v, pick(rnd, "q", "q", "job", "n", "__name__", "le"), qs)
	case 12:
		return pick(rnd, "sort", "sort_desc", "absent", "absent") + "(" + v() + ")"
	}
	return anyLabelCall(rnd, v())
}

func anyLabelCall(rnd *rand.Rand, v string) string {
	name := func() string { return pick(rnd, "job", "n", "le", "new", "__name__", "none") }
	switch rnd.IntN(4) {
	case 0:
		return fmt.Sprintf("label_join(%s, %q, %q, %q, %q)", v, pick(rnd, name(), name(), ""), pick(rnd, "", "-"), name(), pick(rnd, name(), name(), name(), ""))
	case 1, 2:
		return fmt.Sprintf("label_replace(%s, %q, %q, %q, %q)", v, pick(rnd, name(), name(), ""), pick(rnd, "$1", "", "x", "${1}y$0"), name(),
			pick(rnd, "(.*)", "(.).*", "a", "c(\\d+)", "", "(", "(?:a|b)?"))
	}
	sorts := fmt.Sprintf("%s(%s, %q", pick(rnd, "sort_by_label", "sort_by_label_desc"), v, name())
	for range rnd.IntN(3) {
		sorts += fmt.Sprintf(", %q", name())
	}
	return sorts + ")"
}

func anyVector(rnd *rand.Rand, depth int) string {
	if depth < 4 && rnd.IntN(4) == 0 {
		for {
			c := anyCall(rnd, depth)
			if f := parser.Functions[c[:strings.IndexByte(c, '(')]]; f.ReturnType == parser.ValueTypeVector {
				return c
			}
		}
	}
	return pick(rnd, "f", "g", "h", "i", "x", "x", "b", "b", "d", "b", "f{job=\"a\"}", "{job=~\"a|b\",n=\"\"}", "{__name__=~\"[fhx]\"}",
		"{__name__=~\"[bd]\"}", "{__name__=~\".\"}", "none{job=\"z\",n!=\"y\"}", "b{job=\"b\"}", "h{job=\"a\"}")
}

func anyScalar(rnd *rand.Rand, depth int) string {
	if depth < 4 {
		switch rnd.IntN(8) {
		case 0:
			return "scalar(" + anyVector(rnd, depth) + ")"
		case 1:
			return "time()"
		}
	}
	return pick(rnd, "0", "-0", "1", "10", "-1", "5", "0.3", "NaN", "Inf", "-Inf", "100", "1e9", "2.5", "0.001")
}

func anyQuantile(rnd *rand.Rand) string {
	return pick(rnd, "0", "-0", "0.5", "0.9", "0.99", "1", "0.1", "0.25", "NaN", "-0.1", "1.5", "Inf", "0.9",
		"scalar(f{job=\"a\"})", "min_of(1, max_of(0, scalar(g{job=\"b\"})))")
}
