package promql

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/plan"
)

// pos says what PositionRange says, of each node.
func TestPos(t *testing.T) {
	binary := 0
	for _, text := range []string{
		"a", "1 + 2", "1 + 2 * 3 ^ 4 - 5", "(a + b) / c", "a + (b / c)", "-a ^ b", "- (a or b) unless c", "a[5m] ", " a + b ",
		"sum by (x) (a + b) > bool 1 and c", "rate((a * b)[5m:1m]) + on (x) group_left (y) d offset 5m", "a @ 7 == b @ end()",
		"topk(3 + 1, a - b) atan2 -b", strings.Repeat("1 ^ ", 100) + "1", strings.Repeat("a or ", 100) + "a",
		strings.Repeat("(", 50) + "a" + strings.Repeat(" + 1)", 50),
	} {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
		require.NoError(t, err, text)
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			if n != nil {
				require.Equal(t, plan.Pos(n.PositionRange()), pos(n), "%s in %s", n, text)
			}
			if _, ok := n.(*parser.BinaryExpr); ok {
				binary++
			}
			return nil
		})
	}
	require.Greater(t, binary, 250)
}
