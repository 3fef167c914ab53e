package influx

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

func fieldsOf(keys ...string) ([]field, []tsdb.Series) {
	fields := make([]field, len(keys))
	series := make([]tsdb.Series, len(keys))
	for i, k := range keys {
		fields[i].key = []byte(k)
		series[i] = tsdb.Series(len(keys)*100 + i + 1)
	}
	return fields, series
}

func (c *cache) mustFind(t *testing.T, ctx, key string) *fieldSet {
	r := c.find(ctx, c.hashContext(ctx), []byte(key))
	require.NotNil(t, r, key)
	return r.set.Load()
}

func TestCacheFinds(t *testing.T) {
	c := newCache(1 << 20)
	fields, series := fieldsOf("a=", "b=")
	c.add("x", c.hashContext("x"), []byte("m,t=1"), fields, series)
	c.add("x", c.hashContext("x"), []byte("m,t=2"), fields, series)
	require.Nil(t, c.find("", c.hashContext(""), []byte("m,t=1")))
	require.Nil(t, c.find("x", c.hashContext("x"), []byte("m,t=3")))

	one, two := c.mustFind(t, "x", "m,t=1"), c.mustFind(t, "x", "m,t=2")
	require.Same(t, one.shape, two.shape)
	require.Equal(t, series, one.series)

	more, moreSeries := fieldsOf("c=", "a=")
	moreSeries[1] = 0 // a string this time
	c.add("x", c.hashContext("x"), []byte("m,t=1"), more, moreSeries)
	one = c.mustFind(t, "x", "m,t=1")
	require.Equal(t, []string{"a=", "b=", "c="}, one.shape.keys)
	require.Equal(t, []tsdb.Series{series[0], series[1], moreSeries[0]}, one.series)
	require.Equal(t, []string{"a=", "b="}, c.mustFind(t, "x", "m,t=2").shape.keys)
}

// What is used survives, what is not does not, and the bytes stay in budget.
func TestCacheTurnsOver(t *testing.T) {
	const budget = 100_000
	c := newCache(budget)
	fields, series := fieldsOf("a=", "b=")
	add := func(key string) { c.add("", c.hashContext(""), []byte(key), fields, series) }
	add("hot")
	add("cold")
	for i := range 5_000 {
		add(fmt.Sprint("m,t=", i))
		c.mustFind(t, "", "hot")
		bytes, _ := c.size()
		require.LessOrEqual(t, bytes, int64(budget/2))
	}
	require.Nil(t, c.find("", c.hashContext(""), []byte("cold")))
	_, rows := c.size()
	require.Less(t, rows, budget/2/rowOverhead)
}

// Neither very many fields nor very long lines blow a row up.
func TestCacheBoundsRows(t *testing.T) {
	c := newCache(1 << 20)
	for i := range 3 * maxRowFields {
		fields, series := fieldsOf(fmt.Sprint("f", i, "="))
		c.add("", c.hashContext(""), []byte("wide"), fields, series)
	}
	set := c.mustFind(t, "", "wide")
	require.Len(t, set.shape.keys, maxRowFields)
	for i, k := range set.shape.keys {
		require.Equal(t, i, set.shape.find([]byte(k), 0))
	}
	require.Equal(t, -1, set.shape.find([]byte("none="), 0))

	fields, series := fieldsOf("v=")
	c.add("", c.hashContext(""), make([]byte, 1<<20), fields, series)
	require.Nil(t, c.find("", c.hashContext(""), make([]byte, 1<<20)))
	bytes, _ := c.size()
	require.LessOrEqual(t, bytes, int64(1<<19))
}

// TestDroppedSeries: a row whose series the store dropped is found by the fast
// way still, and its samples arrive.
func TestDroppedSeries(t *testing.T) {
	d := openDoor(t, Options{})
	f := func(body string) {
		t.Helper()
		code, text := d.write("/write?precision=ms", body)
		require.Equal(t, 204, code, text)
	}
	now := time.Now().UnixMilli()
	line := func(i int64) string { return fmt.Sprintf("m,t=a v=%d,s=\"x\",w=%d %d", i, i+1, now+i) }
	f(line(1) + "\n" + line(2))
	dropped := func() bool {
		b := d.db.Batch()
		defer b.Discard()
		for _, s := range d.h.cache.mustFind(t, "", "m,t=a").series {
			if s != 0 && b.Live(s) {
				return false
			}
		}
		return true
	}
	for i := range int64(5) { // asking whether a series is live keeps it
		f(fmt.Sprintf("other v=1 %d", now+i))
		require.NoError(t, d.db.ForceFlush(context.Background()))
	}
	require.True(t, dropped())
	f(line(3) + "\n" + line(4))
	require.False(t, dropped())
	require.Equal(t, fmt.Sprintf("{__name__=\"m_v\", t=\"a\"} %d=1 %d=2 %d=3 %d=4\n", now+1, now+2, now+3, now+4), d.text("m_v"))
	require.Equal(t, fmt.Sprintf("{__name__=\"m_w\", t=\"a\"} %d=2 %d=3 %d=4 %d=5\n", now+1, now+2, now+3, now+4), d.text("m_w"))
}
