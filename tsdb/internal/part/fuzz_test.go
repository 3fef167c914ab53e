package part

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index/section"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// reseal writes the sections of a data file anew with one of them changed, so
// that the checksums hold and the checks behind them are met.
func reseal(t testing.TB, data []byte, id uint64, change func([]byte)) []byte {
	f, err := section.Open(bytes.NewReader(data), int64(len(data)), dataFormat)
	require.NoError(t, err)
	out := bytes.Clone(data[:f.SectionsBegin()])
	var w section.Writer
	for s := uint64(secPages); s <= secMeta; s++ {
		b, err := f.Read(s)
		require.NoError(t, err)
		if s == id {
			change(b)
		}
		out, err = w.Append(out, 0, s, b)
		require.NoError(t, err)
	}
	return w.AppendFooter(out, dataFormat)
}

func fuzzPart(t testing.TB) (*vfs.Mem, []byte) {
	fs := vfs.NewMem()
	writePart(t, fs, "a", WriterOptions{BlockSamples: 20}, randomSeries(rand.New(rand.NewPCG(5, 5)), 12, 30))
	data, err := vfs.ReadFile(fs, "a/"+DataFile)
	require.NoError(t, err)
	return fs, data
}

// FuzzTables changes a table or the Meta behind its checksum: reading gives an
// error that names damage, or something that Verify has nothing against.
func FuzzTables(f *testing.F) {
	fs, data := fuzzPart(f)
	for id := range byte(secMeta + 1) {
		f.Add(id, uint16(2), []byte{7})
		f.Add(id, uint16(9), []byte{})
	}
	accepted := 0
	f.Fuzz(func(t *testing.T, id byte, at uint16, patch []byte) {
		changed := reseal(t, data, uint64(id), func(b []byte) { copy(b[min(int(at), len(b)):], patch) })
		overwrite(t, fs, "a/"+DataFile, changed)
		_, err := readAll(fs, "a")
		if err == nil {
			accepted++
			return
		}
		require.True(t, errors.Is(err, block.ErrCorrupt) || isVersion(err), "%v", err)
		require.NotEmpty(t, problems(t, fs, "a"), "%v", err)
	})
	f.Logf("accepted %d inputs", accepted)
}

// FuzzDataFile opens anything at all as the data file of a part.
func FuzzDataFile(f *testing.F) {
	fs, data := fuzzPart(f)
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Add([]byte("VPRT"))
	accepted := 0
	f.Fuzz(func(t *testing.T, b []byte) {
		overwrite(t, fs, "a/"+DataFile, b)
		if _, err := readAll(fs, "a"); err == nil {
			accepted++
		}
	})
	f.Logf("accepted %d inputs", accepted)
}

// FuzzExemplars parses any chunk; what is accepted is written the same again.
func FuzzExemplars(f *testing.F) {
	var w exemplarWriter
	w.file = &fileWriter{}
	for i, s := range randomSeries(rand.New(rand.NewPCG(5, 5)), 20, 1) {
		if len(s.exemplars) > 0 {
			require.NoError(f, w.add(uint32(i), s.exemplars))
		}
	}
	f.Add(w.chunk)
	accepted := 0
	f.Fuzz(func(t *testing.T, b []byte) {
		var first []exemplar.Exemplar
		series := uint64(0)
		if walkExemplars(b, func(s uint64, list []exemplar.Exemplar) {
			if first == nil {
				first, series = list, s
			}
		}) != nil || len(first) == 0 || series > 1<<31 {
			return
		}
		accepted++
		again := exemplarWriter{file: &fileWriter{}}
		require.NoError(t, again.add(uint32(series), first))
		got, err := parseExemplars(again.chunk, uint32(series))
		require.NoError(t, err)
		require.Equal(t, len(first), len(got))
		for i := range got {
			require.Equal(t, first[i].Labels, got[i].Labels)
			require.Equal(t, first[i].Ts, got[i].Ts)
		}
	})
	f.Logf("accepted %d inputs", accepted)
}
