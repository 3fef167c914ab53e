package part

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"sync"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index"
	"github.com/varvedb/varve/tsdb/internal/index/section"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// Part is an opened part. It may be used by many goroutines; Close must wait
// for them.
type Part struct {
	fs       vfs.FS
	dir      string
	data     vfs.File
	sections *section.File
	meta     *meta
	cache    pageCache

	mu struct {
		sync.Mutex
		loaded    *loaded
		exemplars *exemplarFile
		file      vfs.File // of exemplars
	}
}

// Open opens the part in directory dir, reading no more than its Meta. Damage
// found now or later wraps block.ErrCorrupt and is a *block.CorruptionError
// with file and offset; a part of a later version wraps block.ErrVersion.
func Open(fs vfs.FS, dir string) (*Part, error) {
	p := &Part{fs: fs, dir: dir}
	f, err := fs.Open(path.Join(dir, DataFile))
	if err != nil {
		return nil, fmt.Errorf("open part: %w", err)
	}
	if err := p.open(f); err != nil {
		return nil, fmt.Errorf("open part: %w", errors.Join(err, f.Close()))
	}
	return p, nil
}

func (p *Part) open(f vfs.File) error {
	size, err := f.Size()
	if err != nil {
		return fmt.Errorf("size of %s: %w", path.Join(p.dir, DataFile), err)
	}
	p.data = f
	if p.sections, err = section.Open(f, size, dataFormat); err != nil {
		return p.locate(DataFile, err)
	}
	b, err := p.sections.Read(secMeta)
	if err != nil {
		return p.locate(DataFile, err)
	}
	if p.meta, err = parseMeta(b, p.sections.Version()); err != nil {
		return p.corrupt(DataFile, p.sections.Offset(secMeta), err)
	}
	p.meta.Bytes = uint64(size) + p.meta.indexSize + p.meta.exemplarSize
	return nil
}

// locate completes an error about the bytes of a file with the file's name.
func (p *Part) locate(file string, err error) error {
	var c *block.CorruptionError
	if errors.As(err, &c) && c.File == "" {
		return p.corrupt(file, c.Offset, c.Cause)
	}
	return fmt.Errorf("%s: %w", path.Join(p.dir, file), err)
}

func (p *Part) corrupt(file string, offset int64, cause error) error {
	return &block.CorruptionError{File: path.Join(p.dir, file), Offset: offset, Cause: cause}
}

// Dir returns the directory the part was opened in.
func (p *Part) Dir() string { return p.dir }

// Meta describes the part.
func (p *Part) Meta() Meta { return p.meta.Meta }

// Index returns the series of the part. The first call reads and checks the
// index and the tables of the part; it is repeated when it failed.
func (p *Part) Index() (*index.Segment, error) {
	l, err := p.load()
	if err != nil {
		return nil, err
	}
	return l.index, nil
}

// SeriesRange returns the first and last time of the samples of a series. The
// range is empty, mint > maxt, for a series that has exemplars only, and for
// all while Index fails.
func (p *Part) SeriesRange(series uint32) (mint, maxt int64) {
	l, err := p.load()
	if err != nil {
		return math.MaxInt64, math.MinInt64
	}
	begin, end := l.rows(series)
	if begin == end {
		return math.MaxInt64, math.MinInt64
	}
	mint, _ = p.blockTimes(l, begin)
	_, maxt = p.blockTimes(l, end-1)
	return mint, maxt
}

// Overlap keeps of an ascending list of series those with a block that reaches
// into [mint, maxt]; it reuses the list. Such a series may still have a gap
// there.
func (p *Part) Overlap(series []uint32, mint, maxt int64) ([]uint32, error) {
	l, err := p.load()
	if err != nil {
		return nil, err
	}
	out := series[:0]
	for _, o := range series {
		begin, end := l.rows(o)
		for row := begin; row < end; row++ {
			if first, last := p.blockTimes(l, row); first <= maxt && last >= mint {
				out = append(out, o)
				break
			}
		}
	}
	return out, nil
}

// Close closes the files of the part.
func (p *Part) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.data.Close()
	if p.mu.file != nil {
		err = errors.Join(err, p.mu.file.Close())
	}
	if err != nil {
		return fmt.Errorf("close part: %w", err)
	}
	return nil
}

// readPage reads and opens a page into dst. buf is for the stored bytes.
func (p *Part) readPage(t *section.Table, number uint64, dst *block.Page, buf []byte) ([]byte, error) {
	offset, length := int64(t.At(columnOffset, int(number))), int(t.At(columnLength, int(number)))
	if cap(buf) < length {
		buf = make([]byte, length)
	}
	buf = buf[:length]
	if n, err := p.data.ReadAt(buf, offset); n < length {
		if errors.Is(err, io.EOF) {
			return buf, p.corrupt(DataFile, offset, io.ErrUnexpectedEOF)
		}
		return buf, fmt.Errorf("read page of %s at %d: got %d of %d bytes: %w", path.Join(p.dir, DataFile), offset, n, length, err)
	}
	if err := dst.Open(buf); err != nil {
		return buf, p.pageError(offset, err)
	}
	return buf, nil
}

// pageError adds the place to an error about the bytes of a page.
func (p *Part) pageError(offset int64, err error) error {
	if errors.Is(err, block.ErrVersion) {
		return fmt.Errorf("page of %s at %d: %w", path.Join(p.dir, DataFile), offset, err)
	}
	return p.corrupt(DataFile, offset, err)
}
