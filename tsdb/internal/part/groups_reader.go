package part

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sort"

	"github.com/varvedb/varve/tsdb/internal/b1"
	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// reader reads one block after the other. It is what spans of a groupCursor have
// for a source, and keeps all that reading takes: some 30 KiB and the buffers of
// what was decoded.
type reader struct {
	g         *groups
	h         b1.Header
	last      *groupPage // of lastGroup, the one that appendSeries read last; kept in the pool
	page      *groupPage
	lastGroup int
	group     int    // which the page is of
	row       int    // of the block in it
	payload   []byte // of the block, nil until it is read
	stored    []byte // buffer of payload
	kept      bool   // payloads are to be kept, for queries
	lazy      bool   // little is wanted of payloads: they are used where the file is mapped
	opened    bool   // block reads payload
	block     b1.Block
	lo        int // buffers of values begin with this sample of the block

	floats []float64
	ints32 []int32
	ints64 []int64
	starts []int64

	hasStarts bool // starts are those of the block
	times     []int64
	timesOf   timesKey // what times are of
	scratch   codec.Scratch

	asNarrow bool           // samples are wanted as they are kept:
	narrow   []block.Narrow // here
}

// timesKey is all that times depend on.
type timesKey struct {
	ref        uint64
	mint, step int64
	count      int
}

// reader takes one from the pool.
func (g *groups) reader() *reader {
	if r, ok := g.pool.Get().(*reader); ok {
		return r
	}
	return &reader{g: g}
}

// release gives r back.
func (r *reader) release() {
	r.page, r.payload, r.kept, r.lazy, r.asNarrow, r.narrow = nil, nil, false, false, false, nil
	r.g.pool.Put(r)
}

// open turns to row k of the page of a group.
func (r *reader) open(page *groupPage, group, k int) error {
	r.page, r.group, r.row = page, group, k
	r.payload, r.opened, r.hasStarts = nil, false, false
	if err := page.rows.Header(k, &r.h); err != nil {
		return r.g.p.pageError(page.at, err)
	}
	return nil
}

// offset is where the block is.
func (r *reader) offset() int64 {
	if r.page.shared {
		return r.page.begin
	}
	return r.page.begin + int64(r.h.Offset)
}

// raw returns the payload, whose checksum has been compared.
func (r *reader) raw() ([]byte, error) {
	if r.payload != nil {
		return r.payload, nil
	}
	if r.page.shared {
		r.payload = r.page.body[r.h.Offset:][:r.h.Length:r.h.Length]
		return r.payload, nil
	}
	if r.payload = r.page.payload(r.row); r.payload != nil {
		return r.payload, nil
	}
	if r.payload = r.inPlace(); r.payload != nil {
		return r.payload, nil
	}
	keep := (!r.lazy || r.g.mapping() == nil) && r.kept && r.g.p.payloads.wants(r.page, r.row, int(r.h.Length))
	var b []byte
	if keep {
		b = make([]byte, r.h.Length)
	} else {
		r.stored = resize(r.stored, int(r.h.Length))
		b = r.stored
	}
	if err := r.g.read(b, r.offset()); err != nil {
		return nil, err
	}
	if got := crc32.Checksum(b, castagnoli); got != r.h.CRC {
		return nil, r.g.p.corrupt(DataFile, r.offset(), fmt.Errorf("checksum of a block: got %08x, want %08x", got, r.h.CRC))
	}
	r.g.checked[r.group].add(r.row)
	if keep {
		r.g.p.payloads.keep(r.page, r.row, b)
	}
	r.payload = b
	return b, nil
}

// ready makes block read the payload.
func (r *reader) ready() error {
	if r.opened {
		return nil
	}
	b, err := r.raw()
	if err != nil {
		return err
	}
	if err := r.block.Open(&r.h, b); err != nil {
		return r.g.p.corrupt(DataFile, r.offset(), err)
	}
	r.opened = true
	return nil
}

