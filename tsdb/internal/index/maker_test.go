package index

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

// Makers give the sets that Labels does, of segments and heads, in whatever order they
// are asked for and whatever of them is kept.
func TestMakerIsLabels(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	sets := randomSets(r, 3000)
	few := Caches{Sets: NewLabelSets(64 << 10)}
	for _, caches := range []Caches{{}, {Sets: NewLabelSets(16 << 20)}, few} {
		s, err := Open(build(t, sets, Options{}, nil), caches)
		require.NoError(t, err)
		h, _ := headOf(t, r, sets, caches)
		for _, v := range []*View{&s.View, h.View()} {
			for range 20 {
				requireMade(t, r, v)
			}
		}
		if c := caches.Sets; c != nil {
			require.Positive(t, c.Bytes())
			require.LessOrEqual(t, c.Bytes(), c.limit)
			s.Close()
			h.Close()
			require.Zero(t, c.Bytes())
			require.Empty(t, c.mu.pages)
		}
	}
}

// requireMade holds a Maker of some series to Labels.
func requireMade(t *testing.T, r *rand.Rand, v *View) {
	var series, order []uint32
	gap := 1 + r.IntN(40)
	for id := r.IntN(100); id < v.Len(); id += 1 + r.IntN(gap) {
		series = append(series, uint32(id))
	}
	if v.segment == nil {
		for i := range series {
			order = append(order, uint32(i))
		}
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	m := v.Maker(series, order)
	var b labels.ScratchBuilder
	for k := 0; k < len(series); k++ {
		if r.IntN(50) == 0 {
			k = r.IntN(len(series))
		}
		id := series[k]
		if order != nil {
			id = series[order[k]]
		}
		want, err := v.Labels(id, &b)
		require.NoError(t, err)
		got, err := m.Labels(k)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// A series of which the bytes are damaged fails no other one.
func TestMakerMeetsDamage(t *testing.T) {
	sets := make([]labels.Labels, 20_000)
	for i := range sets {
		sets[i] = manyLabelsOf(i)
	}
	slices.SortFunc(sets, labels.Compare)
	file := build(t, sets, Options{}, nil)
	sound, err := Open(slices.Clone(file), Caches{})
	require.NoError(t, err)
	section := sound.data
	file[section.at+uint64(len(section.b))-dataSlack-1] ^= 1
	s, err := Open(file, Caches{Sets: NewLabelSets(32 << 20)})
	require.NoError(t, err)
	all := make([]uint32, len(sets))
	for i := range all {
		all[i] = uint32(i)
	}
	m := s.Maker(all, nil)
	var b labels.ScratchBuilder
	failed := 0
	for k, want := range sets {
		_, wantErr := s.Labels(uint32(k), &b)
		got, err := m.Labels(k)
		require.Equal(t, wantErr == nil, err == nil, "%d: %v", k, err)
		if err != nil {
			failed++
			require.True(t, got.IsEmpty())
			continue
		}
		require.Equal(t, want, got)
	}
	require.Positive(t, failed)
	require.Less(t, failed, len(sets))
}

// What is asked for over and over stays, though far more comes by.
func TestLabelSetsKeepsWhatIsUsed(t *testing.T) {
	c := NewLabelSets(100_000)
	source, other := c.source(), c.source()
	require.NotEqual(t, source, other)
	lset := labels.FromStrings("a", "b")
	used := []uint32{3, 4, 70}
	put := func(source uint64, series ...uint32) {
		sets := make([]labels.Labels, len(series))
		missing := c.get(source, series, sets, nil)
		for _, i := range missing {
			sets[i] = lset
		}
		c.put(source, series, sets, missing)
	}
	put(source, used...)
	for page := range uint32(100_000) {
		put(other, page*setsPerPage)
		require.LessOrEqual(t, c.Bytes(), 100_000)
		got := make([]labels.Labels, len(used))
		require.Empty(t, c.get(source, used, got, nil))
		require.Equal(t, []labels.Labels{lset, lset, lset}, got)
	}
	require.Equal(t, []int{1}, c.get(source, []uint32{4, 5}, make([]labels.Labels, 2), nil))
	bytes := 0
	for _, page := range c.mu.pages {
		bytes += page.bytes
	}
	require.Equal(t, bytes, c.Bytes())
	require.Len(t, c.mu.ring, len(c.mu.pages))
	var none *LabelSets
	require.Equal(t, []int{0, 1}, none.get(1, []uint32{4, 5}, make([]labels.Labels, 2), nil))
	none.put(1, []uint32{4}, []labels.Labels{lset}, []int{0})
}

// Many ask at once, one after the other and in disorder.
func TestLabelSetsTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	sets := randomSets(r, 1000)
	s, err := Open(build(t, sets, Options{}, nil), Caches{Sets: NewLabelSets(100 << 10)})
	require.NoError(t, err)
	all := make([]uint32, len(sets))
	for i := range all {
		all[i] = uint32(i)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(g)))
			m := s.Maker(all, nil)
			for k, n := 0, 0; n < 5000; k, n = k+1, n+1 {
				if k == len(all) || r.IntN(100) == 0 {
					k = r.IntN(len(all))
				}
				if got, err := m.Labels(k); err != nil || !labels.Equal(sets[k], got) {
					t.Errorf("labels of %d: got %v, %v, want %v", k, got, err, sets[k])
					return
				}
			}
		})
	}
	wg.Wait()
}
