package part

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"sort"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/index/section"
)

// The exemplar file has one section with a table of the series that have
// exemplars (ordinal, section) and, from id firstChunk on, sections of about
// chunkBytes with the exemplars of one or more series:
//
//	series   ordinal uvarint, count uvarint, exemplars
//	exemplar time varint, less that of the one before; value 8 bytes; flags byte
//	         (1: the time was given); labels: count uvarint, then name and value,
//	         each length uvarint and bytes
const (
	secExemplarTable = 1
	firstChunk       = 16
	chunkBytes       = 64 << 10
	flagHasTime      = 1
)

type exemplarWriter struct {
	file     *fileWriter
	sections section.Writer
	chunk    []byte
	chunks   uint64
	series   []uint64
	chunkOf  []uint64
}

func newExemplarWriter(file *fileWriter) *exemplarWriter {
	file.write(exemplarFormat.AppendHeader(nil))
	return &exemplarWriter{file: file}
}

func (w *exemplarWriter) add(series uint32, list []exemplar.Exemplar) error {
	if n := len(w.series); n > 0 && w.series[n-1] == uint64(series) {
		return errors.New("add exemplars of one series twice")
	}
	w.series = append(w.series, uint64(series))
	w.chunkOf = append(w.chunkOf, w.chunks)
	w.chunk = binary.AppendUvarint(w.chunk, uint64(series))
	w.chunk = binary.AppendUvarint(w.chunk, uint64(len(list)))
	var previous int64
	for _, e := range list {
		w.chunk = binary.AppendVarint(w.chunk, e.Ts-previous)
		w.chunk = binary.LittleEndian.AppendUint64(w.chunk, math.Float64bits(e.Value))
		flags := byte(0)
		if e.HasTs {
			flags = flagHasTime
		}
		w.chunk = binary.AppendUvarint(append(w.chunk, flags), uint64(e.Labels.Len()))
		e.Labels.Range(func(l labels.Label) {
			w.chunk = append(binary.AppendUvarint(w.chunk, uint64(len(l.Name))), l.Name...)
			w.chunk = append(binary.AppendUvarint(w.chunk, uint64(len(l.Value))), l.Value...)
		})
		previous = e.Ts
	}
	if len(w.chunk) >= chunkBytes {
		return w.flush()
	}
	return w.file.err
}

func (w *exemplarWriter) flush() error {
	if len(w.chunk) > 0 {
		out, err := w.sections.Append(nil, w.file.offset, firstChunk+w.chunks, w.chunk)
		if err != nil {
			return err
		}
		w.file.write(out)
		w.chunk = w.chunk[:0]
		w.chunks++
	}
	return w.file.err
}

// finish returns the size of the file and the checksum of its footer.
func (w *exemplarWriter) finish() (size uint64, crc uint32, err error) {
	if err := w.flush(); err != nil {
		return 0, 0, err
	}
	table := section.AppendTable(nil, section.Column{Values: w.series, Running: true}, section.Column{Values: w.chunkOf, Running: true})
	out, err := w.sections.Append(nil, w.file.offset, secExemplarTable, table)
	if err != nil {
		return 0, 0, err
	}
	out = w.sections.AppendFooter(out, exemplarFormat)
	w.file.write(out)
	return uint64(w.file.offset), crc32.Checksum(out[len(out)-footerSize:], castagnoli), w.file.finish()
}

// footerSize is what of the exemplar file the Meta has a checksum of.
const footerSize = 16

// exemplarFile is the opened exemplar file: its table and its contents.
type exemplarFile struct {
	sections *section.File
	table    section.Table
}

// find returns the section that holds the exemplars of a series.
func (f *exemplarFile) find(series uint32) (id uint64, ok bool) {
	row, ok := sort.Find(f.table.Rows(), func(i int) int {
		switch v := f.table.At(0, i); {
		case uint64(series) < v:
			return -1
		case uint64(series) > v:
			return 1
		}
		return 0
	})
	if !ok {
		return 0, false
	}
	return firstChunk + f.table.At(1, row), true
}
