package index

import (
	"fmt"
	"os"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

func goldenSets() []labels.Labels {
	return []labels.Labels{
		labels.FromStrings("__name__", "cpu", "host", "a", "mode", "idle"),
		labels.FromStrings("__name__", "cpu", "host", "a", "mode", "user"),
		labels.FromStrings("__name__", "cpu", "host", "b", "mode", "idle"),
		labels.FromStrings("__name__", "up", "host", "a"),
		labels.FromStrings("__name__", "up", "host", "c"),
	}
}

// packedSets add what version 3 packs: many values of one length, one series each.
func packedSets() []labels.Labels {
	sets := goldenSets()
	for i := range 100 {
		sets = append(sets, labels.FromStrings("__name__", "up", "uid", fmt.Sprintf("%08x-4%03x", i*0x1234567, i*41%4096)))
	}
	return sets
}

// TestGoldenSegments: what was written once is read for ever, and is still
// written so. VARVE_REWRITE_GOLDEN=1 writes the file of a new version.
func TestGoldenSegments(t *testing.T) {
	days := func(i int) []int64 { return []int64{20_000 + int64(i%2)} }
	for file, o := range map[string]*Options{
		"testdata/v2.index": nil, "testdata/v2_compressed.index": nil,
		"testdata/v3.index": {}, "testdata/v3_compressed.index": {Compress: true},
	} {
		if o == nil { // nobody writes it any more
			requireGolden(t, file, goldenSets())
			continue
		}
		written := build(t, packedSets(), *o, days)
		if os.Getenv("VARVE_REWRITE_GOLDEN") != "" {
			require.NoError(t, os.MkdirAll("testdata", 0o777))
			require.NoError(t, os.WriteFile(file, written, 0o666))
		}
		stored, err := os.ReadFile(file)
		require.NoError(t, err)
		if !o.Compress { // zstd may learn to do better
			require.Equal(t, stored, written)
		}
		requireGolden(t, file, packedSets())
	}
}

func requireGolden(t *testing.T, file string, sets []labels.Labels) {
	stored, err := os.ReadFile(file)
	require.NoError(t, err)
	s, err := Open(stored, Caches{})
	require.NoError(t, err)
	require.NoError(t, s.Verify())
	require.Equal(t, []int64{20_000, 20_001}, s.Days())
	require.Equal(t, len(sets), s.Len())
	require.Equal(t, []uint32{1, 3}, active(t, s, 20_001, 20_001).AppendTo(nil)[:2])
	var b labels.ScratchBuilder
	for i, want := range sets {
		got, err := s.Labels(uint32(i), &b)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, err := s.Select(labels.MustNewMatcher(labels.MatchRegexp, "host", "a|c"), labels.MustNewMatcher(labels.MatchEqual, "mode", ""))
	require.NoError(t, err)
	require.Equal(t, []uint32{3, 4}, got.AppendTo(nil))
}
