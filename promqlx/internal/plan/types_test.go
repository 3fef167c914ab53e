package plan

import (
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

// counting is a vector that counts how often its type is asked.
type counting struct {
	Instant
	asked *int
}

func (c *counting) Type() parser.ValueType {
	*c.asked++
	return c.Instant.Type()
}

// The types of deep trees are not looked for again and again down to the leaves.
func TestTypesOfDeepTrees(t *testing.T) {
	const depth = 1000
	asked := 0
	var n Node = &counting{asked: &asked}
	for i := range depth {
		if n = Node(&Minus{Child: n}); i%2 == 0 {
			n = &Binary{Op: parser.ADD, Left: n, Right: &Number{Value: 1}}
		}
	}
	settleTypes(n)
	Walk(n, func(c Node) bool {
		want := parser.ValueTypeVector
		if _, ok := c.(*Number); ok {
			want = parser.ValueTypeScalar
		}
		require.Equal(t, want, c.Type())
		return true
	})
	require.Less(t, asked, 10)
	require.Equal(t, parser.ValueTypeScalar, (&Minus{Child: &Binary{Left: &Number{}, Right: &Number{}}}).Type())
}
