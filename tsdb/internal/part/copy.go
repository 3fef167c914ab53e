package part

import (
	"hash/crc32"

	"github.com/varvedb/varve/tsdb/internal/b1"
	"github.com/varvedb/varve/tsdb/internal/block"
)

// copySamples is from how many samples on a block is copied as it is. Shorter
// ones are joined with their neighbours.
const copySamples = 4096

// copyFrom is copySamples, or less where blocks are short by choice.
func (w *Writer) copyFrom() int { return min(copySamples, (w.opts.BlockSamples+1)/2) }

// storedBlock returns the reader of the block that s is, if s is a whole one.
func storedBlock(s *block.Span) *reader {
	src, from := s.Source()
	r, ok := src.(*reader)
	if !ok || from != 0 || s.Count != r.h.Count || s.Kind != r.h.Kind {
		return nil
	}
	return r
}

// encoded returns all bytes of the block, whose checksums have been compared; the
// header has the payload's.
func (r *reader) encoded() (h b1.Header, payload, times []byte, err error) {
	if payload, err = r.raw(); err != nil {
		return h, nil, nil, err
	}
	if !r.h.IsGrid() {
		if times, err = r.g.timesAt(r.h.TimesRef); err != nil {
			return h, nil, nil, err
		}
	}
	h = r.h
	if r.page.shared {
		h.CRC = crc32.Checksum(payload, castagnoli)
	}
	return h, payload, times, nil
}

// copyBlock writes a block as it is stored elsewhere.
func (w *Writer) copyBlock(r *reader) error {
	h, payload, times, err := r.encoded()
	if err != nil {
		return err
	}
	w.wrote(w.groups.add(uint32(w.series.Len()-1), &h, payload, times))
	return nil
}

// original is the stored form of the pending samples while they are those of one
// block: if none follow they need not be encoded again.
type original struct {
	set            bool
	h              b1.Header
	payload, times []byte
	block          b1.Block // scratch of join
	joined         []byte
}

// join makes o the stored form of the block it has and then r's, if their
// mini-blocks can be put one after the other.
func (o *original) join(r *reader) bool {
	if !o.set || !o.h.IsGrid() || r.ready() != nil || o.block.Open(&o.h, o.payload) != nil {
		return false
	}
	var h b1.Header
	payload, ok := b1.Concat(o.joined[:0], &h, &o.block, &r.block)
	if ok {
		o.h, o.payload, o.joined = h, payload, o.payload
	}
	return ok
}

func (o *original) take(r *reader) error {
	h, payload, times, err := r.encoded()
	if err != nil {
		return err
	}
	o.set, o.h = true, h
	o.payload, o.times = append(o.payload[:0], payload...), append(o.times[:0], times...)
	return nil
}

// writeOriginal writes the pending samples by way of their stored form.
func (w *Writer) writeOriginal() error {
	o := &w.original
	o.set = false
	w.wrote(w.groups.add(uint32(w.series.Len()-1), &o.h, o.payload, o.times))
	w.pending.drop(w.pending.len())
	return nil
}
