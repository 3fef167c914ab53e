package part

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index/section"
	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// reseal writes the sections of a data file anew with one of them changed, so
// that the checksums hold and the checks behind them are met.
func reseal(t testing.TB, data []byte, ids []uint64, id uint64, change func([]byte)) []byte {
	f, err := section.Open(bytes.NewReader(data), int64(len(data)), dataFormat)
	require.NoError(t, err)
	out := bytes.Clone(data[:f.SectionsBegin()])
	var w section.Writer
	for _, s := range ids {
		b, err := f.Read(s)
		require.NoError(t, err)
		if s == id {
			change(b)
		}
		out, err = w.Append(out, 0, s, b)
		require.NoError(t, err)
	}
	return w.AppendFooter(out, section.Format{Magic: dataFormat.Magic, Version: f.Version()})
}

func fuzzPart(t testing.TB) (*vfs.Mem, []byte) {
	fs := vfs.NewMem()
	writePart(t, fs, "a", WriterOptions{BlockSamples: 20}, randomSeries(rand.New(rand.NewPCG(5, 5)), 12, 30))
	data, err := vfs.ReadFile(fs, "a/"+DataFile)
	require.NoError(t, err)
	return fs, data
}

// FuzzTables changes a table or the Meta of a part of format 1 behind its
// checksum: reading gives an error that names damage, or something that Verify
// has nothing against.
func FuzzTables(f *testing.F) {
	fs := vfs.NewMem()
	writeTables(f, fs, "a", WriterOptions{BlockSamples: 20}, randomSeries(rand.New(rand.NewPCG(5, 5)), 12, 30))
	data, err := vfs.ReadFile(fs, "a/"+DataFile)
	require.NoError(f, err)
	fuzzSections(f, fs, data, []uint64{secPages, secTimes, secBlocks, secSeries, secMeta})
}

// FuzzGroups does the same to the table of groups and the Meta of format 2.
func FuzzGroups(f *testing.F) {
	fs, data := fuzzPart(f)
	fuzzSections(f, fs, data, []uint64{secGroups, secMeta})
}

func fuzzSections(f *testing.F, fs *vfs.Mem, data []byte, ids []uint64) {
	for _, id := range ids {
		f.Add(byte(id), uint16(2), []byte{7})
		f.Add(byte(id), uint16(9), []byte{})
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, id byte, at uint16, patch []byte) {
		tally.Input()
		changed := reseal(t, data, ids, uint64(id), func(b []byte) { copy(b[min(int(at), len(b)):], patch) })
		overwrite(t, fs, "a/"+DataFile, changed)
		_, err := readAll(fs, "a")
		if err == nil {
			tally.Accepted()
			return
		}
		require.True(t, errors.Is(err, block.ErrCorrupt) || isVersion(err), "%v", err)
		require.NotEmpty(t, problems(t, fs, "a"), "%v", err)
	})
}

// FuzzBody changes bytes of the groups, or their pages, whose checksums are made
// to hold: nothing panics, what is read is damage or samples.
func FuzzBody(f *testing.F) {
	fs, data := fuzzPart(f)
	p := openPart(f, fs, "a")
	g := groupsOf(f, p)
	require.Equal(f, 1, g.table.Rows())
	begin, body, page := int(g.at(groupOffset, 0)), int(g.at(groupBody, 0)), int(g.at(groupPageSize, 0))
	f.Add(data[begin:][:body], data[begin+body:][:page-4])
	f.Add(data[begin:][:body], data[begin+body:][:page-5])
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, newBody, newPage []byte) {
		tally.Input()
		b := append(bytes.Clone(data[:begin]), newBody...)
		b = append(b, newPage...)
		b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(newPage, castagnoli))
		var rows [groupColumns]section.Column
		for c := range rows {
			rows[c].Values = []uint64{g.at(c, 0)}
		}
		rows[groupBody].Values[0], rows[groupPageSize].Values[0] = uint64(len(newBody)), uint64(len(newPage)+4)
		rows[groupCRC].Values[0] = uint64(crc32.Checksum(newBody, castagnoli))
		var w section.Writer
		b, err := w.Append(b, 0, secGroups, section.AppendTable(nil, rows[:]...))
		require.NoError(t, err)
		b, err = w.Append(b, 0, secMeta, appendMeta(nil, p.meta))
		require.NoError(t, err)
		overwrite(t, fs, "a/"+DataFile, w.AppendFooter(b, dataFormat))
		requireRead(t, openPart(t, fs, "a"), tally)
	})
}

// FuzzDataFile opens anything at all as the data file of a part.
func FuzzDataFile(f *testing.F) {
	fs, data := fuzzPart(f)
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Add([]byte("VPRT"))
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		tally.Input()
		overwrite(t, fs, "a/"+DataFile, b)
		if _, err := readAll(fs, "a"); err == nil {
			tally.Accepted()
		}
	})
}

