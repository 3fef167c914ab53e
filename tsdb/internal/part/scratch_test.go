package part

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

func TestScratch(t *testing.T) {
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("p"))
	for _, pieces := range []int{3, 30} {
		s := newScratch(fs, "p")
		var want []byte
		for i := range pieces {
			b := bytes.Repeat([]byte{byte(i)}, 100_000+i)
			n, err := s.Write(b)
			require.NoError(t, err)
			require.Equal(t, len(b), n)
			want = append(want, b...)
		}
		require.Equal(t, len(want) > scratchBytes, s.file != nil)
		got := make([]byte, 150_000)
		for _, off := range []int{0, 99_999, len(want) - len(got)} {
			n, err := s.ReadAt(got, int64(off))
			require.NoError(t, err)
			require.Equal(t, want[off:][:n], got)
		}
		require.NoError(t, s.remove())
		require.NoError(t, s.remove())
		names, err := fs.List("p")
		require.NoError(t, err)
		require.Empty(t, names)
	}
}
