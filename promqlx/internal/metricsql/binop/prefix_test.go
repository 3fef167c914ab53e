package binop

import (
	"strings"
	"testing"
	"unsafe"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/stretchr/testify/require"
)

// A prefix is put before a key once, not once for each series.
func TestPrefixesAreShared(t *testing.T) {
	j := &joiner{be: &mql.BinaryOpExpr{JoinModifierPrefix: &mql.StringExpr{S: strings.Repeat("p", 1000)}}}
	first := j.prefixed("a")
	require.Equal(t, strings.Repeat("p", 1000)+"a", first)
	require.Same(t, unsafe.StringData(first), unsafe.StringData(j.prefixed("a")))
	require.Equal(t, "a", (&joiner{be: &mql.BinaryOpExpr{}}).prefixed("a"))
}