// requireRead reads all of a part whose files are not what was written, and
// holds Verify to the outcome.
func requireRead(t *testing.T, p *Part, tally *fuzztally.Tally) {
	defer func() { require.NoError(t, p.Close()) }()
	requireTold(t, p)
	requireFlatRead(t, p)
	_, err := readOpen(p)
	if err == nil {
		tally.Accepted()
		return
	}
	require.True(t, errors.Is(err, block.ErrCorrupt) || isVersion(err), "%v", err)
	found := 0
	checked := p.Verify(func(Problem) { found++ })
	if isVersion(checked) {
		return
	}
	require.NoError(t, checked)
	require.Positive(t, found, "%v", err)
}

// requireTold asks a part what tools ask: it answers or names damage.
func requireTold(t *testing.T, p *Part) {
	size, err := p.data.Size()
	require.NoError(t, err)
	space, spaceErr := p.DataSpace()
	if spaceErr == nil {
		for _, n := range []uint64{space.Payloads, space.Times, space.Headers, space.Tables} {
			require.LessOrEqual(t, n, uint64(size))
		}
	}
	_, indexErr := p.Index()
	if indexErr == nil {
		s, _ := p.Index()
		_, indexErr = s.Space()
	}
	for _, err := range []error{
		spaceErr, indexErr,
		p.EachBlock(nil, func(*BlockInfo) error { return nil }, func(Loss) {}),
		p.EachLoss(func(Loss) {}),
	} {
		require.True(t, err == nil || errors.Is(err, block.ErrCorrupt) || isVersion(err), "%v", err)
	}
}

// FuzzIndexFile opens anything at all as the index of a part, which vouches for
// its checksum.
func FuzzIndexFile(f *testing.F) {
	fs, _ := fuzzPart(f)
	good, err := vfs.ReadFile(fs, "a/"+IndexFile)
	require.NoError(f, err)
	renamed := randomSeries(rand.New(rand.NewPCG(5, 5)), 12, 30)
	for i := range renamed {
		renamed[i].lset = labels.NewBuilder(renamed[i].lset).Set("other", "x").Labels()
	}
	writePart(f, fs, "b", WriterOptions{}, renamed)
	other, err := vfs.ReadFile(fs, "b/"+IndexFile)
	require.NoError(f, err)
	f.Add(good)
	f.Add(other)
	f.Add(good[:len(good)-1])
	f.Add([]byte{})
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		tally.Input()
		overwrite(t, fs, "a/"+IndexFile, b)
		p := openPart(t, fs, "a")
		p.meta.indexSize, p.meta.indexCRC = uint64(len(b)), uint64(crc32.Checksum(b, castagnoli))
		requireRead(t, p, tally)
	})
}

// FuzzExemplarFile opens an exemplar file of any table and any chunk, whose
// checksums hold.
func FuzzExemplarFile(f *testing.F) {
	fs, _ := fuzzPart(f)
	good, err := vfs.ReadFile(fs, "a/"+ExemplarFile)
	require.NoError(f, err)
	sections, err := section.Open(bytes.NewReader(good), int64(len(good)), exemplarFormat)
	require.NoError(f, err)
	table, err := sections.Read(secExemplarTable)
	require.NoError(f, err)
	chunk, err := sections.Read(firstChunk)
	require.NoError(f, err)
	f.Add(table, chunk)
	f.Add(table, chunk[:len(chunk)-1])
	f.Add(section.AppendTable(nil, section.Column{}, section.Column{}), []byte{})
	f.Add(section.AppendTable(nil, section.Column{Values: []uint64{3}}, section.Column{Values: []uint64{5}}), chunk)
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, table, chunk []byte) {
		tally.Input()
		b := exemplarFormat.AppendHeader(nil)
		var w section.Writer
		b, err := w.Append(b, 0, secExemplarTable, table)
		require.NoError(t, err)
		b, err = w.Append(b, 0, firstChunk, chunk)
		require.NoError(t, err)
		b = w.AppendFooter(b, exemplarFormat)
		overwrite(t, fs, "a/"+ExemplarFile, b)
		p := openPart(t, fs, "a")
		p.meta.exemplarSize, p.meta.exemplarCRC = uint64(len(b)), uint64(crc32.Checksum(b[len(b)-footerSize:], castagnoli))
		requireRead(t, p, tally)
	})
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
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		tally.Input()
		var first []exemplar.Exemplar
		series := uint64(0)
		if walkExemplars(b, func(s uint64, list []exemplar.Exemplar) {
			if first == nil {
				first, series = list, s
			}
		}) != nil || len(first) == 0 || series > 1<<31 {
			return
		}
		tally.Accepted()
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
}
