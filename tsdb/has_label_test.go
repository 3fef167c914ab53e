package tsdb

import (
	"context"
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

func TestHasLabel(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(dir, Options{Sync: SyncOff()})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	ctx := context.Background()
	add := func(lset labels.Labels) {
		b := db.Batch()
		s, err := b.Series(lset)
		require.NoError(t, err)
		require.NoError(t, b.Add(s, 1000, 1))
		require.NoError(t, b.Commit(ctx))
	}
	has := func(name string) bool {
		inDB, err := db.HasLabel(name)
		require.NoError(t, err)
		v, err := db.Select(ctx, 0, 2000)
		require.NoError(t, err)
		defer v.Close()
		require.Equal(t, inDB, v.HasLabel(name))
		return inDB
	}
	require.False(t, has("a"))
	add(labels.FromStrings("a", "1"))
	require.True(t, has("a"))
	require.False(t, has("b"))
	require.NoError(t, db.ForceFlush(ctx))
	add(labels.FromStrings("b", "1"))
	require.True(t, has("a"))
	require.True(t, has("b"))
	require.False(t, has(""))
	for i := range 3 * maxLacking {
		require.False(t, has(fmt.Sprint("none", i)))
		require.False(t, has(fmt.Sprint("none", i)), "what is remembered")
	}
	require.Len(t, *db.mu.state.lacks.names.Load(), maxLacking)

	// What was not there may come, first in the head, then in a part.
	require.False(t, has("none0"))
	v, err := db.Select(ctx, 0, 2000)
	require.NoError(t, err)
	defer v.Close()
	add(labels.FromStrings("none0", "1"))
	require.True(t, has("none0"))
	require.True(t, v.HasLabel("none0"), "a View says no only of what nobody has")
	require.NoError(t, db.ForceFlush(ctx))
	require.True(t, has("none0"))
	require.NoError(t, db.Close())
	db, err = Open(dir, Options{Sync: SyncOff()})
	require.NoError(t, err)
	require.True(t, has("none0"), "in a part alone")
	require.False(t, has("none1"))
}
