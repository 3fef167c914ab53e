package index

import (
	"cmp"
	"encoding/binary"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
)

// Segment is an opened index. It is used in place: beside the bytes it was
// opened from it holds something per label name, per day and per set that was
// asked for, but nothing per series. The bytes must not change nor be unmapped
// before Close. It may be used by many goroutines. Its series have dense ordinals
// in label order.
//
// Methods that return an error tell damage by it. Those that return none, and the
// sets and columns that any of them returned, are used inside a Guard.
type Segment struct {
	View
	File     string // named in errors; set before the segment is used
	file     []byte
	n        uint32
	size     int
	every    *bitmap.Set
	list     []*segmentLabel // by name
	byName   map[string]*segmentLabel
	rows     []byte
	columns  []byte
	data     section
	postings section
	pages    *pages // nil if all was checked
	days     []segmentDay
	makers   sync.Pool // of *Materializer
}

// segmentLabel is a label name of a segment.
type segmentLabel struct {
	dictionary
	s      *Segment
	name   string
	number uint32
	count  uint32 // series that have it,
	off    uint64 // where these are, unless all
	having atomic.Pointer[bitmap.Set]
}

// segmentDay is a day and where the series active on it are.
type segmentDay struct {
	day   int64
	count int
	off   uint64
}

// Close drops the cached answers of the segment. The owner of the bytes calls
// it before they go.
func (s *Segment) Close() {
	s.caches.Values.drop(s.valuesID)
	s.caches.Results.drop(s.resultsID)
	s.caches.Sets.drop(s.setsID)
}

// Size returns the length of the segment in bytes, decompressed.
func (s *Segment) Size() int { return s.size }

func (s *Segment) length() uint32   { return s.n }
func (s *Segment) all() *bitmap.Set { return s.every }

func (s *Segment) label(name string) label {
	if l, ok := s.byName[name]; ok {
		return l
	}
	return nil
}

func (s *Segment) names() []string {
	out := make([]string, len(s.list))
	for i, l := range s.list {
		out[i] = strings.Clone(l.name)
	}
	return out
}

func (s *Segment) namesOf(series []uint32) (out []string) {
	seen := make([]bool, len(s.list))
	for len(series) > 0 {
		g := s.groupOf(series[0])
		_, first := s.rowGroup(g)
		end, last := s.rowGroup(g + 1)
		for i := first; i < last; i++ {
			if l := s.list[s.column(i).label]; !seen[l.number] {
				seen[l.number] = true
				out = append(out, l.name)
			}
		}
		series = series[sort.Search(len(series), func(i int) bool { return series[i] >= end }):]
	}
	return out
}

// Days returns the days with active series, as days since 1970 UTC, ascending.
func (s *Segment) Days() []int64 {
	out := make([]int64, len(s.days))
	for i, d := range s.days {
		out[i] = d.day
	}
	return out
}

// Active returns the series that were active on any of the days from first to
// last. The set is remembered among the results of selections, as far as there is
// room: a query asks for the same days again and again.
func (s *Segment) Active(first, last int64) (set *bitmap.Set, err error) {
	if n := len(s.days); n > 0 && first <= s.days[0].day && last >= s.days[n-1].day {
		return s.every, nil // who has samples has them on one of the days
	}
	if s.caches.Results == nil {
		return s.activeOn(first, last)
	}
	var buf [32]byte
	key := append(sourceKey(buf[:0], s.resultsID), activeKey)
	key = binary.AppendVarint(binary.AppendVarint(key, first), last)
	if old, ok := s.caches.Results.get(key).(result); ok {
		return old.set, nil
	}
	if set, err = s.activeOn(first, last); err == nil {
		s.caches.Results.put(key, result{set, s.n}, set.Size())
	}
	return set, err
}

// activeKey tells sets of days from selections, whose keys go on with the type of
// a matcher.
const activeKey = 0xff

func (s *Segment) activeOn(first, last int64) (set *bitmap.Set, err error) {
	defer s.caught(debug.SetPanicOnFault(true), &err)
	for _, d := range s.days {
		if d.day >= first && d.day <= last {
			if d.count == int(s.n) {
				return s.every, nil
			}
			set = bitmap.Or(set, s.postings.set(d.off, d.count, s.n))
		}
	}
	return set, nil
}

