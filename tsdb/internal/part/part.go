package part

import (
	"errors"
	"fmt"
	"math"
	"path"
	"sync"
	"sync/atomic"

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
	caches   index.Caches
	damages  damages
	payloads *Payloads // nil: none are kept
	minis    *Minis    // nil: none are kept
	mapped   *Mapped   // nil: the data file is not mapped
	dataSize int64
	ready    atomic.Pointer[loaded] // what mu has loaded, for those who come without a lock

	mu struct {
		sync.Mutex
		loaded    *loaded
		index     *index.Segment
		mapping   vfs.Mapping // of the index, nil if that was read
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
	p.data, p.dataSize = f, size
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
	if c != nil {
		return err
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

// UseCaches has look-ups in the index remembered in caches that parts may share.
// It comes before anything else but Open.
func (p *Part) UseCaches(c index.Caches) { p.caches = c }

// UsePayloads has payloads of blocks kept. It comes before anything else but Open.
func (p *Part) UsePayloads(c *Payloads) { p.payloads = c }

// UseMapped has the data file mapped for statistics of blocks. It comes before
// anything else but Open.
func (p *Part) UseMapped(m *Mapped) { p.mapped = m }

// UseMinis has mini-blocks of short reads kept. It comes before anything else but
// Open.
func (p *Part) UseMinis(c *Minis) { p.minis = c }

// Index returns the series of the part. The first call opens the index and reads
// the tables of the part; it is repeated when it failed. The rest of the index is
// checked as it is used, and what comes of it is used in its Guard. It is good
// until Close.
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
	if mint, maxt, ok := l.samples.bounds(series); ok {
		return mint, maxt
	}
	return math.MaxInt64, math.MinInt64
}

// Reaching keeps of an ascending list of series those whose SeriesRange reaches into
// [mint, maxt]; it reuses the list. Cost: a few nanoseconds for a series where all
// blocks of a group reach into the range.
func (p *Part) Reaching(series []uint32, mint, maxt int64) []uint32 {
	l, err := p.load()
	if err != nil {
		return nil
	}
	out := series[:0]
	lo, hi := uint32(1), uint32(0) // all of these reach into it
	for _, o := range series {
		if o < lo || o > hi {
			lo, hi = l.samples.reaching(o, mint, maxt)
		}
		if o >= lo && o <= hi {
			out = append(out, o)
		} else if first, last, ok := l.samples.bounds(o); ok && first <= maxt && last >= mint {
			out = append(out, o)
		}
	}
	return out
}

// Overlap keeps of an ascending list of series those with a block that reaches
// into [mint, maxt]; it reuses the list. Such a series may still have a gap
// there.
func (p *Part) Overlap(series []uint32, mint, maxt int64) ([]uint32, error) {
	l, err := p.load()
	if err != nil {
		return nil, err
	}
	return l.samples.overlap(series, mint, maxt)
}

// Cursor returns a cursor over the samples of a series inside [mint, maxt]. It
// reads the blocks that reach into the range, one per Next, decodes what of them
// is inside and hands it out as one span. Histograms stay valid after Next, but
// share memory with their neighbours: they must not be changed.
//
// A damaged block ends it with an error, that is remembered, see Damage.
func (p *Part) Cursor(series uint32, mint, maxt int64) block.Cursor {
	return p.cursor(series, mint, maxt, reading{})
}

// CursorOfRest is Cursor but leaves out the blocks that are known to be damaged.
func (p *Part) CursorOfRest(series uint32, mint, maxt int64) block.Cursor {
	return p.cursor(series, mint, maxt, reading{rest: true})
}

// Spans is Cursor with spans of floats that are not loaded, see block.Span: times
// are there, statistics are answered from what is stored, values come by Load.
// Of a block of which only statistics are asked the payload may never be read.
func (p *Part) Spans(series uint32, mint, maxt int64) block.Cursor {
	return p.cursor(series, mint, maxt, reading{lazy: true})
}

// SpansOfRest is Spans but leaves out the blocks that are known to be damaged.
func (p *Part) SpansOfRest(series uint32, mint, maxt int64) block.Cursor {
	return p.cursor(series, mint, maxt, reading{lazy: true, rest: true})
}

// Release gives a cursor of p back that came to its end, for the next who asks for
// one. Nobody may use it, or a span of it, any more.
func (p *Part) Release(c block.Cursor) {
	if c, ok := c.(*groupCursor); ok && c.r == nil {
		c.g.cursors.Put(c)
	}
}

// reading says how a cursor reads.
type reading struct {
	lazy bool // values are loaded on demand
	rest bool // damaged blocks that are known are left out
	walk bool // series come in order, each once: pages are not kept for others
}

func (p *Part) cursor(series uint32, mint, maxt int64, how reading) block.Cursor {
	l, err := p.load()
	if err == nil && uint64(series) >= p.meta.Series {
		err = fmt.Errorf("read series %d of %d", series, p.meta.Series)
	}
	if err != nil {
		return failed{err}
	}
	return l.samples.cursor(series, mint, maxt, how)
}

// Walk reads many series of a part in ascending order, for one goroutine. It holds
// one page, and leaves those that the part keeps for queries alone.
type Walk struct {
	p          *Part
	groups     *groups // nil for format 1
	cursor     groupCursor
	mint, maxt int64
}

// Walk begins to read what lies inside [mint, maxt].
func (p *Part) Walk(mint, maxt int64) (*Walk, error) {
	l, err := p.load()
	if err != nil {
		return nil, err
	}
	w := &Walk{p: p, mint: mint, maxt: maxt}
	w.groups, _ = l.samples.(*groups)
	return w, nil
}

// Spans is Part.Spans; the cursor is good until the next call.
func (w *Walk) Spans(series uint32) block.Cursor {
	if w.groups == nil || uint64(series) >= w.p.meta.Series {
		return w.p.Spans(series, w.mint, w.maxt)
	}
	w.cursor.reset(w.groups, series, w.mint, w.maxt)
	return &w.cursor
}

// failed is a cursor that could not be made.
type failed struct{ err error }

func (failed) Next() bool        { return false }
func (failed) Span() *block.Span { return nil }
func (c failed) Err() error      { return c.err }

// Close closes the files of the part.
func (p *Part) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	if p.mu.loaded != nil {
		if g, ok := p.mu.loaded.samples.(*groups); ok {
			p.payloads.forget(g)
			p.minis.forget(g)
			if g.mapped != nil {
				errs = append(errs, g.mapped.Close())
			}
		}
	}
	err := errors.Join(append(errs, p.closeIndex(), p.data.Close())...)
	if p.mu.file != nil {
		err = errors.Join(err, p.mu.file.Close())
	}
	if err != nil {
		return fmt.Errorf("close part: %w", err)
	}
	return nil
}

// pageError adds the place to an error about the bytes of a page.
func (p *Part) pageError(offset int64, err error) error {
	if errors.Is(err, block.ErrVersion) {
		return fmt.Errorf("page of %s at %d: %w", path.Join(p.dir, DataFile), offset, err)
	}
	return p.corrupt(DataFile, offset, err)
}
