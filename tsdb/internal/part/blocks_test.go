package part

import (
	"errors"
	"math"
	"math/rand/v2"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// TestEachBlockTellsWhatCursorsRead holds the blocks as they are listed against
// what reading yields, in both formats.
func TestEachBlockTellsWhatCursorsRead(t *testing.T) {
	list := randomSeries(rand.New(rand.NewPCG(4, 4)), 40, 1500)
	mem := vfs.NewMem()
	writePart(t, mem, "two", WriterOptions{BlockSamples: 700}, list)
	for _, c := range []struct {
		fs  vfs.FS
		dir string
	}{{mem, "two"}, {vfs.OS{}, "testdata/v2"}, {vfs.OS{}, "testdata/v1"}} {
		p := openPart(t, c.fs, c.dir)
		type sum struct {
			samples    uint64
			mint, maxt int64
		}
		got, want := map[uint32]sum{}, map[uint32]sum{}
		bytes := uint64(0)
		require.NoError(t, p.EachBlock(nil, func(b *BlockInfo) error {
			require.Equal(t, c.dir != "testdata/v1", b.Header != nil)
			x, ok := got[b.Series]
			if !ok {
				x.mint = b.MinT
			}
			require.True(t, !ok || b.MinT > x.maxt, "blocks ascend")
			got[b.Series] = sum{x.samples + uint64(b.Samples), x.mint, b.MaxT}
			bytes += uint64(b.Bytes)
			n := 0
			_, err := p.BlocksAt(b.Offset, func(at *BlockInfo, cursor block.Cursor) error {
				for at.Series == b.Series && at.MinT == b.MinT && cursor.Next() {
					n += cursor.Span().Count
				}
				return cursor.Err()
			})
			require.Equal(t, b.Samples, n)
			return err
		}, func(l Loss) { require.Fail(t, "nothing is lost", "%v", l) }))
		require.NoError(t, p.EachLoss(func(l Loss) { require.Fail(t, "nothing is lost", "%v", l) }))
		for series := range uint32(p.Meta().Series) {
			cursor := p.Cursor(series, math.MinInt64, math.MaxInt64)
			for x := (sum{mint: math.MaxInt64}); cursor.Next(); {
				s := cursor.Span()
				x = sum{x.samples + uint64(s.Count), min(x.mint, s.MinT()), s.MaxT()}
				want[series] = x
			}
			require.NoError(t, cursor.Err())
		}
		require.Equal(t, want, got)
		for series := range uint32(p.Meta().Series) {
			n := uint64(0)
			require.NoError(t, p.EachBlock([]uint32{series}, func(b *BlockInfo) error {
				require.Equal(t, series, b.Series)
				n += uint64(b.Samples)
				return nil
			}, func(Loss) {}))
			require.Equal(t, want[series].samples, n)
		}
		require.NoError(t, p.EachBlock([]uint32{}, func(*BlockInfo) error { return errors.New("none was asked for") }, func(Loss) {}))
		space, err := p.DataSpace()
		require.NoError(t, err)
		info, err := c.fs.Stat(path.Join(c.dir, DataFile))
		require.NoError(t, err)
		require.EqualValues(t, info.Size(), space.Payloads+space.Times+space.Headers+space.Tables)
		require.InDelta(t, float64(space.Payloads), float64(bytes), float64(len(list)), "in format 1 shares are rounded")
		require.NoError(t, p.Close())
	}
}

// TestEachLossTellsWhatVerifyFinds flips bytes of the groups: whatever Verify
// reports costs samples that EachLoss names, at that place.
func TestEachLossTellsWhatVerifyFinds(t *testing.T) {
	mem := vfs.NewMem()
	list := randomSeries(rand.New(rand.NewPCG(5, 5)), 20, 1000)
	writePart(t, mem, "p", WriterOptions{}, list)
	data, err := vfs.ReadFile(mem, "p/"+DataFile)
	require.NoError(t, err)
	p := openPart(t, mem, "p")
	end := int(p.sections.SectionsBegin())
	require.NoError(t, p.Close())
	for at := 8; at < end; at += 1 + end/20 {
		b := append([]byte(nil), data...)
		b[at] ^= 0x20
		overwrite(t, mem, "p/"+DataFile, b)
		p := openPart(t, mem, "p")
		found, lost := map[int64]bool{}, map[int64]bool{}
		require.NoError(t, p.Verify(func(x Problem) { found[x.Offset] = true }))
		require.NoError(t, p.EachLoss(func(l Loss) {
			require.Positive(t, l.Samples)
			require.LessOrEqual(t, l.MinT, l.MaxT)
			require.Equal(t, "p/"+DataFile, l.Problem.File)
			lost[l.Problem.Offset] = true
		}))
		require.NotEmpty(t, found, "byte %d", at)
		require.Equal(t, found, lost, "byte %d", at)
		require.NoError(t, p.Close())
	}
}

// TestVerifyGoesOnWithoutIndex wants damage of the data file told although the
// index does not open.
func TestVerifyGoesOnWithoutIndex(t *testing.T) {
	mem := vfs.NewMem()
	writePart(t, mem, "p", WriterOptions{}, randomSeries(rand.New(rand.NewPCG(6, 6)), 10, 100))
	for _, name := range []string{IndexFile, DataFile} {
		b, err := vfs.ReadFile(mem, "p/"+name)
		require.NoError(t, err)
		b[12] ^= 1
		overwrite(t, mem, "p/"+name, b)
	}
	p := openPart(t, mem, "p")
	var files []string
	require.NoError(t, p.Verify(func(x Problem) { files = append(files, x.File) }))
	require.Equal(t, []string{"p/" + IndexFile, "p/" + DataFile}, files)
	require.NoError(t, p.Close())
}
