package part

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// manySeries are so many that their index is mapped.
func manySeries() []testSeries {
	var out []testSeries
	for i := range fewSeries + 2000 {
		out = append(out, testSeries{
			lset:  labels.FromStrings("__name__", "m", "i", fmt.Sprintf("%06d", i), "text", fmt.Sprintf("%x", i*i*7919)),
			spans: []block.Span{{Kind: block.KindFloat, Count: 1, Start: dayStart, Floats: []float64{float64(i)}}},
		})
	}
	return out
}

func selectOne(p *Part, name, value string) ([]uint32, error) {
	seg, err := p.Index()
	if err != nil {
		return nil, err
	}
	set, err := seg.Select(labels.MustNewMatcher(labels.MatchEqual, name, value))
	if err != nil {
		return nil, err
	}
	return seg.Ordinals(set)
}

// TestMappedIndexTellsDamage: a flipped bit is found where it is used, named with
// file and page, and by Verify.
func TestMappedIndexTellsDamage(t *testing.T) {
	fs := vfs.NewMem()
	list := manySeries()
	writePart(t, fs, "a", WriterOptions{}, list)
	good, err := vfs.ReadFile(fs, "a/"+IndexFile)
	require.NoError(t, err)
	require.Greater(t, len(good), smallIndex)
	p := openPart(t, fs, "a")
	ords, err := selectOne(p, "i", "004321")
	require.NoError(t, err)
	require.Equal(t, []uint32{4321}, ords)
	require.NotNil(t, p.mu.mapping)
	require.Empty(t, problems(t, fs, "a"))
	require.NoError(t, p.Close())
	for at := 100; at < len(good); at += 9973 {
		bad := append([]byte(nil), good...)
		bad[at] ^= 0x10
		overwrite(t, fs, "a/"+IndexFile, bad)
		found := problems(t, fs, "a")
		require.NotEmpty(t, found, "byte %d", at)
		got, err := readAll(fs, "a")
		require.Error(t, err, "byte %d: %d", at, len(got))
		var c *block.CorruptionError
		require.True(t, errors.As(err, &c), "%v", err)
		require.Equal(t, "a/"+IndexFile, c.File)
	}
}

// TestIndexOfAnother: a sound index that is not the part's is noticed by Verify.
func TestIndexOfAnother(t *testing.T) {
	fs := vfs.NewMem()
	list := manySeries()
	writePart(t, fs, "a", WriterOptions{}, list)
	for i := range list {
		list[i].lset = labels.NewBuilder(list[i].lset).Set("__name__", "n").Labels()
	}
	writePart(t, fs, "b", WriterOptions{}, list)
	other, err := vfs.ReadFile(fs, "b/"+IndexFile)
	require.NoError(t, err)
	overwrite(t, fs, "a/"+IndexFile, other)
	found := problems(t, fs, "a")
	require.Len(t, found, 1)
	require.ErrorContains(t, found[0].Cause, "checksum")
}

// TestMappedIndexIsCutOff: memory that the disk does not back any more is an
// error, not the end of the process.
func TestMappedIndexIsCutOff(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files are not mapped there")
	}
	dir := filepath.ToSlash(t.TempDir())
	writePart(t, vfs.OS{}, dir+"/a", WriterOptions{}, manySeries())
	p := openPart(t, vfs.OS{}, dir+"/a")
	_, err := p.Index()
	require.NoError(t, err)
	require.NoError(t, os.Truncate(dir+"/a/"+IndexFile, 100))
	_, err = selectOne(p, "i", "004321")
	require.ErrorIs(t, err, block.ErrCorrupt)
	require.NoError(t, p.Close())
}

// TestEveryStepOfIndexMayFail fails each operation of opening a large index.
func TestEveryStepOfIndexMayFail(t *testing.T) {
	mem := vfs.NewMem()
	writePart(t, mem, "a", WriterOptions{}, manySeries())
	for k := int64(1); ; k++ {
		fault := vfs.NewFault(mem)
		p := openPart(t, fault, "a")
		fault.FailOp(k)
		_, err := selectOne(p, "i", "004321")
		if fault.Fired() == 0 {
			require.NoError(t, err)
			fault.Clear()
			require.NoError(t, p.Close())
			require.Greater(t, k, int64(4))
			return
		}
		require.ErrorIs(t, err, vfs.ErrInjected)
		fault.Clear()
		ords, err := selectOne(p, "i", "004321")
		require.NoError(t, err)
		require.Equal(t, []uint32{4321}, ords)
		require.NoError(t, p.Close())
	}
}

// TestMonthsKnowTheDays: in a part of a month the index knows who was active
// when, in a part of a day that goes without saying.
func TestMonthsKnowTheDays(t *testing.T) {
	fs := vfs.NewMem()
	at := func(name string, days ...int64) testSeries {
		s := testSeries{lset: labels.FromStrings("a", name)}
		for _, day := range days {
			s.spans = append(s.spans, block.Span{Kind: block.KindFloat, Count: 1, Start: dayStart + day*dayMillis, Floats: []float64{1}})
		}
		return s
	}
	writePart(t, fs, "a", WriterOptions{AllowMonth: true}, []testSeries{at("1", 0, 2), at("2", 1), at("3", 0, 1)})
	p := openPart(t, fs, "a")
	seg, err := p.Index()
	require.NoError(t, err)
	first := dayStart / dayMillis
	require.Equal(t, []int64{first, first + 1, first + 2}, seg.Days())
	for days, want := range map[[2]int64][]uint32{{0, 0}: {0, 2}, {1, 2}: {0, 1, 2}} {
		set, err := seg.Active(first+days[0], first+days[1])
		require.NoError(t, err)
		got, err := seg.Ordinals(set)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	writePart(t, fs, "b", WriterOptions{}, []testSeries{at("1", 0)})
	seg, err = openPart(t, fs, "b").Index()
	require.NoError(t, err)
	require.Empty(t, seg.Days())
}
