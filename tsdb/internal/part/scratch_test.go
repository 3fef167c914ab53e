package part

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
	"github.com/varvedb/varve/tsdb/internal/index"
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

// writeRows is writePart by way of rows, with a scratch file.
func writeRows(fs vfs.FS, dir string, list []testSeries) error {
	h := index.NewHead(index.Caches{})
	for i := range list {
		if _, _, err := h.Add(list[i].lset); err != nil {
			return err
		}
	}
	rows := h.Rows(bitmap.All(uint32(len(list))))
	w, err := Create(fs, dir, WriterOptions{})
	if err != nil {
		return err
	}
	w.UseTerms(rows)
	w.scratch.limit = 0
	for i, id := range rows.Order() {
		s := &list[i]
		if err := w.AddRow(rows.Append(nil, id), s.cursor()); err != nil {
			return w.giveUp(err)
		}
		if err := w.AddRowExemplars(rows.Append(nil, id), s.exemplars); err != nil {
			return w.giveUp(err)
		}
	}
	_, err = w.Commit(3, 9)
	return err
}

func (w *Writer) giveUp(err error) error {
	_ = w.Abort()
	return err
}

// TestRowsWriteWhatLabelSetsDo compares the files of a part, and fails each
// operation that writing them takes.
func TestRowsWriteWhatLabelSetsDo(t *testing.T) {
	var list []testSeries
	for _, s := range randomSeries(rand.New(rand.NewPCG(5, 6)), 40, 20) {
		if len(s.spans) > 0 || len(s.exemplars) > 0 {
			list = append(list, s)
		}
	}
	mem := vfs.NewMem()
	writePart(t, mem, "sets", WriterOptions{}, list)
	fault := vfs.NewFault(mem)
	require.NoError(t, writeRows(fault, "rows", list))
	want, err := mem.List("sets")
	require.NoError(t, err)
	got, err := mem.List("rows")
	require.NoError(t, err)
	require.Equal(t, want, got)
	for _, name := range want {
		require.Equal(t, fileBytes(t, mem, "sets/"+name), fileBytes(t, mem, "rows/"+name))
	}
	ops := fault.Ops()
	for k := int64(1); k <= ops; k++ {
		name := fmt.Sprint("rows-", k)
		fault.FailOp(k)
		require.Error(t, writeRows(fault, name, list), "operation %d of %d", k, ops)
		fault.Clear()
		names, err := mem.List(name)
		require.True(t, err != nil || len(names) == 0, "operation %d of %d leaves %v", k, ops, names)
	}
}

func fileBytes(t *testing.T, fs vfs.FS, name string) []byte {
	f, err := fs.Open(name)
	require.NoError(t, err)
	defer f.Close()
	size, err := f.Size()
	require.NoError(t, err)
	b := make([]byte, size)
	_, err = f.ReadAt(b, 0)
	require.NoError(t, err)
	return b
}
