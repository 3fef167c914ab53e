package index2

import (
	"encoding/binary"
	"errors"
	"sort"
	"strings"
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
// The first of a group shares nothing. secGroups has per group: where its text
// begins u32, series of all values before it u32, where its postings begin u64.
type dictionary struct {
	text     []byte
	groups   []byte
	postings []byte // of all labels
	n        uint32 // values: ordinals 1 to n
	last     string // value n, once checked
	known    filter // made then
}

// cursor reads a dictionary value by value.
type cursor struct {
	d      *dictionary
	at     int // in the text
	last   uint32
	value  []byte
	count  uint32
	single uint32 // the series, if count is 1
	post   uint64
}

func (d *dictionary) group(g uint32) (text int, series uint32, post uint64) {
	e := d.groups[groupEntry*int(g):][:groupEntry]
	return int(binary.LittleEndian.Uint32(e)), binary.LittleEndian.Uint32(e[4:]), binary.LittleEndian.Uint64(e[8:])
}

func (d *dictionary) groupCount() uint32 { return (d.n + groupSize - 1) / groupSize }

// seek puts the cursor before the first value of a group.
func (c *cursor) seek(d *dictionary, g uint32) {
	c.d, c.last = d, g*groupSize
	c.at, _, c.post = d.group(g)
	c.value = c.value[:0]
}

// next reads the next value; the dictionary was checked and has one.
func (c *cursor) next() {
	if c.last%groupSize == 0 && c.last > 0 {
		c.seek(c.d, c.last/groupSize)
	}
	b := c.d.text[c.at:]
	shared, n := uvarint(b)
	b = b[n:]
	suffix, k := uvarint(b)
	n += k
	b = b[k:]
	c.value = append(c.value[:shared], b[:suffix]...)
	n += int(suffix)
	b = b[suffix:]
	count, k := uvarint(b)
	n += k
	rest, m := uvarint(b[k:])
	c.at += n + m
	if c.count = uint32(count); count == 1 {
		c.single = uint32(rest)
	} else {
		c.post += rest
	}
	c.last++
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

// head returns the first value of a group, aliasing the text.
func (d *dictionary) head(g uint32) string {
	at, _, _ := d.group(g)
	b := d.text[at+1:] // it shares nothing
	length, n := uvarint(b)
	return text(b[n:][:length])
}

func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// atLeast returns the first ordinal whose value is not below the given one; n+1
// if all are. equal says whether it is the value.
func (d *dictionary) atLeast(value string) (o uint32, equal bool) {
	if value > d.last {
		return d.n + 1, false
	}
	groups := int(d.groupCount())
	g := sort.Search(groups, func(g int) bool { return d.head(uint32(g)) > value })
	if g == 0 {
		return 1, false
	}
	var c cursor
	var buf [128]byte
	c.value = buf[:0]
	c.seek(d, uint32(g-1))
	end := min(uint32(g)*groupSize, d.n)
	for c.last < end {
		c.next()
		if order := strings.Compare(text(c.value), value); order >= 0 {
			return c.last, order == 0
		}
	}
	return end + 1, false
}

func (d *dictionary) find(value string) uint32 {
	if value > d.last || !d.known.mayHave(value) {
		return 0
	}
	if o, equal := d.atLeast(value); equal {
		return o
	}
	return 0
}

// prefixed returns the ordinals of the values with a prefix.
func (d *dictionary) prefixed(prefix string) (lo, hi uint32) {
	if prefix == "" {
		return 1, d.n
	}
	lo, _ = d.atLeast(prefix)
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) == 0 {
		return lo, d.n
	}
	end[len(end)-1]++
	o, _ := d.atLeast(text(end))
	return lo, o - 1
}

func (d *dictionary) value(o uint32) string {
	var c cursor
	var buf [128]byte
	c.value = buf[:0]
	c.to(d, o)
	return string(c.value)
}

func (d *dictionary) scan(lo, hi uint32, f func(o uint32, value string, series int)) {
	var c cursor
	for o := lo; o <= hi; o++ {
		if o == lo {
			c.to(d, o)
		} else {
			c.next()
		}
		f(o, text(c.value), int(c.count))
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
	c.value = buf[:0]
	c.to(d, o)
	if c.count == 1 {
		return bitmap.Range(c.single, c.single+1)
	}
	return bitmap.Load(d.postings, c.post, int(c.count))
}

func (d *dictionary) union(vs *valueSet, a *bitmap.Accumulator) {
	var c cursor
	vs.each(func(o uint32) {
		c.to(d, o)
		if c.count == 1 {
			a.Add(c.single)
		} else {
			a.AddStored(d.postings, c.post, int(c.count))
		}
	})
}

var errDictionary = errors.New("dictionary does not parse")

// check verifies the order of values, their counts and postings; limit is the
// number of series. It returns the number of series with the label.
func (d *dictionary) check(limit uint32) (uint32, error) {
	var value, previous []byte
	total := uint64(0)
	at, post := 0, uint64(0)
	d.known = newFilter(min(d.n, uint32(len(d.text)))) // n is but a claim yet
	next := func() uint64 {
		x, n := binary.Uvarint(d.text[min(at, len(d.text)):])
		if n <= 0 {
			at = len(d.text) + 1
			return 0
		}
		at += n
		return x
	}
	for i := range d.n {
		if i%groupSize == 0 {
			begin, series, groupPost := d.group(i / groupSize)
			if begin != at || uint64(series) != total || at >= len(d.text) || d.text[at] != 0 { // head skips one byte
				return 0, errDictionary
			}
			post = groupPost
		}
		shared, suffix := next(), next()
		if at > len(d.text) || suffix > uint64(len(d.text)-at) || shared > uint64(len(value)) || i%groupSize == 0 && shared != 0 {
			return 0, errDictionary
		}
		previous = append(previous[:0], value...)
		value = append(value[:shared], d.text[at:at+int(suffix)]...)
		at += int(suffix)
		if len(value) == 0 || i > 0 && string(value) <= string(previous) {
			return 0, errors.New("values are empty or out of order")
		}
		d.known.add(value)
		count, rest := next(), next()
		if at > len(d.text) || count == 0 || count > uint64(limit) || count == 1 && rest >= uint64(limit) {
			return 0, errDictionary
		}
		if count > 1 {
			if rest > uint64(len(d.postings)) || post > uint64(len(d.postings)) {
				return 0, errDictionary
			}
			post += rest
			if _, err := bitmap.Open(d.postings, post, int(count), limit); err != nil {
				return 0, err
			}
		}
		if total += count; total > uint64(limit) {
			return 0, errDictionary
		}
	}
	if at != len(d.text) {
		return 0, errDictionary
	}
	d.last = string(value)
	return uint32(total), nil
}
