package part

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/varvedb/varve/tsdb/internal/block"
)

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
	enc     *block.Encoder
	samples int
	offsets []uint64
	lengths []uint64
	scratch []byte
}

func newPageWriter(file *fileWriter) *pageWriter {
	return &pageWriter{file: file, enc: block.NewEncoder()}
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

// columnShift is where the number of a page begins in a TimesRef.
const columnShift = 16

// timesWriter stores columns of times, each distinct one once.
type timesWriter struct {
	pages *pageWriter
	seeds [2]maphash.Seed
	known map[[2]uint64]block.TimesRef
	key   []byte
}

func newTimesWriter(file *fileWriter) *timesWriter {
	return &timesWriter{
		pages: newPageWriter(file),
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		known: map[[2]uint64]block.TimesRef{},
	}
}

// ref returns the reference of a column, storing it unless it is known. Two
// columns are taken for the same by 128 bits of hash under a random key.
func (t *timesWriter) ref(times []int64) (block.TimesRef, error) {
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
	ref := block.TimesRef(t.pages.number()<<columnShift | uint64(inner))
	if len(t.known) < maxColumns {
		t.known[hash] = ref
	}
	return ref, nil
}
