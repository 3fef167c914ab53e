package binop_test

import (
	"strconv"
	"testing"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql/binop"
	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

func TestCommonFilters(t *testing.T) {
	f := func(in string, want ...mql.LabelFilter) {
		t.Helper()
		require.Equal(t, want, binop.CommonFilters(read(in)))
	}
	f("")
	f("a{} 1")
	f("a{y=2,x=1} 1", mql.LabelFilter{Label: "x", Value: "1"}, mql.LabelFilter{Label: "y", Value: "2"})
	f("a{y=2,x=1} 1; b{x=b.c} 1; c{x=1} 1", mql.LabelFilter{Label: "x", Value: `1|b\.c`, IsRegexp: true})
	f("a{y=2,x=1} 1; b{} 1")

	many := func(values int) (out []*series.Series) {
		for i := range values {
			out = append(out, &series.Series{Name: series.Name{Tags: []series.Tag{{Key: "x", Value: strconv.Itoa(i)}}}})
		}
		return out
	}
	require.Len(t, binop.CommonFilters(many(100)), 1)
	require.Len(t, binop.CommonFilters(many(101)), 1, "one more than there may be, as in VictoriaMetrics")
	require.Empty(t, binop.CommonFilters(many(102)))
}