// Ordinals returns the ordinals of a set that the segment returned, ascending, in
// memory of their own.
func (s *Segment) Ordinals(set *bitmap.Set) (out []uint32, err error) {
	defer s.caught(debug.SetPanicOnFault(true), &err)
	out = set.AppendTo(make([]uint32, 0, set.Count()))
	for i, id := range out {
		if id >= s.n || i > 0 && id <= out[i-1] {
			return nil, s.located(corrupt(0, "series %d of %d is selected, or out of order", id, s.n))
		}
	}
	return out, nil
}

func (l *segmentLabel) values() uint32                { return l.n }
func (l *segmentLabel) postings(o uint32) *bitmap.Set { return l.dictionary.list(o) }
func (l *segmentLabel) fill(dst, series []uint32)     { l.s.fill(l.number, dst, series) }
func (l *segmentLabel) sorted() bool                  { return true }

// present keeps the set for the next who asks.
func (l *segmentLabel) present() *bitmap.Set {
	set := l.having.Load()
	if set == nil {
		if set = l.s.every; l.count < l.s.n {
			set = l.s.postings.set(l.off, int(l.count), l.s.n)
		}
		l.having.Store(set)
	}
	return set
}

const (
	rowsEntry   = 8
	columnEntry = 16
)

// rowGroup returns where row group g begins and which are its columns.
func (s *Segment) rowGroup(g int) (begin uint32, firstColumn int) {
	e := s.rows[rowsEntry*g:][:rowsEntry]
	return binary.LittleEndian.Uint32(e), int(binary.LittleEndian.Uint32(e[4:]))
}

func (s *Segment) rowGroups() int { return len(s.rows)/rowsEntry - 1 }

// groupOf returns the row group of a series.
func (s *Segment) groupOf(series uint32) int {
	return sort.Search(s.rowGroups(), func(g int) bool {
		begin, _ := s.rowGroup(g + 1)
		return begin > series
	})
}

// packed is one column of one row group: width bits a row.
type packed struct {
	label    uint32
	base     uint32 // added to what is stored
	width    uint
	nullable bool // 0 is stored for a missing label, and base is one less
	data     []byte
	section  *section
	off      uint64 // of data in it
}

func (s *Segment) column(i int) (p packed) {
	e := s.columns[columnEntry*i:][:columnEntry]
	how := binary.LittleEndian.Uint64(e[8:])
	p.label, p.base = binary.LittleEndian.Uint32(e), binary.LittleEndian.Uint32(e[4:])
	p.width, p.nullable = uint(how&0x3f), how&0x80 != 0
	p.section, p.off = &s.data, how>>8
	p.data = s.data.b[p.off:]
	return p
}

// findColumn returns the column of a label among those from first to last-1.
func (s *Segment) findColumn(number uint32, first, last int) (packed, bool) {
	i, ok := sort.Find(last-first, func(i int) int {
		return int(number) - int(binary.LittleEndian.Uint32(s.columns[columnEntry*(first+i):]))
	})
	if !ok {
		return packed{}, false
	}
	return s.column(first + i), true
}

// touch says that the rows from first to last are about to be read.
func (p *packed) touch(first, last uint32) {
	from, to := uint64(first)*uint64(p.width)>>3, uint64(last)*uint64(p.width)>>3+dataSlack
	p.section.touch(p.off+from, p.off+to)
}

// at returns the value ordinal of a row.
func (p *packed) at(row uint32) uint32 {
	bit := uint64(row) * uint64(p.width)
	p.touch(row, row)
	x := uint32(binary.LittleEndian.Uint64(p.data[bit>>3:]) >> (bit & 7) & (1<<p.width - 1))
	if p.nullable && x == 0 {
		return 0
	}
	return p.base + x
}

func (s *Segment) fill(number uint32, dst, series []uint32) {
	for len(series) > 0 {
		g := s.groupOf(series[0])
		begin, first := s.rowGroup(g)
		end, last := s.rowGroup(g + 1)
		n := len(series)
		if series[n-1] >= end {
			n = sort.Search(n, func(i int) bool { return series[i] >= end })
		}
		if p, ok := s.findColumn(number, first, last); ok {
			p.fill(dst[:n], series[:n], begin)
		} else {
			clear(dst[:n])
		}
		dst, series = dst[n:], series[n:]
	}
}

