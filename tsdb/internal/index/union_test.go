package index

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// joined writes the series of a union that keep wants.
func joined(t testing.TB, u *Union, o Options, keep func(lset labels.Labels) bool) []byte {
	t.Helper()
	o.Terms = u
	w := NewWriter(o)
	j := u.Join()
	for j.Next() {
		lset, err := j.Labels()
		require.NoError(t, err)
		for _, at := range j.Places() {
			got, err := u.inputs[at.Input].s.Labels(at.Series, &labels.ScratchBuilder{})
			require.NoError(t, err)
			require.Equal(t, lset, got)
		}
		if !keep(lset) {
			continue
		}
		n, err := w.AddRow(j.Row())
		require.NoError(t, err)
		require.EqualValues(t, w.Len()-1, n)
		require.NoError(t, w.Active(int64(len(j.Places()))))
	}
	require.NoError(t, j.Err())
	var out bytes.Buffer
	_, err := w.WriteTo(&out)
	require.NoError(t, err)
	return out.Bytes()
}

// TestUnionWritesWhatStringsDo holds a join by numbers to the writer of strings,
// which is its slow twin, byte by byte.
func TestUnionWritesWhatStringsDo(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 4))
		sets := randomSets(r, []int{3, 300, 5000}[seed%3])
		lists := make([][]labels.Labels, 1+r.IntN(5))
		have := make([]int64, len(sets))
		for k, lset := range sets {
			for i := range lists {
				if r.IntN(2) == 0 {
					lists[i] = append(lists[i], lset)
					have[k]++
				}
			}
		}
		var segments []*Segment
		for _, list := range lists {
			segments = append(segments, open(t, list, Caches{}))
		}
		u, err := NewUnion(segments)
		require.NoError(t, err)
		for _, mod := range []int{1, 3} {
			keep := func(lset labels.Labels) bool { return int(lset.Hash()%uint64(mod)) == 0 }
			var want []labels.Labels
			var times []int64
			for k, lset := range sets {
				if have[k] > 0 && keep(lset) {
					want, times = append(want, lset), append(times, have[k])
				}
			}
			o := Options{Compress: seed%2 == 0}
			plain := build(t, want, o, func(i int) []int64 { return times[i : i+1] })
			require.Equal(t, plain, joined(t, u, o, keep), "seed %d", seed)
			f, err := os.Create(filepath.Join(t.TempDir(), "scratch"))
			require.NoError(t, err)
			defer f.Close()
			o.Scratch = f
			require.Equal(t, plain, joined(t, u, o, keep), "seed %d", seed)
		}
	}
}

func TestUnionTellsDamage(t *testing.T) {
	sets := randomSets(rand.New(rand.NewPCG(3, 3)), 8000)
	good := build(t, sets, Options{}, nil)
	require.Greater(t, len(good), 2*pageSize)
	found := 0
	for at := pageSize / 2; at < len(good)-pageSize; at += pageSize {
		bad := bytes.Clone(good)
		bad[at] ^= 1
		s, err := Open(bad, Caches{})
		if err != nil {
			continue
		}
		s.File = "bad"
		err = walkUnion([]*Segment{open(t, sets[:100], Caches{}), s})
		if err == nil {
			continue // postings, which a join does not need
		}
		var c *block.CorruptionError
		require.True(t, errors.As(err, &c))
		require.Equal(t, "bad", c.File)
		found++
	}
	require.Positive(t, found)
}

func walkUnion(segments []*Segment) error {
	u, err := NewUnion(segments)
	if err != nil {
		return err
	}
	j := u.Join()
	for j.Next() {
	}
	return j.Err()
}

func TestRowsComeInOrder(t *testing.T) {
	sets := randomSets(rand.New(rand.NewPCG(3, 8)), 100)
	u, err := NewUnion([]*Segment{open(t, sets, Caches{})})
	require.NoError(t, err)
	w := NewWriter(Options{Terms: u})
	j := u.Join()
	require.True(t, j.Next())
	require.True(t, j.Next())
	_, err = w.AddRow(j.Row())
	require.NoError(t, err)
	_, err = w.AddRow(j.Row())
	require.ErrorIs(t, err, ErrOrder)
}
