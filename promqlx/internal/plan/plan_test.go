package plan_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/plan"
	front "github.com/varvedb/varve/promqlx/internal/promql"
)

var parse = parser.NewParser(parser.Options{
	EnableExperimentalFunctions: true,
	EnableBinopFillModifiers:    true,
	EnableUnquotedUTF8Names:     true,
})

// TestRewrites runs the scripts in testdata, which give an expression and print
// its plan: "plan" as the front end makes it, "rewrite NAME..." after these
// rewrites, "optimize" after all. "ranges" prints what each selector reads.
//
// The times are 1000s to 2000s in steps of 30s, or with "instant" 1000s. Other
// arguments: delayed and metadata (set DelayedNames, clear NoMetadata),
// disable=(NAME,...). Rewrite with -rewrite.
func TestRewrites(t *testing.T) {
	datadriven.Walk(t, "testdata/rewrites", func(t *testing.T, name string) {
		datadriven.RunTest(t, name, func(t *testing.T, d *datadriven.TestData) string {
			opts, c := times(d.HasArg("instant"))
			c.DelayedNames, c.NoMetadata = d.HasArg("delayed"), !d.HasArg("metadata")
			n := planOf(t, d.Input, opts)
			switch d.Cmd {
			case "plan":
			case "optimize":
				for _, arg := range d.CmdArgs {
					if arg.Key == "disable" {
						c.Disable = arg.Vals
					}
				}
				n = plan.Optimize(n, c)
			case "rewrite":
				n = plan.Optimize(n, only(c, d))
			case "ranges":
				return rangesText(n, opts)
			default:
				t.Fatalf("unknown command %s", d.Cmd)
			}
			return plan.Explain(n)
		})
	})
}

// only disables all rewrites that d does not name.
func only(c plan.Config, d *datadriven.TestData) plan.Config {
	for _, name := range plan.Rewrites() {
		if !d.HasArg(name) {
			c.Disable = append(c.Disable, name)
		}
	}
	return c
}

func rangesText(n plan.Node, opts front.Options) string {
	var b strings.Builder
	for _, r := range ranges(n, opts) {
		fmt.Fprintf(&b, "%d %d %s", r.Min, r.Max, strings.SplitAfter(plan.Explain(r.Of), "\n")[0])
	}
	return b.String()
}

// ranges is plan.Ranges with a look-back of 5 minutes.
func ranges(n plan.Node, opts front.Options) []plan.Range {
	return plan.Ranges(n, opts.Start.UnixMilli(), opts.End.UnixMilli(), 300_000)
}

func times(instant bool) (front.Options, plan.Config) {
	opts := front.Options{Start: time.Unix(1000, 0), End: time.Unix(2000, 0), Step: 30 * time.Second}
	if instant {
		opts.End, opts.Step = opts.Start, 0
	}
	return opts, plan.Config{
		Instant:     instant,
		StatsWindow: 60_000,
	}
}

func planOf(t testing.TB, text string, opts front.Options) plan.Node {
	expr, err := parse.ParseExpr(text)
	require.NoError(t, err, text)
	n, err := front.Plan(expr, opts)
	require.NoError(t, err, text)
	return n
}

// corpus returns the expressions of Prometheus' built-in tests, and some that
// read at odd times.
func corpus(t testing.TB) []string {
	data, err := os.ReadFile("../promql/testdata/builtin.txt")
	require.NoError(t, err)
	exprs := []string{
		`x @ 5 + y offset -3m`, `rate(x[5m] anchored)`, `rate(x[5m] smoothed)`, `x smoothed offset 1m`,
		`sum_over_time(rate(x[5m])[1h:1m] offset 3m)`, `sum_over_time(rate(x[5m] @ 77)[1h:1m] @ 500 offset 3m)`,
		`sum_over_time(max_over_time(x[7m:1m] offset 3m)[1h:7m] @ 500 offset 10m)`,
		`sum_over_time(max_over_time(x[7m:1m] @ 400 offset 3m)[1h:7m] offset 10m)`,
		`topk(scalar(y @ 10), x)`, `topk(scalar(y @ start()), x)`, `topk(scalar(sum_over_time((y @ 100)[5m:1m])), x)`,
		`info(x offset 5s)`, `info(x @ 5 + y @ 6)`, `info(sum_over_time(x[5m:1m] offset 10m))`,
		`info(sum_over_time(x[5m:1m] @ 100 offset 10m))`, `sum_over_time(info(x offset 5s)[10m:1m] offset 7m)`,
		`info(vector(1))`, `timestamp(x @ 5 offset 1s)`, `1`, `time()`,
	}
	for line := range strings.Lines(string(data)) {
		text, err := strconv.Unquote(strings.TrimSpace(line))
		require.NoError(t, err)
		exprs = append(exprs, text)
	}
	return exprs
}

// TestOptimize makes all rewrites, and each alone, over the corpus: a plan stays
// of the same type, reads the same series at the same times, and is rewritten to
// the same plan each time.
func TestOptimize(t *testing.T) {
	reads := func(n plan.Node, opts front.Options) map[string]bool {
		seen := map[string]bool{}
		for _, r := range ranges(n, opts) {
			if s := plan.SelectorOf(r.Of); s != nil {
				seen[fmt.Sprint(s.Matchers, r.Min, r.Max)] = true
			}
		}
		return seen
	}
	for _, text := range corpus(t) {
		for _, instant := range []bool{true, false} {
			opts, c := times(instant)
			expr, err := parse.ParseExpr(text)
			require.NoError(t, err, text)
			if _, err := front.Plan(expr, opts); err != nil {
				continue
			}
			before := planOf(t, text, opts)
			want := reads(before, opts)
			for i, name := range plan.Rewrites() {
				after := plan.Optimize(planOf(t, text, opts), plan.Config{
					Disable: append(plan.Rewrites()[:i:i], plan.Rewrites()[i+1:]...),
					Instant: instant,
				})
				require.Equal(t, before.Type(), after.Type(), "%s after %s", text, name)
				require.Equal(t, want, reads(after, opts), "%s after %s", text, name)
			}
			all := plan.Optimize(planOf(t, text, opts), c)
			again := plan.Optimize(planOf(t, text, opts), c)
			require.Equal(t, before.Type(), all.Type(), text)
			require.Equal(t, want, reads(all, opts), text)
			require.Equal(t, plan.Explain(all), plan.Explain(again), text)
		}
	}
}

// TestKey: a key does not depend on where things stand in a text, nor on what is
// shared, and it tells plans apart that Explain tells apart.
func TestKey(t *testing.T) {
	opts, c := times(false)
	keys := map[string]string{} // to what Explain prints
	for _, text := range corpus(t) {
		expr, err := parse.ParseExpr(text)
		require.NoError(t, err, text)
		n, err := front.Plan(expr, opts)
		if err != nil {
			continue
		}
		key, printed := plan.Key(n), plan.Explain(n)
		if before, ok := keys[key]; ok {
			require.Equal(t, before, printed, text)
		}
		keys[key] = printed
		require.Equal(t, key, plan.Key(planOf(t, "  (\n"+text+")", opts)), text)
		require.Equal(t, key, plan.Key(plan.Share(n, c)), text)
	}
	require.Greater(t, len(keys), 1000)
}
