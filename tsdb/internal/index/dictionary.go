package index

import (
	"encoding/binary"
	"errors"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
)

const (
	groupSize  = 16 // values that share a head
	groupEntry = 16 // bytes in secGroups
)

// dictionary is the sorted values of one label, front-coded in groups.
//
// A value is stored as: bytes shared with the one before, bytes that follow
// (uvarints), those bytes; number of its series (uvarint); if that is one, the
// series, or else the distance of its postings from those before in the group.
// The first of a group shares nothing. Where a template packs the values, all
// are as long as it says and the number that follow is left out; where each value
// has one series, their number is. secGroups has per group: where its text begins
// u32, series of all values before it u32, where its postings begin u64.
type dictionary struct {
	text     section
	groups   section
	postings section // of all labels
	n        uint32  // values: ordinals 1 to n
	limit    uint32  // series
	template *template
	single   bool                   // each value has one series
	last     atomic.Pointer[string] // value n, once a search needed it
	absent   atomic.Uint32
	known    atomic.Pointer[filter]
}

// cursor reads a dictionary value by value.
type cursor struct {
	d      *dictionary
	at     int // in the text
	last   uint32
	stored []byte // the value, packed if there is a template
	plain  []byte // the value last asked for, if there is one
	count  uint32
	single uint32 // the series, if count is 1
	post   uint64
}

func (d *dictionary) group(g uint32) (text int, series uint32, post uint64) {
	at := groupEntry * uint64(g)
	d.groups.touch(at, at+groupEntry)
	e := d.groups.b[at:][:groupEntry]
	return int(binary.LittleEndian.Uint32(e)), binary.LittleEndian.Uint32(e[4:]), binary.LittleEndian.Uint64(e[8:])
}

// open is group; all of its text may be read after.
func (d *dictionary) open(g uint32) (text int, series uint32, post uint64) {
	text, series, post = d.group(g)
	end := len(d.text.b)
	if g+1 < d.groupCount() {
		end, _, _ = d.group(g + 1)
	}
	d.text.touch(uint64(text), uint64(end))
	return text, series, post
}

func (d *dictionary) groupCount() uint32 { return (d.n-1)/groupSize + 1 }

// seek puts the cursor before the first value of a group.
func (c *cursor) seek(d *dictionary, g uint32) {
	c.d, c.last = d, g*groupSize
	c.at, _, c.post = d.open(g)
	c.stored = c.stored[:0]
}

// next reads the next value; there is one.
func (c *cursor) next() {
	if c.last%groupSize == 0 && c.last > 0 {
		c.seek(c.d, c.last/groupSize)
	}
	b := c.d.text.b[c.at:]
	shared, n := uvarint(b)
	var suffix uint64
	if t := c.d.template; t != nil {
		suffix = uint64(t.size) - shared
	} else {
		var k int
		suffix, k = uvarint(b[n:])
		n += k
	}
	b = b[n:]
	if shared > uint64(len(c.stored)) {
		panic(c.d.text.damaged(uint64(c.at), "value %d shares %d bytes of %d", c.last+1, shared, len(c.stored)))
	}
	c.stored = append(c.stored[:shared], b[:suffix]...)
	n += int(suffix)
	b = b[suffix:]
	count := uint64(1)
	if !c.d.single {
		var k int
		count, k = uvarint(b)
		n += k
		b = b[k:]
	}
	rest, m := uvarint(b)
	c.at += n + m
	if c.count = uint32(count); count == 1 {
		c.single = uint32(rest)
	} else {
		c.post += rest
	}
	c.last++
	if count-1 >= uint64(c.d.limit) || count == 1 && rest >= uint64(c.d.limit) || m <= 0 {
		panic(c.d.text.damaged(uint64(c.at), "value %d has %d series", c.last, count))
	}
}

// value returns the value the cursor is at, valid until it moves.
func (c *cursor) value() string {
	if t := c.d.template; t != nil {
		c.plain = t.decode(c.plain[:0], c.stored)
		return text(c.plain)
	}
	return text(c.stored)
}

func uvarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return binary.Uvarint(b)
}

// to puts the cursor on an ordinal.
func (c *cursor) to(d *dictionary, o uint32) {
	if c.d != d || o <= c.last || (o-1)/groupSize != (c.last-1)/groupSize || c.last == 0 {
		c.seek(d, (o-1)/groupSize)
	}
	for c.last < o {
		c.next()
	}
}

// head returns the first value of a group as stored, aliasing the text.
func (d *dictionary) head(g uint32) string {
	start, _, _ := d.group(g)
	at, end := uint64(start)+1, uint64(len(d.text.b)) // it shares nothing
	d.text.touch(at, min(at+binary.MaxVarintLen32, end))
	b, length, n := d.text.b[at:], uint64(0), 0
	if d.template != nil {
		length = uint64(d.template.size)
	} else {
		length, n = uvarint(b)
	}
	d.text.touch(at, at+uint64(n)+length)
	return text(b[n:][:length])
}

// highest returns the last value, in the words of atLeast.
func (d *dictionary) highest(plain bool) string {
	if plain && d.template != nil {
		return d.value(d.n)
	}
	if last := d.last.Load(); last != nil {
		return *last
	}
	var c cursor
	c.to(d, d.n)
	last := string(c.stored)
	d.last.Store(&last)
	return last
}

func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// order compares a value as stored with one that is sought: as stored too, or
// plain.
func (c *cursor) order(d *dictionary, stored, sought string, plain bool) int {
	if plain && d.template != nil {
		c.plain = d.template.decode(c.plain[:0], unsafe.Slice(unsafe.StringData(stored), len(stored)))
		stored = text(c.plain)
	}
	return strings.Compare(stored, sought)
}

