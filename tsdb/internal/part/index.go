package part

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index"
	indexv1 "github.com/varvedb/varve/tsdb/internal/index/v1"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

const (
	// An index up to smallIndex is read and checked whole; a larger one is mapped
	// and checked page by page, as it is used.
	smallIndex = 64 << 10

	// fewSeries are written compressed: their index is small. Of a thousand hosts'
	// worth of series it takes half.
	fewSeries = 1 << 12
)

// openIndex opens the index at its first use. p.mu is held.
func (p *Part) openIndex() (*index.Segment, error) {
	if p.mu.index != nil {
		return p.mu.index, nil
	}
	version, err := p.indexVersion()
	if err != nil {
		return nil, err
	}
	var s *index.Segment
	var m vfs.Mapping
	switch {
	case version == 1:
		s, err = p.convertIndex()
	case p.meta.indexSize <= smallIndex:
		var b []byte
		if b, err = p.readIndex(); err == nil {
			s, err = index.Open(b, p.caches)
		}
	default:
		s, m, err = p.mapIndex()
	}
	if err == nil && uint64(s.Len()) != p.meta.Series {
		err = p.corrupt(IndexFile, 0, fmt.Errorf("series: got %d, want %d", s.Len(), p.meta.Series))
	}
	if err != nil {
		err = p.locate(IndexFile, err)
		if m != nil {
			err = errors.Join(err, m.Close())
		}
		return nil, err
	}
	s.File = path.Join(p.dir, IndexFile)
	p.mu.index, p.mu.mapping = s, m
	return s, nil
}

// indexVersion reads what the end of the index says.
func (p *Part) indexVersion() (version uint32, err error) {
	f, err := p.openFile(IndexFile, p.meta.indexSize)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var foot [8]byte
	at := int64(p.meta.indexSize) - int64(len(foot))
	if at < 0 {
		return 0, p.corrupt(IndexFile, 0, io.ErrUnexpectedEOF)
	}
	if n, err := f.ReadAt(foot[:], at); n < len(foot) {
		return 0, fmt.Errorf("read footer of %s: %w", path.Join(p.dir, IndexFile), err)
	}
	return binary.LittleEndian.Uint32(foot[:]), nil
}

func (p *Part) readIndex() ([]byte, error) {
	b, err := p.readFile(IndexFile, p.meta.indexSize)
	if err != nil {
		return nil, err
	}
	return b, p.checkIndexSum(b)
}

func (p *Part) mapIndex() (*index.Segment, vfs.Mapping, error) {
	m, err := p.fs.Map(path.Join(p.dir, IndexFile))
	if err != nil {
		return nil, nil, err
	}
	if got := uint64(len(m.Bytes())); got != p.meta.indexSize {
		return nil, m, p.corrupt(IndexFile, 0, fmt.Errorf("size: got %d, want %d", got, p.meta.indexSize))
	}
	s, err := index.Open(m.Bytes(), p.caches)
	return s, m, err
}

// convertIndex writes an index of version 1 anew, in memory.
func (p *Part) convertIndex() (*index.Segment, error) {
	b, err := p.readIndex()
	if err != nil {
		return nil, err
	}
	old, err := indexv1.Open(b)
	if err != nil {
		return nil, err
	}
	var w index.Writer
	builder := labels.NewScratchBuilder(16)
	for i := range old.Len() {
		if _, err := w.Add(old.Labels(uint32(i), &builder)); err != nil {
			return nil, p.corrupt(IndexFile, 0, err)
		}
	}
	var out writeBuffer
	if _, err := w.WriteTo(&out); err != nil {
		return nil, err
	}
	return index.Open(out, p.caches)
}

// writeBuffer is bytes.Buffer without its room to grow.
type writeBuffer []byte

func (b *writeBuffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

// closeIndex lets go of the index. p.mu is held.
func (p *Part) closeIndex() error {
	if p.mu.index != nil {
		p.mu.index.Close()
	}
	if p.mu.mapping != nil {
		return p.mu.mapping.Close()
	}
	return nil
}

// verifyIndex reports what is wrong with the index: damaged pages, or another
// part's index, or else what does not add up.
func (p *Part) verifyIndex(s *index.Segment, report func(Problem)) error {
	p.mu.Lock()
	m := p.mu.mapping
	p.mu.Unlock()
	pages := 0
	err := s.Guard(func() error {
		s.EachDamage(func(err error) {
			pages++
			_ = p.sift(p.locate(IndexFile, err), report) // it is damage
		})
		if m != nil && pages == 0 {
			return p.checkIndexSum(m.Bytes())
		}
		return nil
	})
	if err == nil && pages == 0 {
		err = s.Verify()
	}
	if err == nil {
		return nil
	}
	return p.sift(p.locate(IndexFile, err), report)
}

func (p *Part) checkIndexSum(b []byte) error {
	if got := uint64(crc32.Checksum(b, castagnoli)); got != p.meta.indexCRC {
		return p.corrupt(IndexFile, 0, fmt.Errorf("checksum: got %08x, want %08x", got, p.meta.indexCRC))
	}
	return nil
}

// commitIndex writes the index file.
func (w *Writer) commitIndex() error {
	file, err := createFile(w.fs, w.dir, IndexFile)
	if err != nil {
		return err
	}
	out := &checksummed{file: file}
	w.series.Compress(w.series.Len() <= fewSeries)
	_, err = w.series.WriteTo(out)
	if err != nil {
		return errors.Join(err, file.close())
	}
	if w.scratch != nil {
		if err := w.scratch.remove(); err != nil {
			return errors.Join(err, file.close())
		}
	}
	w.meta.indexSize, w.meta.indexCRC = uint64(file.offset), uint64(out.crc)
	w.meta.Bytes += uint64(file.offset)
	return file.finish()
}

// checksummed sums up what is written to a file.
type checksummed struct {
	file *fileWriter
	crc  uint32
}

func (c *checksummed) Write(b []byte) (int, error) {
	c.file.write(b)
	c.crc = crc32.Update(c.crc, castagnoli, b)
	return len(b), c.file.err
}

// activate notes the days of samples of the last series: in a part of one day
// it is that one for all.
func (w *Writer) activate(s *block.Span) error {
	if !w.opts.AllowMonth {
		return nil
	}
	for i := 0; i < s.Count; {
		day := s.Time(i) / dayMillis
		if err := w.series.Active(day); err != nil {
			return err
		}
		i = s.Search((day + 1) * dayMillis)
	}
	return nil
}
