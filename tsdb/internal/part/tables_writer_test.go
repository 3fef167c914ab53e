package part

import (
	"encoding/binary"
	"hash/maphash"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/block/v1"
	"github.com/varvedb/varve/tsdb/internal/index/section"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// tablesFormat is that of data files of version 1.
var tablesFormat = section.Format{Magic: "VPRT", Version: 1}

// writeTables writes a part of format 1, the oracle of the formats since: as of
// today but for its data file.
func writeTables(t testing.TB, fs vfs.FS, dir string, opts WriterOptions, list []testSeries) Meta {
	w, err := Create(fs, dir, opts)
	require.NoError(t, err)
	require.NoError(t, writeAll(w, list))
	_, err = w.Commit(3, 9)
	require.NoError(t, err)
	file, err := createFile(fs, dir, DataFile)
	require.NoError(t, err)
	file.write(tablesFormat.AppendHeader(nil))
	o := &tablesWriter{opts: w.opts, pages: newPageWriter(file), times: newColumnWriter(file)}
	for _, s := range list {
		if len(s.spans) > 0 || len(s.exemplars) > 0 {
			require.NoError(t, o.add(s.spans))
		}
	}
	m := w.meta
	m.Bytes -= uint64(w.data.offset)
	m.Format = 1
	require.NoError(t, o.finish(file, &m))
	return m.Meta
}

// tablesWriter writes what format 1 has besides pages.
type tablesWriter struct {
	opts    WriterOptions
	pages   *pageWriter
	times   *columnWriter
	pending pending

	blockPage, blockInner, blockKind, blockCount []uint64
	blockMinT, blockMaxT                         []int64
	blockEnd                                     []uint64 // per series
}

func (w *tablesWriter) add(spans []block.Span) error {
	for i := range spans {
		s := &spans[i]
		for k := range s.Count {
			if w.pending.len() > 0 && w.pending.kind != s.Kind {
				if err := w.cut(); err != nil {
					return err
				}
			}
			w.pending.add(s, k, k+1)
			var err error
			switch {
			case w.pending.buckets >= maxBuckets:
				err = w.cut()
			case w.pending.len() >= 2*w.opts.BlockSamples:
				err = w.emit(w.opts.BlockSamples)
			}
			if err != nil {
				return err
			}
		}
	}
	err := w.cut()
	w.blockEnd = append(w.blockEnd, uint64(len(w.blockPage)))
	return err
}

func (w *tablesWriter) cut() error {
	for w.pending.len() > 0 {
		n := w.pending.len()
		blocks := (n + w.opts.BlockSamples - 1) / w.opts.BlockSamples
		if err := w.emit((n + blocks - 1) / blocks); err != nil {
			return err
		}
	}
	return nil
}

func (w *tablesWriter) emit(n int) error {
	s := w.pending.span(n)
	w.pages.reserve(n)
	var inner int
	var err error
	if s.Times != nil {
		var ref v1.TimesRef
		if ref, err = w.times.ref(s.Times); err != nil {
			return err
		}
		inner, err = w.pages.enc.AddSpanShared(&s, ref)
	} else {
		inner, err = w.pages.enc.AddSpan(&s)
	}
	if err != nil {
		return err
	}
	w.pages.samples += n
	w.blockPage = append(w.blockPage, w.pages.number())
	w.blockInner = append(w.blockInner, uint64(inner))
	w.blockKind = append(w.blockKind, uint64(s.Kind))
	w.blockCount = append(w.blockCount, uint64(n))
	w.blockMinT = append(w.blockMinT, s.MinT())
	w.blockMaxT = append(w.blockMaxT, s.MaxT())
	w.pending.drop(n)
	return nil
}

func (w *tablesWriter) finish(file *fileWriter, m *meta) error {
	w.pages.flush()
	w.times.pages.flush()
	var s section.Writer
	var out []byte
	var err error
	begin := file.offset
	for id, content := range [][]byte{secPages: w.pages.table(), secTimes: w.times.pages.table(), secBlocks: w.blockTable(m.minSample),
		secSeries: section.AppendTable(nil, section.Column{Values: w.blockEnd, Running: true}), secMeta: appendMeta(nil, m)} {
		if id > 0 && err == nil {
			out, err = s.Append(out, begin, uint64(id), content)
		}
	}
	if err != nil {
		return err
	}
	file.write(s.AppendFooter(out, tablesFormat))
	m.Bytes += uint64(file.offset)
	return file.finish()
}

func (p *pageWriter) table() []byte {
	return section.AppendTable(nil, section.Column{Values: p.offsets, Running: true}, section.Column{Values: p.lengths})
}

func (w *tablesWriter) blockTable(minSample int64) []byte {
	n := len(w.blockPage)
	minT, span := make([]uint64, n), make([]uint64, n)
	for i := range n {
		minT[i] = uint64(w.blockMinT[i] - minSample)
		span[i] = uint64(w.blockMaxT[i] - w.blockMinT[i])
	}
	return section.AppendTable(nil,
		section.Column{Values: w.blockPage, Running: true}, section.Column{Values: w.blockInner},
		section.Column{Values: minT}, section.Column{Values: span},
		section.Column{Values: w.blockCount}, section.Column{Values: w.blockKind})
}

// pageSamples and pageBytes close a page: it gets no further block that would
// take it beyond either. Large blocks so have a page of their own, which is all
// that is read for them; short ones share what compressing them costs.
const (
	pageSamples = 8192
	pageBytes   = 64 << 10
)

// pageWriter collects blocks into pages and writes them to the data file.
type pageWriter struct {
	file    *fileWriter
	enc     *v1.Encoder
	samples int
	offsets []uint64
	lengths []uint64
	scratch []byte
}

func newPageWriter(file *fileWriter) *pageWriter {
	return &pageWriter{file: file, enc: v1.NewEncoder()}
}

// number returns that of the page the next block goes to.
func (p *pageWriter) number() uint64 { return uint64(len(p.offsets)) }

// reserve closes the page if a block of n samples does not fit.
func (p *pageWriter) reserve(n int) {
	if p.enc.Len() > 0 && (p.samples+n > pageSamples || p.enc.Size() >= pageBytes) {
		p.flush()
	}
}

func (p *pageWriter) flush() {
	if p.enc.Len() == 0 {
		return
	}
	p.scratch = p.enc.AppendPage(p.scratch[:0])
	p.offsets = append(p.offsets, uint64(p.file.offset))
	p.lengths = append(p.lengths, uint64(len(p.scratch)))
	p.file.write(p.scratch)
	p.samples = 0
}

// maxColumns bounds the columns of times a Writer remembers, 32 bytes each.
const maxColumns = 1 << 18

// columnWriter stores columns of times, each distinct one once.
type columnWriter struct {
	pages *pageWriter
	seeds [2]maphash.Seed
	known map[[2]uint64]v1.TimesRef
	key   []byte
}

func newColumnWriter(file *fileWriter) *columnWriter {
	return &columnWriter{
		pages: newPageWriter(file),
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		known: map[[2]uint64]v1.TimesRef{},
	}
}

// ref returns the reference of a column, storing it unless it is known. Two
// columns are taken for the same by 128 bits of hash under a random key.
func (t *columnWriter) ref(times []int64) (v1.TimesRef, error) {
	t.key = t.key[:0]
	for _, x := range times {
		t.key = binary.LittleEndian.AppendUint64(t.key, uint64(x))
	}
	hash := [2]uint64{maphash.Bytes(t.seeds[0], t.key), maphash.Bytes(t.seeds[1], t.key)}
	if ref, ok := t.known[hash]; ok {
		return ref, nil
	}
	t.pages.reserve(len(times))
	inner, err := t.pages.enc.AddTimes(times)
	if err != nil {
		return 0, err
	}
	t.pages.samples += len(times)
	ref := v1.TimesRef(t.pages.number()<<columnShift | uint64(inner))
	if len(t.known) < maxColumns {
		t.known[hash] = ref
	}
	return ref, nil
}
