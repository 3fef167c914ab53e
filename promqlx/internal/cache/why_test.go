package cache_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/cache"
	"github.com/varvedb/varve/promqlx/internal/plan"
	front "github.com/varvedb/varve/promqlx/internal/promql"
)

var parse = parser.NewParser(parser.Options{
	EnableExperimentalFunctions: true, EnableBinopFillModifiers: true,
})

func planOf(t *testing.T, text string, start, end time.Time, step time.Duration) plan.Node {
	expr, err := parse.ParseExpr(text)
	require.NoError(t, err, text)
	n, err := front.Plan(expr, front.Options{Start: start, End: end, Step: step})
	require.NoError(t, err, text)
	return plan.Optimize(n, plan.Config{NoMetadata: true})
}

// TestWhy prints whether answers of an expression are kept, or why not. The step
// is 30 seconds. Rewrite with -rewrite.
func TestWhy(t *testing.T) {
	datadriven.RunTest(t, "testdata/why", func(t *testing.T, d *datadriven.TestData) string {
		n := planOf(t, d.Input, time.Unix(1000, 0), time.Unix(2000, 0), 30*time.Second)
		if why := cache.Why(n, 30_000); why != "" {
			return why
		}
		return "kept"
	})
}
