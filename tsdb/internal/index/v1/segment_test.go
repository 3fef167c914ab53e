package v1

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// randomSets returns distinct label sets in order. Names and values are few, so
// that matchers hit; some are absent, long, or not ASCII.
func randomSets(r *rand.Rand, n int) []labels.Labels {
	names := []string{"__name__", "a", "b", "instance", "job", "päth", "z"}
	seen := map[string]bool{}
	var out []labels.Labels
	for range n {
		var pairs []string
		for i, name := range names {
			if r.IntN(4) == 0 {
				continue
			}
			value := fmt.Sprintf("v%d", r.IntN(1+i*i*i))
			switch r.IntN(40) {
			case 0:
				value = strings.Repeat(value, 200)
			case 1:
				value = "é\xff" + value
			}
			pairs = append(pairs, name, value)
		}
		lset := labels.FromStrings(pairs...)
		if key := string(lset.Bytes(nil)); !seen[key] {
			seen[key] = true
			out = append(out, lset)
		}
	}
	return sortSets(out)
}

func sortSets(sets []labels.Labels) []labels.Labels {
	slices.SortFunc(sets, labels.Compare)
	return sets
}

func build(t testing.TB, sets []labels.Labels) []byte {
	t.Helper()
	var w Writer
	for i, lset := range sets {
		ordinal, err := w.Add(lset)
		require.NoError(t, err)
		require.EqualValues(t, i, ordinal)
	}
	b, err := w.Append(nil)
	require.NoError(t, err)
	again, err := w.Append([]byte("x"))
	require.NoError(t, err)
	require.Equal(t, b, again[1:])
	return b
}

func open(t testing.TB, sets []labels.Labels) *Segment {
	t.Helper()
	s, err := Open(build(t, sets))
	require.NoError(t, err)
	return s
}

func TestLabelsComeBack(t *testing.T) {
	for seed, n := range []int{0, 1, 5, 80, 2000} {
		sets := randomSets(rand.New(rand.NewPCG(uint64(seed), 7)), n)
		s := open(t, sets)
		require.Equal(t, len(sets), s.Len())
		var b labels.ScratchBuilder
		for i, want := range sets {
			require.Equal(t, want, s.Labels(uint32(i), &b))
		}
	}
}

func TestPostingsForms(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	forms := map[byte]int{}
	for range 500 {
		n := uint32(1 + r.IntN(3000))
		density := 1 + r.IntN(60)
		burst := r.IntN(3) == 0
		var list []uint32
		on := false
		for i := range n {
			if !burst || r.IntN(40) == 0 {
				on = r.IntN(60) < density
			}
			if on {
				list = append(list, i)
			}
		}
		b := appendPostings(nil, list, n)
		forms[b[0]]++
		got, ok := decodePostings(nil, b, n)
		require.True(t, ok)
		require.Equal(t, list, got)
		for i := range b {
			_, _ = decodePostings(nil, b[:i], n)
		}
	}
	require.Len(t, forms, 3, "%v", forms)
}

func TestFlippedBytesAreNoticed(t *testing.T) {
	b := build(t, randomSets(rand.New(rand.NewPCG(4, 4)), 50))
	for i := range b {
		b[i] ^= 0x20
		_, err := Open(b)
		require.Error(t, err, "byte %d", i)
		b[i] ^= 0x20
	}
	_, err := Open(b[:len(b)-1])
	require.ErrorIs(t, err, block.ErrCorrupt)
}

// TestGoldenSegment reads a segment as it was written when version 1 was.
func TestGoldenSegment(t *testing.T) {
	stored, err := os.ReadFile("testdata/v1.index")
	require.NoError(t, err)
	s, err := Open(stored)
	require.NoError(t, err)
	var b labels.ScratchBuilder
	sets := randomSets(rand.New(rand.NewPCG(11, 11)), 40)
	require.Equal(t, len(sets), s.Len())
	for i, want := range sets {
		require.Equal(t, want, s.Labels(uint32(i), &b))
	}
}