// fill unpacks the rows of ascending series.
func (p *packed) fill(dst, series []uint32, begin uint32) {
	dst = dst[:len(series)]
	if p.width == 0 && !p.nullable {
		for i := range dst {
			dst[i] = p.base
		}
		return
	}
	p.touch(series[0]-begin, series[len(series)-1]-begin)
	data, width, mask, base := p.data, uint64(p.width), uint64(1)<<p.width-1, p.base
	if p.nullable {
		for i, id := range series {
			bit := uint64(id-begin) * width
			x := uint32(binary.LittleEndian.Uint64(data[bit>>3:]) >> (bit & 7) & mask)
			if x != 0 {
				x += base
			}
			dst[i] = x
		}
		return
	}
	for i, id := range series {
		bit := uint64(id-begin) * width
		dst[i] = base + uint32(binary.LittleEndian.Uint64(data[bit>>3:])>>(bit&7)&mask)
	}
}

func (s *Segment) labels(series uint32, b *labels.ScratchBuilder) error {
	var c cursor
	s.eachLabel(series, func(l *segmentLabel, o uint32) {
		c.to(&l.dictionary, o)
		b.Add(l.name, strings.Clone(c.value()))
	})
	return nil
}

// eachLabel calls f with every label of a series, in name order.
func (s *Segment) eachLabel(series uint32, f func(l *segmentLabel, o uint32)) {
	g := s.groupOf(series)
	begin, first := s.rowGroup(g)
	_, last := s.rowGroup(g + 1)
	for i := first; i < last; i++ {
		p := s.column(i)
		if o := p.at(series - begin); o != 0 {
			f(s.list[p.label], o)
		}
	}
}

// Compare compares the label set of a series with lset in the order of
// labels.Compare.
func (s *Segment) Compare(series uint32, lset labels.Labels) int {
	var list [32]labels.Label
	mine := list[:0]
	s.eachLabel(series, func(l *segmentLabel, o uint32) {
		mine = append(mine, labels.Label{Name: l.name, Value: l.value(o)})
	})
	k, result := 0, 0
	lset.Range(func(l labels.Label) {
		switch {
		case result != 0:
		case k == len(mine):
			result = -1
		default:
			if result = strings.Compare(mine[k].Name, l.Name); result == 0 {
				result = strings.Compare(mine[k].Value, l.Value)
			}
		}
		k++
	})
	if result == 0 && len(mine) > k {
		return 1
	}
	return result
}

// Lookup returns the ordinal of the series with exactly the label set lset: a
// search per label in its dictionary and one of the series, by numbers alone.
func (s *Segment) Lookup(lset labels.Labels) (uint32, bool) {
	var buf [64]pair
	want, missing := buf[:0], false
	lset.Range(func(x labels.Label) {
		if missing {
			return
		}
		l, ok := s.byName[x.Name]
		if !ok {
			missing = true
			return
		}
		o := l.find(x.Value)
		missing = o == 0
		want = append(want, pair{l.number, o})
	})
	if missing {
		return 0, false
	}
	at := uint32(sort.Search(int(s.n), func(i int) bool { return s.comparePairs(uint32(i), want) >= 0 }))
	if at < s.n && s.comparePairs(at, want) == 0 {
		return at, true
	}
	return 0, false
}

// comparePairs compares a series with numbered labels: names and values have
// their numbers in string order, so that this is the order of labels.Compare.
func (s *Segment) comparePairs(series uint32, want []pair) int {
	g := s.groupOf(series)
	begin, first := s.rowGroup(g)
	_, last := s.rowGroup(g + 1)
	k := 0
	for i := first; i < last; i++ {
		p := s.column(i)
		o := p.at(series - begin)
		switch {
		case o == 0:
			continue
		case k == len(want):
			return 1
		case p.label != want[k].label:
			return cmp.Compare(p.label, want[k].label)
		case o != want[k].value:
			return cmp.Compare(o, want[k].value)
		}
		k++
	}
	return cmp.Compare(k, len(want))
}