// Stat answers for the samples [i, j) of the block: from the header alone if that
// is all of them.
func (r *reader) Stat(op block.StatOp, i, j int) (value float64, exact bool) {
	if i == 0 && j == r.h.Count {
		if op == block.StatIncrease {
			value, exact = r.h.Increase()
		} else {
			value, exact = r.h.Stat(op)
		}
		if exact {
			return value, exact
		}
	}
	r.guarded(func() {
		if r.ready() != nil {
			value, exact = 0, false // Load tells
		} else if op == block.StatIncrease {
			value, exact = r.block.Increase(i, j)
		} else {
			value, exact = r.block.Stat(op, i, j)
		}
	})
	return value, exact
}

// Resets answers from the header unless there are exceptions.
func (r *reader) Resets(dst []int, i, j int) (list []int, exact bool) {
	if r.h.Exceptions == 0 {
		return r.h.AppendResets(dst, i, j)
	}
	r.guarded(func() {
		if list, exact = dst, false; r.ready() == nil {
			list, exact = r.block.Resets(dst, i, j)
		}
	})
	return list, exact
}

// MayBeStale answers from the header where there is no marker, else from the
// exceptions; doubles with NaN among them may hide one.
func (r *reader) MayBeStale(i, j int) bool {
	switch {
	case r.h.Flags&(b1.FlagHasStale|b1.FlagSpecial) == 0:
		return false
	case r.h.Flags&b1.FlagSpecial != 0:
		return true
	}
	may := false
	r.guarded(func() { may = r.ready() != nil || r.block.HasStale(i, j) })
	return may
}

// Load decodes the mini-blocks of the samples of s.
func (r *reader) Load(s *block.Span, i int) error {
	var err error
	r.guarded(func() {
		if err = r.ready(); err == nil {
			err = r.load(s, i, i+s.Count)
		}
	})
	if err = r.located(err); err != nil {
		r.g.noteBlock(r.group, r.row, r.page, err) // whoever loads late has no cursor that does
	}
	return err
}

// located completes an error about the bytes of the block with its place.
func (r *reader) located(err error) error {
	if err == nil {
		return nil
	}
	var damage *block.CorruptionError
	if errors.Is(err, block.ErrCorrupt) && !errors.As(err, &damage) {
		err = r.g.p.corrupt(DataFile, r.offset(), err)
	}
	return err
}

func (r *reader) load(s *block.Span, i, j int) (err error) {
	if err := r.loadStarts(s, i, j); err != nil {
		return err
	}
	b := &r.block
	switch s.Kind {
	case block.KindHistogram:
		s.Histograms, err = b.Histograms(i, j)
		return err
	case block.KindFloatHistogram:
		s.FloatHistograms, err = b.FloatHistograms(i, j)
		return err
	}
	scale, ok := b.Decimal()
	if !ok || !b.Plain(i, j) {
		r.floats = grow(r.floats, j-r.lo)
		s.Floats = r.floats[i-r.lo : j-r.lo]
		return b.Floats(s.Floats, i)
	}
	s.Scale = scale
	if b.Narrow() {
		r.ints32 = grow(r.ints32, j-r.lo)
		s.Ints32 = r.ints32[i-r.lo : j-r.lo]
		return b.Ints32(s.Ints32, i)
	}
	r.ints64 = grow(r.ints64, j-r.lo)
	s.Ints64 = r.ints64[i-r.lo : j-r.lo]
	return b.Ints64(s.Ints64, i)
}

func (r *reader) loadStarts(s *block.Span, i, j int) error {
	if r.h.Flags&b1.FlagStartTimes == 0 {
		return nil
	}
	if !r.hasStarts {
		r.starts = resize(r.starts, r.h.Count)
		if _, err := r.block.StartTimes(r.starts); err != nil {
			return err
		}
		r.hasStarts = true
	}
	s.StartTimes = r.starts[i:j]
	return nil
}

