package part

import (
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// loaded is what a part reads at first use.
type loaded struct {
	index   *index.Segment
	samples samples
}

// samples finds and reads the blocks of a part: tables for format 1, groups for
// the formats since. Series are below Meta.Series.
type samples interface {
	// bounds returns the first and last time of a series; ok is false without
	// samples.
	bounds(series uint32) (mint, maxt int64, ok bool)
	// reaching returns the least and the greatest of series around one that can be
	// told to reach into a range without looking at each; none if lo > hi.
	reaching(series uint32, mint, maxt int64) (lo, hi uint32)
	// overlap is Part.Overlap.
	overlap(series []uint32, mint, maxt int64) ([]uint32, error)
	// cursor is Part.Cursor and its like.
	cursor(series uint32, mint, maxt int64, how reading) block.Cursor
	// walk is Part.EachBlock.
	walk(series []uint32, f func(*BlockInfo) error, lost func(Loss)) error
	// space is Part.DataSpace but for the tables.
	space() (DataSpace, error)
	// verify decodes all blocks and reports damage.
	verify(report func(Problem)) error
	// dump prints the blocks of a series, damage in their place.
	dump(w io.Writer, series uint32, samples bool)
}

func (p *Part) load() (*loaded, error) {
	if l := p.ready.Load(); l != nil {
		return l, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.loaded != nil {
		return p.mu.loaded, nil
	}
	l := new(loaded)
	var err error
	if l.index, err = p.openIndex(); err != nil {
		return nil, err
	}
	if l.samples, err = p.loadSamples(); err != nil {
		return nil, err
	}
	p.mu.loaded = l
	p.ready.Store(l)
	return l, nil
}

// loadSamples reads the tables of the data file.
func (p *Part) loadSamples() (samples, error) {
	if p.meta.Format == 1 {
		return loadTables(p)
	}
	return loadGroups(p)
}

// readFile reads a file that must have the given size.
func (p *Part) readFile(name string, size uint64) (b []byte, err error) {
	f, err := p.openFile(name, size)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b = make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return nil, fmt.Errorf("read %s: got %d of %d bytes: %w", path.Join(p.dir, name), n, size, err)
	}
	return b, nil
}

func (p *Part) openFile(name string, size uint64) (vfs.File, error) {
	f, err := p.fs.Open(path.Join(p.dir, name))
	if err != nil {
		return nil, fmt.Errorf("open file of part: %w", err)
	}
	got, err := f.Size()
	if err == nil && uint64(got) != size {
		err = p.corrupt(name, 0, fmt.Errorf("size: got %d, want %d", got, size))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
