package v1

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// Version is the version of the page format this package reads.
//
// History: 1 tokens and raw bits, entropy coded per page.
const Version = 1

// kindTimes marks a block that is a bare column of times.
const kindTimes block.Kind = 0

// How a block says the times of its samples.
const (
	timesGrid   = 0 // start varint, step uvarint
	timesInline = 1 // a column of integers
	timesShared = 2 // a reference, uvarint
)

// Bits of a block's first byte: the kind in the lowest two, the form of times
// in the next two.
const (
	kindMask      = 3
	timesShift    = 2
	timesMask     = 3
	flagStart     = 1 << 4 // has a column of start timestamps
	knownFlags    = kindMask | timesMask<<timesShift | flagStart
	minPageLength = 1 + 1 + 3*3 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// streams are the three parts of every block: head holds counts and
// parameters, tokens and bits the residuals of all columns.
type streams struct{ head, tokens, bits []byte }

// streamLengths are those of one block in a page.
type streamLengths struct{ head, tokens, bits int }

// TimesRef names a column of times that is stored in another page. The value
// is the caller's.
type TimesRef uint64

// Page is a decompressed page. Once opened it may be decoded by many
// goroutines; it does not refer to the bytes it was opened from.
type Page struct {
	data  streams
	ends  []streamLengths // of each block, within data
	first int             // length of the directory
}

// Buffer holds what spans decode into; the zero value is ready. A decoded span
// is valid until the next use of its Buffer.
type Buffer struct {
	times, ints, aux, starts []int64
	floats                   []float64
	exceptions               []exception
}

// TimesFunc returns the column of times a block refers to. It is not changed.
type TimesFunc func(ref TimesRef) ([]int64, error)

// decoder is the state of decoding one block. Failures of any kind set
// head.Bad.
type decoder struct {
	head         codec.Reader
	tokens, bits []byte
}

// Open checks and decompresses a page, reusing the memory of p, which nobody
// else may be using. Errors wrap ErrCorrupt, or ErrVersion when the page is
// of a later format.
func (p *Page) Open(b []byte) error {
	p.ends = p.ends[:0]
	if len(b) < minPageLength {
		return block.Corruptf("page of %d bytes is too short", len(b))
	}
	body := b[:len(b)-4]
	if got, want := crc32.Checksum(body, castagnoli), binary.LittleEndian.Uint32(b[len(body):]); got != want {
		return block.Corruptf("page checksum: got %08x, want %08x", got, want)
	}
	r := codec.NewReader(body)
	if v := r.Byte(); v > Version {
		return fmt.Errorf("page version %d: %w (%d)", v, block.ErrVersion, Version)
	} else if v == 0 {
		return block.Corruptf("page version 0")
	}
	blocks := r.Uvarint()
	if err := p.decompress(&r); err != nil {
		return err
	}
	return p.directory(blocks)
}

func (p *Page) decompress(r *codec.Reader) error {
	var how [3]byte
	var length, stored [3]uint64
	for i := range how {
		how[i], length[i], stored[i] = r.Byte(), r.Uvarint(), r.Uvarint()
		if length[i] > maxStream || length[i] > maxRatio*stored[i] {
			return block.Corruptf("stream of %d bytes stored in %d", length[i], stored[i])
		}
	}
	for i, s := range [3]*[]byte{&p.data.head, &p.data.tokens, &p.data.bits} {
		src := r.Take(stored[i])
		if r.Bad() {
			return block.Corruptf("page ends inside its streams")
		}
		*s = resize(*s, int(length[i])+bitPad)[:length[i]]
		if err := decompress(*s, how[i], src); err != nil {
			return err
		}
		clear((*s)[length[i] : length[i]+bitPad])
	}
	if r.Len() > 0 {
		return block.Corruptf("%d bytes behind the streams", r.Len())
	}
	return nil
}

// directory computes where each block ends in each stream.
func (p *Page) directory(blocks uint64) error {
	if blocks == 0 || blocks > uint64(len(p.data.head)) {
		return block.Corruptf("page of %d blocks with a head of %d bytes", blocks, len(p.data.head))
	}
	r := codec.NewReader(p.data.head)
	var end [3]uint64
	limit := [3]uint64{uint64(len(p.data.head)), uint64(len(p.data.tokens)), uint64(len(p.data.bits))}
	for range blocks - 1 {
		for i := range end {
			n := r.Uvarint()
			if n > limit[i]-end[i] {
				return block.Corruptf("block reaches beyond its stream")
			}
			end[i] += n
		}
		p.ends = append(p.ends, streamLengths{int(end[0]), int(end[1]), int(end[2])})
	}
	p.first = len(p.data.head) - r.Len()
	if r.Bad() || end[0] > limit[0]-uint64(p.first) {
		return block.Corruptf("page directory")
	}
	p.ends = append(p.ends, streamLengths{len(p.data.head) - p.first, len(p.data.tokens), len(p.data.bits)})
	return nil
}

// Len returns the number of blocks.
func (p *Page) Len() int { return len(p.ends) }

// Size returns the memory the page holds, in bytes.
func (p *Page) Size() int {
	return cap(p.data.head) + cap(p.data.tokens) + cap(p.data.bits) + 24*cap(p.ends)
}

func (p *Page) decoder(i int) (decoder, error) {
	if i < 0 || i >= len(p.ends) {
		return decoder{}, block.Corruptf("block %d of a page of %d", i, len(p.ends))
	}
	var begin streamLengths
	if i > 0 {
		begin = p.ends[i-1]
	}
	end := p.ends[i]
	return decoder{
		head:   codec.NewReader(p.data.head[p.first+begin.head : p.first+end.head]),
		tokens: p.data.tokens[begin.tokens:end.tokens],
		bits:   p.data.bits[begin.bits:end.bits],
	}, nil
}

// Decode decodes block i into s. Floats and times belong to buf; histograms are
// new and stay valid, but share spans and custom values with one another. shared
// is asked for times stored elsewhere; nil refuses such blocks.
//
// What was decoded holds what Span promises, or the error wraps ErrCorrupt.
func (p *Page) Decode(i int, s *block.Span, buf *Buffer, shared TimesFunc) error {
	d, err := p.decoder(i)
	if err != nil {
		return err
	}
	flags := d.head.Byte()
	*s = block.Span{Kind: block.Kind(flags & kindMask)}
	if flags&^knownFlags != 0 || s.Kind == kindTimes {
		return block.Corruptf("block flags %#x", flags)
	}
	if s.Count, err = d.samples(); err != nil {
		return err
	}
	if err := d.timesOf(s, flags>>timesShift&timesMask, buf, shared); err != nil {
		return err
	}
	if flags&flagStart != 0 {
		buf.starts = resize(buf.starts, s.Count)
		d.ints(buf.starts)
		s.StartTimes = buf.starts
	}
	switch s.Kind {
	case block.KindHistogram:
		d.histograms(s, buf)
	case block.KindFloatHistogram:
		d.floatHistograms(s, buf)
	default:
		d.floats(s.Count, s, buf)
	}
	return d.end()
}

// Times decodes block i, a column of times, into memory of its own.
func (p *Page) Times(i int) ([]int64, error) {
	d, err := p.decoder(i)
	if err != nil {
		return nil, err
	}
	if flags := d.head.Byte(); flags != byte(kindTimes)|timesInline<<timesShift {
		return nil, block.Corruptf("block flags %#x of a column of times", flags)
	}
	n, err := d.samples()
	if err != nil {
		return nil, err
	}
	out := make([]int64, n)
	d.ints(out)
	if err := d.end(); err != nil {
		return nil, err
	}
	if err := (&block.Span{Count: n, Times: out}).CheckTimes(); err != nil {
		return nil, block.Corruptf("%w", err)
	}
	return out, nil
}

func (d *decoder) samples() (int, error) {
	n := d.head.Uvarint()
	if d.head.Bad() || n < 1 || n > block.MaxSamples {
		return 0, block.Corruptf("block of %d samples, want 1 to %d", n, block.MaxSamples)
	}
	return int(n), nil
}

// errEnds is the cause where a block does not hold what its head says.
var errEnds = block.Corruptf("block header: %w", io.ErrUnexpectedEOF)

// end reports what failed, and bytes nobody read.
func (d *decoder) end() error {
	if d.head.Bad() {
		return errEnds
	}
	if n := d.head.Len() + len(d.tokens) + len(d.bits); n > 0 {
		return block.Corruptf("%d bytes left over behind a block", n)
	}
	return nil
}

func (d *decoder) timesOf(s *block.Span, form byte, buf *Buffer, shared TimesFunc) error {
	switch form {
	case timesGrid:
		s.Start = d.head.Varint()
		if s.Count > 1 {
			s.Step = int64(d.head.Uvarint())
		}
	case timesInline:
		buf.times = resize(buf.times, s.Count)
		d.ints(buf.times)
		s.Times = buf.times
	case timesShared:
		if shared == nil {
			return block.Corruptf("block refers to times that are not there")
		}
		ref := d.head.Uvarint()
		if d.head.Bad() {
			return errEnds
		}
		times, err := shared(TimesRef(ref))
		if err != nil {
			return fmt.Errorf("read shared times: %w", err)
		}
		if len(times) != s.Count {
			return block.Corruptf("shared times: got %d, want %d", len(times), s.Count)
		}
		s.Times = times
		return nil // checked when they were decoded
	default:
		return block.Corruptf("form of times %d", form)
	}
	if d.head.Bad() {
		return errEnds
	}
	if err := s.CheckTimes(); err != nil {
		return block.Corruptf("%w", err)
	}
	return nil
}

// errSeveral is the cause when DecodeBlock is given a page of several blocks.
var errSeveral = errors.New("page holds several blocks")

// DecodeBlock decodes what AppendBlock wrote.
func DecodeBlock(b []byte, s *block.Span, buf *Buffer) error {
	var p Page
	if err := p.Open(b); err != nil {
		return err
	}
	if p.Len() != 1 {
		return block.Corruptf("%w", errSeveral)
	}
	return p.Decode(0, s, buf, nil)
}
