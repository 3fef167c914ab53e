package write

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

// slots counts the slots of all tables.
func (c *cache) slots() (n int) {
	for i := range c.shards {
		n += len(c.shards[i].young.Load().slots) + len(c.shards[i].old.Load().slots)
	}
	return n
}

// TestCacheAgainstMap: what is found is what was put last, and what was put not
// long ago is found. Each step of the test puts one value and finds three, which
// puts them among the young again.
func TestCacheAgainstMap(t *testing.T) {
	const entries = 8192
	c := newCache(entries)
	k := newKeyer()
	want := map[int]tsdb.Series{}
	g := rand.New(rand.NewPCG(1, 2))
	id := func(i int) key { return k.of(fmt.Appendf(nil, "series %d", i)) }
	for i := range 20 * entries {
		n := g.IntN(i + 1)
		if got := c.get(id(n)); got != 0 {
			require.Equal(t, want[n], got)
		}
		want[i] = tsdb.Series(g.Uint64() | 1)
		c.put(id(i), want[i])
		if i > entries/16 {
			back := i - g.IntN(entries/16)
			require.Equal(t, want[back], c.get(id(back)), "put %d steps ago", i-back)
		}
		require.NotZero(t, c.get(id(i-i%7)))
		if i%1000 == 0 {
			require.LessOrEqual(t, c.slots(), entries*4/3+cacheShards)
		}
	}

	c.reset()
	require.Zero(t, c.get(id(20*entries-1)))
}

// TestCacheSize: one series takes less than 40 bytes, however many there are.
func TestCacheSize(t *testing.T) {
	c := newCache(1 << 20)
	k := newKeyer()
	for i := range 300_000 {
		c.put(k.of(binary.AppendUvarint(nil, uint64(i))), tsdb.Series(i+1))
		if i >= 10_000 && i%1000 == 0 {
			require.LessOrEqual(t, 24*c.slots(), 40*i, "%d series", i)
		}
	}
	for i := range 300_000 {
		require.EqualValues(t, i+1, c.get(k.of(binary.AppendUvarint(nil, uint64(i)))))
	}
}

// TestCacheReplaces: the value of a key can change.
func TestCacheReplaces(t *testing.T) {
	c := newCache(10)
	c.put(key{1, 2}, 7)
	c.put(key{1, 2}, 8)
	require.EqualValues(t, 8, c.get(key{1, 2}))
	require.Zero(t, c.get(key{2, 2}))
	require.Zero(t, c.get(key{1, 3}))
}

func TestCacheConcurrent(t *testing.T) {
	c := newCache(256)
	k := newKeyer()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for round := range 20_000 {
				i := (round * 7919) % 1000
				id := k.of([]byte{byte(i), byte(i >> 8)})
				if got := c.get(id); got != 0 && got != tsdb.Series(i+1) {
					t.Errorf("got %d for the key of %d", got, i+1)
				} else if got == 0 {
					c.put(id, tsdb.Series(i+1))
				}
			}
		})
	}
	wg.Wait()
}

// TestJoinedKeys: sequences of symbols have one key each, as their concatenation
// with lengths has, which is the slow twin.
func TestJoinedKeys(t *testing.T) {
	k := newKeyer()
	g := rand.New(rand.NewPCG(3, 4))
	byKey, byText := map[key]string{}, map[string]key{}
	for range 200_000 {
		seq := k.joined()
		var text strings.Builder
		for range g.IntN(7) {
			symbol := string(rune('a' + g.IntN(6)))
			if g.IntN(5) == 0 {
				symbol = ""
			}
			seq = k.join(seq, k.of([]byte(symbol)))
			fmt.Fprintf(&text, "%d:%s,", len(symbol), symbol)
		}
		id := k.done(seq)
		if other, ok := byKey[id]; ok {
			require.Equal(t, other, text.String())
		}
		if other, ok := byText[text.String()]; ok {
			require.Equal(t, other, id)
		}
		byKey[id], byText[text.String()] = text.String(), id
	}
	require.Equal(t, len(byText), len(byKey))
	a, b := map[uint64]bool{}, map[uint64]bool{} // each half alone tells them apart
	for id := range byKey {
		a[id.a], b[id.b] = true, true
	}
	require.Equal(t, [2]int{len(byKey), len(byKey)}, [2]int{len(a), len(b)})
}
