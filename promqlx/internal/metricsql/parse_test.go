package metricsql_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql"
)

func TestParse(t *testing.T) {
	f := func(want, text string) {
		t.Helper()
		e, err := metricsql.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, string(e.AppendString(nil)))
	}
	f(`m`, `m`)
	f(`m > 1`, `1 < m`)
	f(`m >= time()`, `time() <= m`)
	f(`m == 3`, `3 == m`)
	f(`m < 3`, `m < 3`)
	f(`m < time()`, `m < time()`)
	f(`sum(rate(m{a="b"}[5m])) by(x)`, `WITH (f(q) = sum(rate(q[5m])) by (x)) f(m{a="b"})`)

	_, err := metricsql.Parse(`sum(`)
	require.Error(t, err)
}