// atLeast returns the first ordinal whose value is not below the sought one; n+1
// if all are. equal says whether it is the value. plain says that what is sought
// is not packed as the values may be.
func (d *dictionary) atLeast(sought string, plain bool) (o uint32, equal bool) {
	if sought > d.highest(plain) {
		return d.n + 1, false
	}
	var c cursor
	var buf [128]byte
	c.stored = buf[:0]
	lo, hi := uint32(0), d.groupCount()
	for lo < hi {
		mid := lo + (hi-lo)/2
		if c.order(d, d.head(mid), sought, plain) > 0 {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo == 0 {
		return 1, false
	}
	c.seek(d, lo-1)
	end := uint32(min(uint64(lo)*groupSize, uint64(d.n)))
	for c.last < end {
		c.next()
		if order := c.order(d, text(c.stored), sought, plain); order >= 0 {
			return c.last, order == 0
		}
	}
	return end + 1, false
}

func (d *dictionary) find(value string) uint32 {
	if f := d.known.Load(); f != nil && !f.mayHave(value) {
		return 0
	}
	var buf [64]byte
	sought := value
	if d.template != nil {
		packed, ok := d.template.encode(buf[:0], value)
		if !ok {
			return 0
		}
		sought = text(packed)
	}
	if o, equal := d.atLeast(sought, false); equal {
		return o
	}
	if d.known.Load() == nil && d.absent.Add(1) == d.n/groupSize+groupSize {
		d.filter()
	}
	return 0
}

// filter makes the filter: when that many values were sought in vain that their
// searches took about as long.
func (d *dictionary) filter() {
	f := newFilter(d.n)
	d.scan(1, d.n, func(_ uint32, value string, _ int) { f.add(value) })
	d.known.Store(&f)
}

// prefixed returns the ordinals of the values with a prefix.
func (d *dictionary) prefixed(prefix string) (lo, hi uint32) {
	if prefix == "" {
		return 1, d.n
	}
	lo, _ = d.atLeast(prefix, true)
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) == 0 {
		return lo, d.n
	}
	end[len(end)-1]++
	o, _ := d.atLeast(text(end), true)
	return lo, o - 1
}

func (d *dictionary) value(o uint32) string {
	var c cursor
	var buf [128]byte
	c.stored = buf[:0]
	c.to(d, o)
	return strings.Clone(c.value())
}

func (d *dictionary) scan(lo, hi uint32, f func(o uint32, value string, series int)) {
	var c cursor
	for o := lo; o <= hi; o++ {
		if o == lo {
			c.to(d, o)
		} else {
			c.next()
		}
		f(o, c.value(), int(c.count))
	}
}

// before returns the number of series of all values below o.
func (d *dictionary) before(o uint32) int {
	if o > d.n {
		o = d.n + 1
	}
	if o <= 1 {
		return 0
	}
	_, total, _ := d.group((o - 2) / groupSize)
	sum := int(total)
	var c cursor
	c.seek(d, (o-2)/groupSize)
	for c.last < o-1 {
		c.next()
		sum += int(c.count)
	}
	return sum
}

func (d *dictionary) series(vs *valueSet) int {
	if vs.count == 0 {
		return 0
	}
	if vs.bits == nil {
		return d.before(vs.hi+1) - d.before(vs.lo)
	}
	sum := 0
	var c cursor
	vs.each(func(o uint32) {
		c.to(d, o)
		sum += int(c.count)
	})
	return sum
}

func (d *dictionary) list(o uint32) *bitmap.Set {
	if o == 0 {
		return nil
	}
	var c cursor
	var buf [128]byte
	c.stored = buf[:0]
	c.to(d, o)
	if c.count == 1 {
		return bitmap.Range(c.single, c.single+1)
	}
	return d.postings.set(c.post, int(c.count), d.limit)
}

func (d *dictionary) union(vs *valueSet, a *bitmap.Accumulator) {
	var c cursor
	read := d.postings.touch
	vs.each(func(o uint32) {
		c.to(d, o)
		if c.count == 1 {
			a.Add(c.single)
		} else if err := a.AddStored(d.postings.b, c.post, int(c.count), d.limit, read); err != nil {
			panic(d.postings.damaged(c.post, "%w", err))
		}
	})
}

// set returns a stored set.
func (s *section) set(off uint64, count int, limit uint32) *bitmap.Set {
	set, err := bitmap.Peek(s.b, off, count, limit, s.touch)
	if err != nil {
		panic(s.damaged(off, "%w", err))
	}
	return set
}

var errDictionary = errors.New("dictionary does not parse")

// check verifies the order of values, their counts and postings (I1, I2). It
// returns the number of series with the label.
func (d *dictionary) check() (uint32, error) {
	var c cursor
	var previous []byte
	total := uint64(0)
	for i := range d.n {
		if i%groupSize == 0 {
			at := c.at
			c.seek(d, i/groupSize)
			if _, series, _ := d.group(i / groupSize); c.at != at || uint64(series) != total || c.at >= len(d.text.b) || d.text.b[c.at] != 0 {
				return 0, errDictionary // head skips one byte
			}
		}
		c.next()
		value := c.value()
		if len(value) == 0 || i > 0 && value <= text(previous) {
			return 0, errors.New("values are empty or out of order")
		}
		previous = append(previous[:0], value...)
		if c.count > 1 {
			if _, err := bitmap.Open(d.postings.b, c.post, int(c.count), d.limit); err != nil {
				return 0, err
			}
		}
		if total += uint64(c.count); total > uint64(d.limit) {
			return 0, errDictionary
		}
	}
	if c.at != len(d.text.b) {
		return 0, errDictionary
	}
	return uint32(total), nil
}
