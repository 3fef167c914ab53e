package part

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/prometheus/prometheus/model/exemplar"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// Problem is one place of damage.
type Problem struct {
	File   string
	Offset int64
	Cause  error
}

func (p Problem) String() string { return fmt.Sprintf("%s at %d: %v", p.File, p.Offset, p.Cause) }

// Verify reads and decodes everything in the part and reports each damaged
// place, going on behind it where it can. The error is about reading, nil if
// all could be read, damaged or not.
func (p *Part) Verify(report func(Problem)) error {
	l, err := p.load()
	if err := p.sift(err, report); err != nil {
		return err
	}
	if err := p.sift(p.verifyExemplars(report), report); err != nil {
		return err
	}
	if l == nil {
		return p.verifyWithoutIndex(report)
	}
	if err := p.verifyIndex(l.index, report); err != nil {
		return err
	}
	return l.samples.verify(report)
}

// verifyWithoutIndex checks the blocks of a part whose index does not open.
func (p *Part) verifyWithoutIndex(report func(Problem)) error {
	p.mu.Lock()
	_, err := p.openIndex()
	p.mu.Unlock()
	if err == nil {
		return nil // it is the tables that do not
	}
	s, err := p.openSamples()
	if err != nil {
		return p.sift(err, report)
	}
	return s.verify(report)
}

// sift reports damage, missing files too, and passes other errors on.
func (p *Part) sift(err error, report func(Problem)) error {
	var c *block.CorruptionError
	switch {
	case errors.As(err, &c):
		report(Problem{File: c.File, Offset: c.Offset, Cause: c.Cause})
		return nil
	case errors.Is(err, fs.ErrNotExist):
		report(Problem{File: p.dir, Cause: err})
		return nil
	case errors.Is(err, block.ErrCorrupt):
		report(Problem{File: path.Join(p.dir, DataFile), Cause: err})
		return nil
	}
	return err
}

func (p *Part) verifyExemplars(report func(Problem)) error {
	if p.meta.Exemplars == 0 {
		return nil
	}
	f, err := p.openExemplars()
	if err != nil {
		return err
	}
	total := uint64(0)
	previous := uint64(0)
	for row := range f.table.Rows() {
		id := firstChunk + f.table.At(1, row)
		if id == previous {
			continue
		}
		previous = id
		chunk, err := f.sections.Read(id)
		if err == nil {
			err = walkExemplars(chunk, func(_ uint64, list []exemplar.Exemplar) { total += uint64(len(list)) })
			if err != nil {
				err = &block.CorruptionError{Offset: f.sections.Offset(id), Cause: err}
			}
		}
		if err != nil {
			if err := p.sift(p.locate(ExemplarFile, err), report); err != nil {
				return err
			}
			total = p.meta.Exemplars // what is missing is known
		}
	}
	if total != p.meta.Exemplars {
		return p.corrupt(ExemplarFile, 0, fmt.Errorf("exemplars: got %d, want %d", total, p.meta.Exemplars))
	}
	return nil
}