// span describes the samples of the block inside [mint, maxt], Count 0 if there
// are none, without values but for histograms.
func (r *reader) span(s *block.Span, mint, maxt int64) error {
	*s = block.Span{Kind: r.h.Kind, Count: r.h.Count, Start: r.h.MinT, Step: r.h.Step}
	if !r.h.IsGrid() {
		if err := r.loadTimes(); err != nil {
			return err
		}
		s.Start, s.Step, s.Times = 0, 0, r.times
	}
	s.SetSource(r, 0)
	*s = s.Clip(mint, maxt)
	if s.Count == 0 {
		return nil
	}
	_, r.lo = s.Source()
	if s.Kind == block.KindFloat {
		return nil
	}
	return r.Load(s, r.lo)
}

// loadTimes decodes times that are no grid.
func (r *reader) loadTimes() error {
	key := timesKey{r.h.TimesRef, r.h.MinT, r.h.Step, r.h.Count}
	if r.timesOf == key && r.timesOf.count > 0 && r.times[key.count-1] == r.h.MaxT {
		return nil
	}
	r.timesOf = timesKey{}
	b, err := r.g.timesAt(r.h.TimesRef)
	if err != nil {
		return err
	}
	r.times = resize(r.times, r.h.Count)
	if err := r.h.DecodeTimes(r.times, b, &r.scratch); err != nil {
		return r.g.p.corrupt(DataFile, int64(r.h.TimesRef), err)
	}
	r.timesOf = key
	return nil
}

// maxTimes bounds a payload of times.
const maxTimes = 1 << 20

// timesAt returns the payload of times at an offset of the file. In a body that
// is shared a length stands before it, elsewhere length and checksum.
func (g *groups) timesAt(ref uint64) ([]byte, error) {
	group := sort.Search(g.table.Rows(), func(i int) bool { return g.at(groupOffset, i) > ref }) - 1
	if group < 0 || ref-g.at(groupOffset, group) >= g.at(groupBody, group) {
		return nil, g.p.corrupt(DataFile, int64(ref), errors.New("times are not in a group"))
	}
	end := g.at(groupOffset, group) + g.at(groupBody, group)
	if g.at(groupShared, group) == 1 {
		page, err := g.page(group)
		if err != nil {
			return nil, err
		}
		b := page.body[ref-g.at(groupOffset, group):]
		length, n := binary.Uvarint(b)
		if n <= 0 || length > uint64(len(b)-n) {
			return nil, g.p.corrupt(DataFile, int64(ref), errors.New("times reach beyond their group"))
		}
		return b[n:][:length], nil
	}
	if b, ok := g.times.get(ref); ok {
		return b, nil
	}
	b, err := g.readTimes(ref, end)
	if err != nil {
		return nil, err
	}
	g.times.put(ref, b, len(b)+128)
	return b, nil
}

// readTimes reads a payload of times with a checksum, which ends by end.
func (g *groups) readTimes(ref, end uint64) ([]byte, error) {
	const guess = 4 << 10
	b := make([]byte, min(guess, end-ref))
	if err := g.read(b, int64(ref)); err != nil {
		return nil, err
	}
	length, n := binary.Uvarint(b)
	if n <= 0 || length > maxTimes || uint64(n)+4+length > end-ref {
		return nil, g.p.corrupt(DataFile, int64(ref), errors.New("times reach beyond their group"))
	}
	whole := n + 4 + int(length)
	if whole > len(b) {
		b = append(b, make([]byte, whole-len(b))...)
		if err := g.read(b[min(guess, whole):], int64(ref)+guess); err != nil {
			return nil, err
		}
	}
	payload := append([]byte(nil), b[n+4:whole]...)
	if got, want := crc32.Checksum(payload, castagnoli), binary.LittleEndian.Uint32(b[n:]); got != want {
		return nil, g.p.corrupt(DataFile, int64(ref), fmt.Errorf("checksum of times: got %08x, want %08x", got, want))
	}
	return payload, nil
}

// resize returns a slice of n elements, s where it is large enough; what was in
// it is lost.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// grow returns a slice of at least n elements, s where it is large enough, so
// that what was handed out of s stays.
func grow[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:max(n, len(s))]
	}
	return make([]T, n)
}
