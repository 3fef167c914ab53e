package part

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// A data file that is cut under the hands of those who have it mapped is damage like
// any other, that names the place: whether it happens between two questions about a
// block or before the first. What headers know they still answer.
func TestDataCutWhileMapped(t *testing.T) {
	for _, opened := range []bool{false, true} {
		dir := filepath.ToSlash(filepath.Join(t.TempDir(), "a"))
		list := tsbs(10, 8000)
		writePart(t, vfs.OS{}, dir, WriterOptions{}, list)
		p := openPart(t, vfs.OS{}, dir)
		p.UseMapped(NewMapped(1 << 20))
		o := uint32(len(list) - 1)
		want := answersFor(p, o, 10, 2000) // now its checksum was compared
		require.Equal(t, want, answersFor(p, o, 10, 2000))
		c := p.Spans(o, math.MinInt64, math.MaxInt64)
		require.True(t, c.Next())
		s := *c.Span()
		sum, exact := s.Stat(block.StatSum, 0, s.Count)
		require.True(t, exact)
		if opened {
			_, exact = s.Stat(block.StatSum, 1, 3000)
			require.True(t, exact)
		}
		require.NoError(t, os.Truncate(filepath.Join(filepath.FromSlash(dir), DataFile), 100))
		got, exact := s.Stat(block.StatSum, 0, s.Count)
		require.True(t, exact)
		require.Equal(t, sum, got)
		_, exact = s.Stat(block.StatSum, 1, 4000)
		require.False(t, exact)
		some := s.Slice(7000, 7003)
		err := some.Load()
		require.ErrorIs(t, err, block.ErrCorrupt)
		var damage *block.CorruptionError
		require.ErrorAs(t, err, &damage)
		require.Equal(t, dir+"/"+DataFile, damage.File)
		require.Positive(t, damage.Offset)
		require.Len(t, p.Damage(o, math.MinInt64, math.MaxInt64), 1)
		require.NoError(t, p.Close())
	}
}

// A block that is found damaged is checked again by whoever comes next.
func TestMappedBlockIsCheckedAgain(t *testing.T) {
	dir := filepath.ToSlash(filepath.Join(t.TempDir(), "a"))
	list := tsbs(10, 8000)
	writePart(t, vfs.OS{}, dir, WriterOptions{}, list)
	p := openPart(t, vfs.OS{}, dir)
	p.UseMapped(NewMapped(1 << 20))
	o := uint32(3)
	want := answersFor(p, o, 10, 2000)
	require.Equal(t, want, answersFor(p, o, 10, 2000))
	c := p.Spans(o, math.MinInt64, math.MaxInt64)
	require.True(t, c.Next())
	r := c.(*groupCursor).r
	f, err := os.OpenFile(filepath.Join(filepath.FromSlash(dir), DataFile), os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte{0xaa, 0x55, 0xaa}, r.offset()+int64(r.h.Length)/2)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.ErrorIs(t, drain(p.Cursor(o, math.MinInt64, math.MaxInt64)), block.ErrCorrupt)
	require.Less(t, len(answersFor(p, o, 10, 2000)), len(want))
	require.NoError(t, p.Close())
}

func drain(c block.Cursor) error {
	for c.Next() {
	}
	return c.Err()
}
