package bitmap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unsafe"
)

// Forms a stored set has, see the package comment.
const (
	formDeltas     = 1
	formRuns       = 2
	formContainers = 3

	// A list this short is stored as varints if that is smaller: decoding it
	// takes a microsecond.
	varintMax     = 1024
	varintRunsMax = 256

	entrySize = 12
)

// ErrStored is what errors about a stored set that does not keep the invariants
// wrap.
var ErrStored = errors.New("stored set is damaged")

// AppendSet appends the stored form of a set that is not empty to a section that
// dst is a part of, at being the offset of dst[0] in it. It returns where in the
// section the set begins.
func AppendSet(dst []byte, at int, s *Set) (out []byte, off int) {
	begin := len(dst)
	containers := entrySize * len(s.cs)
	for i := range s.cs {
		containers += s.cs[i].size()
	}
	runs := s.runs()
	if runs <= varintRunsMax && s.count > 1 {
		if dst = s.appendRuns(append(dst, formRuns)); len(dst)-begin < min(containers, s.count) {
			return dst, at + begin
		}
		dst = dst[:begin]
	}
	if s.count <= varintMax {
		if dst = s.appendDeltas(append(dst, formDeltas)); len(dst)-begin < containers {
			return dst, at + begin
		}
		dst = dst[:begin]
	}
	return s.appendContainers(dst, at)
}

// AppendIDs is AppendSet for ascending ordinals.
func AppendIDs(dst []byte, at int, ids []uint32) (out []byte, off int) {
	if len(ids) <= varintRunsMax && len(ids) > 1 && int(ids[len(ids)-1]-ids[0]) == len(ids)-1 { // one run
		begin := len(dst)
		dst = append(dst, formRuns)
		dst = binary.AppendUvarint(dst, uint64(ids[0]))
		return binary.AppendUvarint(dst, uint64(len(ids)-1)), at + begin
	}
	return AppendSet(dst, at, FromSorted(ids))
}

// runs returns the number of runs of ordinals, those cut by a container's end
// counted twice.
func (s *Set) runs() int {
	n := 0
	for i := range s.cs {
		switch c := &s.cs[i]; c.kind {
		case kindRuns:
			n += len(c.array) / 2
		case kindBitmap:
			n += c.words.runs()
		default:
			for k, v := range c.array {
				if k == 0 || v != c.array[k-1]+1 {
					n++
				}
			}
		}
	}
	return n
}

func (s *Set) appendDeltas(dst []byte) []byte {
	next := uint32(0)
	for _, id := range s.AppendTo(nil) {
		dst = binary.AppendUvarint(dst, uint64(id-next))
		next = id + 1
	}
	return dst
}

func (s *Set) appendRuns(dst []byte) []byte {
	end, begin, stop := uint32(0), uint32(0), uint32(0) // stop is one past the last; 0 at first
	put := func() {
		dst = binary.AppendUvarint(dst, uint64(begin-end))
		dst = binary.AppendUvarint(dst, uint64(stop-begin-1))
		end = stop
	}
	var buf [1024]uint32
	it := s.Iterator()
	first := true
	for n := it.Next(buf[:]); n > 0; n = it.Next(buf[:]) {
		for _, id := range buf[:n] {
			switch {
			case first:
				begin, first = id, false
			case id != stop:
				put()
				begin = id
			}
			stop = id + 1
		}
	}
	put()
	return dst
}

func align(n, to int) int { return (n + to - 1) &^ (to - 1) }

func pad(dst []byte, n int) []byte { return append(dst, make([]byte, n)...) }

func (s *Set) appendContainers(dst []byte, at int) (out []byte, off int) {
	dst = pad(dst, align(at+len(dst), 4)-at-len(dst))
	begin := len(dst)
	dst = append(dst, formContainers, 0)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(s.cs)-1))
	table := len(dst)
	dst = pad(dst, entrySize*len(s.cs))
	for pass := range 2 { // bitmaps first, for their alignment
		for i := range s.cs {
			c := &s.cs[i]
			if (c.kind == kindBitmap) != (pass == 0) {
				continue
			}
			if pass == 0 {
				dst = pad(dst, align(at+len(dst), 64)-at-len(dst))
			}
			e := dst[table+entrySize*i:]
			binary.LittleEndian.PutUint16(e[0:], c.key)
			binary.LittleEndian.PutUint16(e[2:], uint16(c.count-1))
			e[4] = c.kind
			if c.kind == kindRuns {
				binary.LittleEndian.PutUint16(e[6:], uint16(len(c.array)/2-1))
			}
			binary.LittleEndian.PutUint32(e[8:], uint32(len(dst)-begin))
			dst = c.appendData(dst)
		}
	}
	return dst, at + begin
}

func (c *Container) appendData(dst []byte) []byte {
	if c.kind == kindBitmap {
		for _, x := range c.words {
			dst = binary.LittleEndian.AppendUint64(dst, x)
		}
		return dst
	}
	for _, v := range c.array {
		dst = binary.LittleEndian.AppendUint16(dst, v)
	}
	return dst
}

