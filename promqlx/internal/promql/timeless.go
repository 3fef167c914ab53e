package promql

import "github.com/prometheus/prometheus/promql/parser"

// Timeless tells whether plans of an expression for two ranges are the same if the
// ranges are as long, in whole milliseconds, and have the same step: it names no
// time, neither by @ nor by start() or end().
func Timeless(expr parser.Expr) bool {
	timeless := true
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			timeless = timeless && n.Timestamp == nil && n.StartOrEnd == 0
		case *parser.SubqueryExpr:
			timeless = timeless && n.Timestamp == nil && n.StartOrEnd == 0
		case *parser.Call:
			timeless = timeless && n.Func.Name != "start" && n.Func.Name != "end"
		}
		return nil
	})
	return timeless
}
