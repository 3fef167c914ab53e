package write

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCacheAgainstMap: what is found is what was put last, and what was put not
// long ago is found. Each step of the test puts one value and finds three, which
// puts them among the young again.
func TestCacheAgainstMap(t *testing.T) {
	const entries = 4096
	c := newCache[int](entries)
	k := newKeyer()
	want := map[int]*int{}
	g := rand.New(rand.NewPCG(1, 2))
	id := func(i int) key { return k.of(fmt.Appendf(nil, "series %d", i)) }
	for i := range 20 * entries {
		n := g.IntN(i + 1)
		if got := c.get(id(n)); got != nil {
			require.Same(t, want[n], got)
		}
		v := new(int)
		want[i] = v
		c.put(id(i), v)
		if i > entries/16 {
			back := i - g.IntN(entries/16)
			require.Same(t, want[back], c.get(id(back)), "put %d steps ago", i-back)
		}
		require.NotNil(t, c.get(id(i-i%7)))
	}
	slots := 0
	for i := range c.shards {
		slots += len(c.shards[i].young.Load().slots) + len(c.shards[i].old.Load().slots)
	}
	require.LessOrEqual(t, slots/2, 2*entries)

	c.reset()
	require.Nil(t, c.get(id(20*entries-1)))
}

// TestCacheReplaces: the value of a key can change.
func TestCacheReplaces(t *testing.T) {
	c := newCache[int](10)
	a, b := new(int), new(int)
	c.put(key{1, 2}, a)
	c.put(key{1, 2}, b)
	require.Same(t, b, c.get(key{1, 2}))
	require.Nil(t, c.get(key{2, 2}))
	require.Nil(t, c.get(key{1, 3}))
}

func TestCacheConcurrent(t *testing.T) {
	c := newCache[int](256)
	k := newKeyer()
	values := make([]int, 1000)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for round := range 20_000 {
				i := (round * 7919) % len(values)
				id := k.of([]byte{byte(i), byte(i >> 8)})
				if got := c.get(id); got != nil && got != &values[i] {
					t.Errorf("got the value of another key")
				} else if got == nil {
					c.put(id, &values[i])
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
