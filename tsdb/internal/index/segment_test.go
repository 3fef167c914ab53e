package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
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

func randomMatcher(r *rand.Rand) *labels.Matcher {
	names := []string{"__name__", "a", "b", "instance", "job", "päth", "z", "absent"}
	values := []string{"", "v0", "v1", "v12", "none", "v1|v2|v30", "v1.*", ".*", ".+", "", "v[0-9]", "(?i)V1.*", ".*2", "v1|", "é.*", "v0{200}.*", "[^v].*", "v1.+|v2"}
	return labels.MustNewMatcher(labels.MatchType(r.IntN(4)), names[r.IntN(len(names))], values[r.IntN(len(values))])
}

// selectNaive is the slow twin of Select.
func selectNaive(sets []labels.Labels, ms []*labels.Matcher) []uint32 {
	var out []uint32
next:
	for i, lset := range sets {
		for _, m := range ms {
			if !m.Matches(lset.Get(m.Name)) {
				continue next
			}
		}
		out = append(out, uint32(i))
	}
	return out
}

func TestSelectEqualsNaiveFilter(t *testing.T) {
	hits := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		sets := randomSets(r, []int{0, 1, 5, 80, 2000}[seed%5])
		s := open(t, sets)
		for range 150 {
			var ms []*labels.Matcher
			for range r.IntN(4) {
				ms = append(ms, randomMatcher(r))
			}
			got, err := s.Select(ms...)
			require.NoError(t, err)
			want := selectNaive(sets, ms)
			if len(want) == 0 {
				require.Empty(t, got, "%v", ms)
				continue
			}
			hits++
			require.Equal(t, want, got, "seed %d: %v", seed, ms)
		}
	}
	require.Greater(t, hits, 1000)
}

func TestLabelsComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	sets := randomSets(r, 1500)
	s := open(t, sets)
	require.Equal(t, len(sets), s.Len())
	var b labels.ScratchBuilder
	for i, want := range sets {
		require.Equal(t, want, s.Labels(uint32(i), &b))
		got, ok := s.Lookup(want)
		require.True(t, ok)
		require.EqualValues(t, i, got)
	}
	for _, lset := range randomSets(rand.New(rand.NewPCG(8, 8)), 1500) {
		_, want := slices.BinarySearchFunc(sets, lset, labels.Compare)
		_, got := s.Lookup(lset)
		require.Equal(t, want, got)
	}
	other := randomSets(rand.New(rand.NewPCG(9, 9)), 100)
	o := open(t, other)
	for i := range other {
		k := r.IntN(len(sets))
		require.Equal(t, sign(labels.Compare(sets[k], other[i])), sign(s.Compare(uint32(k), o, uint32(i))))
		require.Equal(t, sign(labels.Compare(sets[k], other[i])), sign(s.CompareLabels(uint32(k), other[i])))
	}
}

func sign(v int) int { return max(-1, min(1, v)) }

func TestNamesValuesAndColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	sets := randomSets(r, 700)
	s := open(t, sets)
	for _, pick := range []int{0, 1, 50, len(sets)} {
		var ords []uint32
		for i := range sets {
			if r.IntN(len(sets)) < pick {
				ords = append(ords, uint32(i))
			}
		}
		names, values := map[string]bool{}, map[string]map[string]bool{}
		for _, o := range ords {
			sets[o].Range(func(l labels.Label) {
				names[l.Name] = true
				if values[l.Name] == nil {
					values[l.Name] = map[string]bool{}
				}
				values[l.Name][l.Value] = true
			})
		}
		if ords == nil {
			ords = []uint32{}
		}
		require.Equal(t, keys(names), s.LabelNames(ords))
		for _, name := range append(keys(names), "absent") {
			require.Equal(t, keys(values[name]), s.LabelValues(name, ords))
			if pick == len(sets) {
				require.Equal(t, keys(values[name]), s.LabelValues(name, nil))
			}
			column := s.Column(name)
			for _, o := range ords {
				require.Equal(t, sets[o].Get(name), column.Value(column.Ordinal(o)))
			}
		}
	}
	require.Equal(t, s.LabelNames(nil), keys(toSet(s.LabelNames(nil))))
	for _, c := range s.Cardinality() {
		total, values, bytes := 0, 0, 0
		s.ValueCardinality(c.Name, func(value string, series int) {
			total, values, bytes = total+series, values+1, bytes+len(value)
		})
		require.Equal(t, NameCount{c.Name, values, total, bytes}, c)
	}
}

func toSet(list []string) map[string]bool {
	out := map[string]bool{}
	for _, s := range list {
		out[s] = true
	}
	return out
}

func keys(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func TestWriterRefuses(t *testing.T) {
	var w Writer
	_, err := w.Add(labels.FromStrings("a", "2"))
	require.NoError(t, err)
	_, err = w.Add(labels.FromStrings("a", "2"))
	require.ErrorIs(t, err, ErrOrder)
	_, err = w.Add(labels.FromStrings("a", "1"))
	require.ErrorIs(t, err, ErrOrder)
	_, err = w.Add(labels.FromStrings("b", ""))
	require.ErrorContains(t, err, `label "b" is empty`)
	require.Equal(t, 1, w.Len())
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
