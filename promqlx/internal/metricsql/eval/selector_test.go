package eval_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql/eval"
)

// What is no label, empty, and anything: as VictoriaMetrics' lib/storage has it.
func TestEmptyValues(t *testing.T) {
	db := open(t)
	f := func(want float64, filter string) {
		t.Helper()
		got, err := run(t, db, `count({__name__=~"m|n",`+filter+`})`, eval.Params{Scope: at(start)})
		require.NoError(t, err)
		n := 0.0
		if len(got.Series) > 0 {
			n = got.Series[0].Values[0]
		}
		require.Equal(t, want, n, filter)
	}
	f(3, `job!=""`)
	f(2, `zone=""`)
	f(1, `zone!~""`)
	f(2, `zone=~""`)
	f(3, `zone=~".*"`)
	f(1, `zone=~".+"`)
	f(2, `zone!~".+"`)
	f(2, `zone!~".*"`) // PromQL: none
	f(0, `zone!~".*|x"`)
	f(0, `zone!~"|z"`)
	f(1, `zone!~"|x"`)
}
