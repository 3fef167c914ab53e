package promql

import (
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
)

// statsOnly returns the selectors of whose histograms only count and sum are
// looked at (detectHistogramStatsDecoding of Prometheus' promql/engine.go).
func statsOnly(expr parser.Expr) map[*parser.VectorSelector]bool {
	found := map[*parser.VectorSelector]bool{}
	parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
		n, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		for _, above := range slices.Backward(path) {
			skip, whole := looksAtHistograms(above)
			if whole {
				delete(found, n)
				break
			}
			if skip {
				found[n] = true
			}
		}
		return nil
	})
	return found
}

// looksAtHistograms tells whether an expression needs no buckets of what is
// below it, or needs whole histograms whatever else is around.
func looksAtHistograms(node parser.Node) (skip, whole bool) {
	switch n := node.(type) {
	case *parser.SubqueryExpr:
		return false, true // counter resets are found by buckets
	case *parser.Call:
		switch n.Func.Name {
		case "histogram_count", "histogram_sum", "histogram_avg", "timestamp", "start_timestamp", "absent":
			return true, false
		case "histogram_quantile", "histogram_quantiles", "histogram_fraction",
			"histogram_stddev", "histogram_stdvar", "changes":
			return false, true
		}
	case *parser.AggregateExpr:
		return false, n.Op == parser.COUNT_VALUES
	case *parser.BinaryExpr:
		switch n.Op {
		case parser.TRIM_UPPER, parser.TRIM_LOWER, parser.EQLC, parser.NEQ:
			return false, true
		}
	}
	return false, false
}
