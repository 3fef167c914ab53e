package index

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSpaceAddsUp wants every byte of each version accounted for, and no more for
// labels than their sections have.
func TestSpaceAddsUp(t *testing.T) {
	files, err := filepath.Glob("testdata/v*.index")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		s, err := Open(b, Caches{})
		require.NoError(t, err)
		space, err := s.Space()
		require.NoError(t, err)
		require.EqualValues(t, len(b), space.Dictionaries+space.Postings+space.Columns+space.Frame, name)
		require.Equal(t, bytes.Contains([]byte(name), []byte("compressed")), space.Compressed, name)
		dictionary, columns := uint64(0), uint64(0)
		var names []string
		counts := s.Cardinality()
		for i, l := range space.Labels {
			require.Equal(t, counts[i].Values, l.Values)
			require.Equal(t, counts[i].Series, l.Series)
			dictionary += l.Dictionary
			columns += l.Columns
			names = append(names, l.Name)
		}
		require.Equal(t, s.LabelNames(nil), names)
		require.Positive(t, dictionary)
		require.Positive(t, columns)
		if !space.Compressed {
			require.LessOrEqual(t, dictionary, space.Dictionaries, name)
			require.LessOrEqual(t, columns, space.Columns, name)
		}
	}
}
