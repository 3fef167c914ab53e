package section

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

var testFormat = Format{Magic: "TEST", Version: 3}

func testFile(t testing.TB, f Format) []byte {
	t.Helper()
	var w Writer
	b := append(f.AppendHeader(nil), "streamed"...)
	b, err := w.Append(b, 0, 7, []byte("small"))
	require.NoError(t, err)
	b, err = w.Append(b, 0, 9, bytes.Repeat([]byte("large "), 1000))
	require.NoError(t, err)
	return w.AppendFooter(b, f)
}

func TestSectionsComeBack(t *testing.T) {
	b := testFile(t, testFormat)
	require.Less(t, len(b), 200)
	f, err := Open(bytes.NewReader(b), int64(len(b)), testFormat)
	require.NoError(t, err)
	got, err := f.Read(7)
	require.NoError(t, err)
	require.Equal(t, "small", string(got))
	got, err = f.Read(9)
	require.NoError(t, err)
	require.Equal(t, bytes.Repeat([]byte("large "), 1000), got)
	require.EqualValues(t, HeaderSize+8, f.SectionsBegin())
	_, err = f.Read(1)
	require.ErrorIs(t, err, block.ErrCorrupt)
}

// FuzzFooter opens any table of contents whose checksum is right: what is
// accepted stays within the file, and its sections are read or named as damaged.
func FuzzFooter(f *testing.F) {
	b := testFile(f, testFormat)
	file, err := Open(bytes.NewReader(b), int64(len(b)), testFormat)
	require.NoError(f, err)
	toc := b[file.end : len(b)-footerSize]
	f.Add(b[HeaderSize:file.end], toc, testFormat.Version)
	f.Add([]byte{}, []byte{}, testFormat.Version)
	f.Add(b[HeaderSize:file.end], toc[:len(toc)-1], testFormat.Version)
	f.Add(b[HeaderSize:file.end], toc, testFormat.Version+1)
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, body, toc []byte, version uint32) {
		tally.Input()
		b := append(Format{Magic: testFormat.Magic, Version: version}.AppendHeader(nil), body...)
		b = append(b, toc...)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(toc)))
		b = binary.LittleEndian.AppendUint32(b, footerCRC(toc, uint32(len(toc)), version, testFormat.Magic))
		b = binary.LittleEndian.AppendUint32(b, version)
		b = append(b, testFormat.Magic...)
		file, err := Open(bytes.NewReader(b), int64(len(b)), testFormat)
		if err != nil {
			require.True(t, errors.Is(err, block.ErrCorrupt) || version > testFormat.Version && errors.Is(err, block.ErrVersion), "%v", err)
			return
		}
		tally.Accepted()
		require.LessOrEqual(t, file.SectionsBegin(), int64(HeaderSize+len(body)))
		for _, e := range file.entries {
			content, err := file.Read(e.id)
			if err != nil {
				require.ErrorIs(t, err, block.ErrCorrupt)
				continue
			}
			require.LessOrEqual(t, len(content), maxRatio*len(body))
		}
	})
}

func TestNewerVersionIsRefusedByName(t *testing.T) {
	b := testFile(t, Format{Magic: "TEST", Version: 4})
	_, err := Open(bytes.NewReader(b), int64(len(b)), testFormat)
	require.ErrorIs(t, err, block.ErrVersion)
	require.EqualError(t, err, "TEST version 4: format is newer than this build reads (3)")
}

func TestFlippedBytesAreNoticed(t *testing.T) {
	b := testFile(t, testFormat)
	for i := range b {
		b[i] ^= 0x55
		f, err := Open(bytes.NewReader(b), int64(len(b)), testFormat)
		if err == nil {
			_, err = f.Read(7)
		}
		if err == nil {
			_, err = f.Read(9)
		}
		streamed := i >= HeaderSize && i < HeaderSize+8
		require.Equal(t, streamed, err == nil, "byte %d: %v", i, err)
		b[i] ^= 0x55
	}
}

func TestTablesComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, rows := range []int{0, 1, 2, 1000} {
		var columns []Column
		for shift := range 65 {
			if len(columns) == maxColumns {
				break
			}
			c := Column{Values: make([]uint64, rows)}
			for i := range c.Values {
				c.Values[i] = 1<<20 + r.Uint64()>>max(shift, 1)
			}
			columns = append(columns, c)
		}
		columns[3] = Column{Values: make([]uint64, rows), Running: true}
		for i := range rows {
			columns[3].Values[i] = uint64(i*i) + 5
		}
		table, err := OpenTable(AppendTable(nil, columns...), len(columns))
		require.NoError(t, err)
		require.Equal(t, rows, table.Rows())
		for i, c := range columns {
			require.Equal(t, c.Values, table.Column(i))
			for row, v := range c.Values {
				require.Equal(t, v, table.At(i, row))
			}
		}
		require.True(t, table.Ascends(3, math.MaxUint64))
		require.Equal(t, rows < 2, table.Ascends(3, 5))
	}
}

func FuzzOpenTable(f *testing.F) {
	f.Add(AppendTable(nil, Column{Values: []uint64{1, 5, 900}}, Column{Values: []uint64{1, 1, 2}, Running: true}), 2)
	f.Add(AppendTable(nil, Column{}), 1)
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, b []byte, columns int) {
		tally.Input()
		table, err := OpenTable(bytes.Clone(b), columns)
		if err != nil || columns < 1 {
			return
		}
		tally.Accepted()
		for c := range columns {
			for row := range min(table.Rows(), 1000) {
				table.At(c, row)
			}
		}
	})
}
