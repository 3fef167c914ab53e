package part

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/prometheus/prometheus/model/exemplar"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index/section"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// openExemplars opens the exemplar file at first use.
func (p *Part) openExemplars() (*exemplarFile, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.exemplars != nil {
		return p.mu.exemplars, nil
	}
	f, err := p.openFile(ExemplarFile, p.meta.exemplarSize)
	if err != nil {
		return nil, err
	}
	e, err := p.checkExemplars(f)
	if err != nil {
		return nil, errors.Join(p.locate(ExemplarFile, err), f.Close())
	}
	p.mu.exemplars, p.mu.file = e, f
	return e, nil
}

func (p *Part) checkExemplars(f vfs.File) (*exemplarFile, error) {
	var foot [footerSize]byte
	size := int64(p.meta.exemplarSize)
	if size < footerSize {
		return nil, &block.CorruptionError{Cause: fmt.Errorf("file of %d bytes is too short", size)}
	}
	if n, err := f.ReadAt(foot[:], size-footerSize); n < len(foot) {
		return nil, fmt.Errorf("read footer: %w", err)
	}
	if got := uint64(crc32.Checksum(foot[:], castagnoli)); got != p.meta.exemplarCRC {
		return nil, &block.CorruptionError{Offset: size - footerSize, Cause: fmt.Errorf("footer checksum: got %08x, want %08x", got, p.meta.exemplarCRC)}
	}
	e := new(exemplarFile)
	var err error
	if e.sections, err = section.Open(f, size, exemplarFormat); err != nil {
		return nil, err
	}
	b, err := e.sections.Read(secExemplarTable)
	if err != nil {
		return nil, err
	}
	if e.table, err = section.OpenTable(b, 2); err != nil {
		return nil, &block.CorruptionError{Offset: e.sections.Offset(secExemplarTable), Cause: err}
	}
	if rows := uint64(e.table.Rows()); rows > p.meta.Series || rows > 0 && !e.table.Ascends(0, p.meta.Series-1) {
		return nil, &block.CorruptionError{Offset: e.sections.Offset(secExemplarTable), Cause: errors.New("exemplars of series that are not there")}
	}
	return e, nil
}

// Exemplars returns the exemplars of a series with times inside [mint, maxt], in
// the order they were added; their labels are copies.
func (p *Part) Exemplars(series uint32, mint, maxt int64) ([]exemplar.Exemplar, error) {
	if p.meta.Exemplars == 0 {
		return nil, nil
	}
	f, err := p.openExemplars()
	if err != nil {
		return nil, err
	}
	id, ok := f.find(series)
	if !ok {
		return nil, nil
	}
	chunk, err := f.sections.Read(id)
	if err != nil {
		return nil, p.locate(ExemplarFile, err)
	}
	list, err := parseExemplars(chunk, series)
	if err != nil {
		return nil, p.corrupt(ExemplarFile, f.sections.Offset(id), err)
	}
	out := list[:0]
	for _, e := range list {
		if e.Ts >= mint && e.Ts <= maxt {
			out = append(out, e)
		}
	}
	return out, nil
}
