package binop

import (
	"errors"
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// rowsOfGroup returns n rows of one match group: each has a sample at every step, or
// at one of its own.
func rowsOfGroup(n, steps int, name string, apart bool) []*row.Row {
	rows := make([]*row.Row, n)
	for i := range rows {
		rows[i] = row.New(steps)
		rows[i].Labels = labels.FromStrings("g", "a", name, fmt.Sprint(i))
		for k := range steps {
			if !apart || k%n == i {
				rows[i].SetF(k, float64(i))
			}
		}
	}
	return rows
}

func groupLeft(env *row.Env, include ...string) *Join {
	return &Join{Op: parser.MUL, Env: env, Matching: &parser.VectorMatching{Card: parser.CardManyToOne, MatchingLabels: []string{"g"}, On: true, Include: include}}
}

// A join that is bound to fail does not make all pairs before it says so.
func TestDuplicatesCostNoProduct(t *testing.T) {
	s := groupLeft(&row.Env{Grid: gridOf(3)}, "r").stream(rowsOfGroup(500, 3, "r", false), 500)
	pairs := 0
	emit := func(*row.Row) error { pairs++; return nil }
	for _, r := range rowsOfGroup(500, 3, "l", false) {
		require.NoError(t, s.Add(r, emit))
	}
	require.ErrorContains(t, s.End(emit), "found duplicate series for the match group")
	require.Zero(t, pairs)
	require.Empty(t, s.produced)
}

// What rows of both sides give together is counted.
func TestProductIsCounted(t *testing.T) {
	const n, steps = 50, 500
	held, limit := int64(0), int64(1<<40)
	full := errors.New("full")
	env := &row.Env{Grid: gridOf(steps), Grow: func(n int64) error {
		if held += n; held > limit {
			return full
		}
		return nil
	}}
	rows, err := groupLeft(env, "r").Run(rowsOfGroup(n, steps, "l", false), rowsOfGroup(n, steps, "r", true))
	require.NoError(t, err)
	require.Len(t, rows, n*n)
	require.Greater(t, held, int64(8*steps*(n*n-n)))
	limit = held / 2
	held = 0
	_, err = groupLeft(env, "r").Run(rowsOfGroup(n, steps, "l", false), rowsOfGroup(n, steps, "r", true))
	require.ErrorIs(t, err, full)
}