// Open returns the set that a section holds at an offset, after checking that it
// has count ordinals, all below limit. Containers alias section; the other forms
// are decoded. Errors wrap ErrStored.
func Open(section []byte, off uint64, count int, limit uint32) (*Set, error) {
	if off >= uint64(len(section)) || count <= 0 || int64(count) > int64(limit) {
		return nil, fmt.Errorf("%w: %d ordinals at %d of %d bytes", ErrStored, count, off, len(section))
	}
	b := section[off:]
	switch b[0] {
	case formDeltas, formRuns:
		return openVarints(b, count, limit)
	case formContainers:
		s, ok := openContainers(b)
		if !ok {
			return nil, fmt.Errorf("%w: containers at %d reach beyond the section", ErrStored, off)
		}
		if err := s.check(limit); err != nil {
			return nil, fmt.Errorf("%w at %d", err, off)
		}
		if s.count != count {
			return nil, fmt.Errorf("%w: got %d ordinals, want %d", ErrStored, s.count, count)
		}
		return s, nil
	}
	return nil, fmt.Errorf("%w: form %d", ErrStored, b[0])
}

// varintBytes bounds what the varint forms take that a writer chooses.
const varintBytes = 1 + max(varintMax, 2*varintRunsMax)*binary.MaxVarintLen32

// reach calls read with the bytes that a set takes, and perhaps some behind it,
// before any of them is looked at.
func reach(section []byte, off uint64, count int, read func(from, to uint64)) error {
	end := uint64(len(section))
	if off >= end || count <= 0 {
		return fmt.Errorf("%w: %d ordinals at %d of %d bytes", ErrStored, count, off, end)
	}
	// As far as varints may reach; the table of containers takes no less.
	read(off, min(end, off+min(varintBytes, 1+2*uint64(count)*binary.MaxVarintLen32)))
	b := section[off:]
	if b[0] != formContainers {
		return nil
	}
	read(off, min(end, off+4))
	if len(b) < 4 {
		return fmt.Errorf("%w: containers at %d reach beyond the section", ErrStored, off)
	}
	table := b[4:]
	n := int(binary.LittleEndian.Uint16(b[2:])) + 1
	if len(table) < entrySize*n {
		return fmt.Errorf("%w: containers at %d reach beyond the section", ErrStored, off)
	}
	read(off, off+4+entrySize*uint64(n))
	last := uint64(0)
	for i := range n {
		e := table[entrySize*i:][:entrySize]
		last = max(last, uint64(binary.LittleEndian.Uint32(e[8:]))+entryBytes(e))
	}
	if last > uint64(len(b)) {
		return fmt.Errorf("%w: containers at %d reach beyond the section", ErrStored, off)
	}
	read(off, off+last)
	return nil
}

// entryBytes returns the length of the data of an entry.
func entryBytes(e []byte) uint64 {
	switch e[4] {
	case kindBitmap:
		return 8 * wordCount
	case kindRuns:
		return 4 * (uint64(binary.LittleEndian.Uint16(e[6:])) + 1)
	}
	return 2 * (uint64(binary.LittleEndian.Uint16(e[2:])) + 1)
}

// Peek is Open for bytes that are known to be what a writer wrote: arrays and
// bitmaps are not walked, so that a set costs what its containers' table takes.
// Before it looks at a range of the section it calls read with it.
func Peek(section []byte, off uint64, count int, limit uint32, read func(from, to uint64)) (*Set, error) {
	if err := reach(section, off, count, read); err != nil {
		return nil, err
	}
	b := section[off:]
	if b[0] != formContainers {
		return Open(section, off, count, limit)
	}
	s, ok := openContainers(b)
	if !ok || s.count != count || !s.inOrder(limit) {
		return nil, fmt.Errorf("%w: containers at %d", ErrStored, off)
	}
	return s, nil
}

// inOrder checks keys and runs alone.
func (s *Set) inOrder(limit uint32) bool {
	for i := range s.cs {
		c := &s.cs[i]
		if i > 0 && c.key <= s.cs[i-1].key || uint32(c.key)<<16 >= limit {
			return false
		}
		if c.kind != kindRuns {
			continue
		}
		if last, ok := c.check(); !ok || uint32(c.key)<<16|uint32(last) >= limit {
			return false
		}
	}
	return true
}

// AddStored adds to the union what Peek would return.
func (a *Accumulator) AddStored(section []byte, off uint64, count int, limit uint32, read func(from, to uint64)) error {
	if err := reach(section, off, count, read); err != nil {
		return err
	}
	b := section[off:]
	if b[0] == formContainers {
		s, err := Peek(section, off, count, limit, func(uint64, uint64) {})
		if err == nil {
			a.AddSet(s)
		}
		return err
	}
	runs := b[0] == formRuns
	if !runs && b[0] != formDeltas {
		return fmt.Errorf("%w: form %d", ErrStored, b[0])
	}
	b = b[1:]
	for next, left := uint64(0), uint64(count); left > 0; {
		gap, n := uvarint(b)
		more, k := uint64(0), 0
		if runs && n > 0 {
			more, k = uvarint(b[n:])
		}
		if n <= 0 || k < 0 || runs && k == 0 || gap > uint64(limit) || more >= left || next+gap+more >= uint64(limit) {
			return fmt.Errorf("%w: varints at %d with %d of %d ordinals to come", ErrStored, off, left, count)
		}
		b = b[n+k:]
		next += gap
		if !runs {
			a.Add(uint32(next))
		} else {
			a.AddRange(uint32(next), uint32(next+more+1))
		}
		next += more + 1
		left -= more + 1
	}
	return nil
}

// uvarint is binary.Uvarint with a way past it for the usual single byte.
func uvarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return binary.Uvarint(b)
}

func openVarints(b []byte, count int, limit uint32) (*Set, error) {
	form := b[0]
	b = b[1:]
	var out Builder
	next, left := uint64(0), uint64(count)
	for left > 0 {
		gap, n := uvarint(b)
		if n <= 0 || gap > uint64(limit) || next+gap >= uint64(limit) {
			return nil, fmt.Errorf("%w: varints with %d of %d ordinals to come", ErrStored, left, count)
		}
		b = b[n:]
		next += gap
		length := uint64(1)
		if form == formRuns {
			more, n := uvarint(b)
			if n <= 0 || more >= left || next+more >= uint64(limit) {
				return nil, fmt.Errorf("%w: run with %d of %d ordinals to come", ErrStored, left, count)
			}
			b = b[n:]
			length += more
		}
		out.AddRange(uint32(next), uint32(next+length))
		next += length
		left -= length
	}
	return out.finish(), nil
}

// openContainers reads the table of containers; ok is false unless all of it is
// within b. Values are not looked at.
func openContainers(b []byte) (s *Set, ok bool) {
	if len(b) < 4 {
		return nil, false
	}
	n := int(binary.LittleEndian.Uint16(b[2:])) + 1
	if len(b)-4 < entrySize*n {
		return nil, false
	}
	s = &Set{cs: make([]Container, n)}
	for i := range s.cs {
		e := b[4+entrySize*i:][:entrySize]
		c := &s.cs[i]
		c.key, c.count, c.kind = binary.LittleEndian.Uint16(e), uint32(binary.LittleEndian.Uint16(e[2:]))+1, e[4]
		off, size := uint64(binary.LittleEndian.Uint32(e[8:])), uint64(0)
		switch c.kind {
		case kindArray:
			size = 2 * uint64(c.count)
		case kindBitmap:
			size = 8 * wordCount
		case kindRuns:
			size = 4 * (uint64(binary.LittleEndian.Uint16(e[6:])) + 1)
		default:
			return nil, false
		}
		if off+size > uint64(len(b)) {
			return nil, false
		}
		if data := b[off : off+size]; c.kind == kindBitmap {
			c.words = asWords(data)
		} else {
			c.array = asValues(data)
		}
		s.count += int(c.count)
	}
	return s, true
}

// inPlace says whether b can be used as numbers of the given size without a
// copy.
func inPlace(b []byte, size uintptr) bool {
	one := uint16(1)
	little := *(*byte)(unsafe.Pointer(&one)) == 1
	return little && uintptr(unsafe.Pointer(unsafe.SliceData(b)))%size == 0
}

func asWords(b []byte) *words {
	if inPlace(b, 8) {
		return (*words)(unsafe.Pointer(unsafe.SliceData(b)))
	}
	w := new(words)
	for i := range w {
		w[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return w
}

func asValues(b []byte) []uint16 {
	if inPlace(b, 2) {
		return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2)
	}
	out := make([]uint16, len(b)/2)
	for i := range out {
		out[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return out
}

// check verifies I1 to I3.
func (s *Set) check(limit uint32) error {
	for i := range s.cs {
		c := &s.cs[i]
		if i > 0 && c.key <= s.cs[i-1].key {
			return fmt.Errorf("%w: key %d after %d", ErrStored, c.key, s.cs[i-1].key)
		}
		last, ok := c.check()
		if !ok || uint32(c.key)<<16|uint32(last) >= limit {
			return fmt.Errorf("%w: container %d", ErrStored, c.key)
		}
	}
	return nil
}

// check returns the last value; ok is false if the values are out of order or
// not as many as count says.
func (c *Container) check() (last uint16, ok bool) {
	switch c.kind {
	case kindArray:
		for i := 1; i < len(c.array); i++ {
			if c.array[i] <= c.array[i-1] {
				return 0, false
			}
		}
		return c.array[len(c.array)-1], true
	case kindBitmap:
		for i := wordCount - 1; i >= 0; i-- {
			if x := c.words[i]; x != 0 {
				return uint16(i<<6 + 63 - bits.LeadingZeros64(x)), c.words.count() == int(c.count)
			}
		}
		return 0, false
	}
	for i := 0; i < len(c.array); i += 2 {
		if c.array[i] > c.array[i+1] || i > 0 && uint32(c.array[i]) <= uint32(c.array[i-1])+1 {
			return 0, false
		}
	}
	return c.array[len(c.array)-1], countRuns(c.array) == c.count
}
