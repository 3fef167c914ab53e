package part

import (
	"math"
	"math/bits"

	"github.com/varvedb/varve/tsdb/internal/b1"
	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// shortRead is up to how many minis a read may need that has them kept one by one.
const shortRead = 4

// decoded returns the minis of a row that are kept.
func (page *groupPage) decoded(row int) []*mini {
	if rows := page.minis.Load(); rows != nil {
		if list := rows.list[row].Load(); list != nil {
			return *list
		}
	}
	return nil
}

// inside returns the minis that have the samples of a row inside [mint, maxt], the
// first of those in the first mini, and how many they are; ok is false if not all are
// kept, as for a range up to an end of int64.
func (page *groupPage) inside(row int, mint, maxt int64) (list []*mini, i, n int, ok bool) {
	list = page.decoded(row)
	for len(list) > 0 && list[0].after <= mint {
		list = list[1:]
	}
	if len(list) == 0 || list[0].before >= mint {
		return nil, 0, 0, false
	}
	last := 0
	for ; list[last].after <= maxt; last++ {
		if last+1 == len(list) || list[last+1].first != list[last].first+list[last].count {
			return nil, 0, 0, false
		}
	}
	list = list[:last+1]
	i, end := list[0].search(mint), list[last].end(maxt)
	return list, i, list[last].first + end - list[0].first - i, true
}

// appendKept appends the samples of a row inside [mint, maxt] if all minis that have
// some are kept; otherwise it does nothing.
func (r *reader) appendKept(page *groupPage, row int, mint, maxt int64, into *block.Floats) bool {
	list, i, n, ok := page.inside(row, mint, maxt)
	if !ok || n <= 0 {
		return ok
	}
	t, v := into.Grow(n)
	for _, m := range list {
		m.touch()
		j := min(m.count, i+len(t))
		r.ints64 = resize(r.ints64, j-i)
		m.fill(t[:j-i], v[:j-i], i, r.ints64)
		t, v, i = t[j-i:], v[j-i:], 0
		into.MayBeStale = into.MayBeStale || m.mayBeStale
	}
	return true
}

// appendNarrow appends the samples of a row inside [mint, maxt] as they are kept, if
// all of them are and in that form, or may be from now on.
func (r *reader) appendNarrow(page *groupPage, group, row int, mint, maxt int64) bool {
	list, i, n, ok := page.inside(row, mint, maxt)
	if !ok && r.keepNarrow(page, group, row, mint, maxt) {
		list, i, n, ok = page.inside(row, mint, maxt)
	}
	if !ok || n <= 0 {
		return ok
	}
	for _, m := range list {
		if m.floats != nil || m.mayBeStale || m.times.width > 0 || m.step <= 0 || m.values.width > 4 {
			return false
		}
		m.touch()
		k, zones := min(m.count-i, n), len(m.zones)/2
		if k > 0 { // else the range begins behind the last sample of the mini
			r.narrow = append(r.narrow, block.Narrow{
				Start: m.start + m.times.low + int64(i)*m.step, Step: m.step, Count: k,
				Low: m.values.low, Width: m.values.width, Scale: m.scale, First: i, Bytes: m.values.b,
				Least: m.zones[:zones], Greatest: m.zones[zones:],
			})
		}
		n, i = n-k, 0
	}
	return true
}

// keepNarrow decodes a row for reads of [mint, maxt] into what is kept, and nothing else,
// if there is plenty of room and the header says that it comes to the narrow form. An
// error is left to who reads the samples in another way.
func (r *reader) keepNarrow(page *groupPage, group, row int, mint, maxt int64) bool {
	if !r.g.p.minis.roomy() || r.open(page, group, row) != nil {
		return false
	}
	const other = b1.FlagHasStale | b1.FlagSpecial | b1.FlagStartTimes
	h := &r.h
	if h.Kind != block.KindFloat || h.Domain != codec.Decimals10 || h.Exceptions > 0 || h.Flags&other != 0 || !h.IsGrid() {
		return false
	}
	i, j, err := r.clip(mint, maxt)
	if err != nil || i == j || r.ready() != nil {
		return false
	}
	r.keepMinis(i, j)
	return true
}

// lastKept returns the last sample of a row inside [mint, maxt], found being false if
// there is none; ok tells whether the mini that knows is kept.
func (page *groupPage) lastKept(row int, mint, maxt int64) (s block.Sample, found, ok bool) {
	list := page.decoded(row)
	for k := len(list) - 1; k >= 0; k-- {
		m := list[k]
		if m.start > maxt {
			continue
		}
		if m.after <= maxt {
			break
		}
		m.touch()
		i := m.end(maxt) - 1
		if s.T = m.time(i); s.T < mint {
			return block.Sample{}, false, true
		}
		s.F = m.value(i)
		return s, true, true
	}
	return s, false, false
}

// keepMinis keeps the minis of the samples [i, j) of the block, which were decoded, if
// they are wanted: if they are few those, else all of the block as one. So is a block of
// which some are kept already, while there is plenty of room, and any in the beginning.
func (r *reader) keepMinis(i, j int) {
	c, h := r.g.p.minis, &r.h
	if c == nil || !r.opened || h.Flags&b1.FlagStartTimes != 0 {
		return
	}
	first, last := i/b1.MiniSamples, (j-1)/b1.MiniSamples
	list := r.page.decoded(r.row)
	if last-first >= shortRead || len(list) > 0 && c.roomy() || c.empty() {
		if r.keepBlock(j-i) || last-first >= shortRead {
			return
		}
	}
	for k := first; k <= last; k++ {
		from := k * b1.MiniSamples
		for len(list) > 0 && list[0].first < from {
			list = list[1:]
		}
		if len(list) > 0 && list[0].first == from || !c.wants(miniKey{r.g, r.page.begin, r.row, k}) {
			continue
		}
		if m := r.mini(from, min(from+b1.MiniSamples, h.Count)); m != nil {
			c.keep(r.page, m)
		}
	}
}

// keepBlock keeps all of the block, of which so many samples were read, if that is
// most of it or there is plenty of room, it is wanted, and samples take no more than half
// of what floats do. It returns whether that is so.
func (r *reader) keepBlock(read int) bool {
	c, h := r.g.p.minis, &r.h
	if _, decimal := r.block.Decimal(); !decimal || h.Exceptions > 0 || 2*read < h.Count && !c.roomy() {
		return false
	}
	// Known before anything is decoded for nothing:
	if span := uint64(h.Max) - uint64(h.Min); span > math.MaxUint32 || !c.fits(miniOverhead+h.Count*((bits.Len64(span)+7)/8)) {
		return false
	}
	if !c.wants(miniKey{r.g, r.page.begin, r.row, wholeBlock}) {
		return false
	}
	m := r.mini(0, h.Count)
	if m == nil {
		return false
	}
	m.findZones()
	return c.keep(r.page, m)
}

// wholeBlock is the number of the mini that is all of a block.
const wholeBlock = -1

// mini decodes the samples [from, to) of the block, whose times are at hand; nil if
// that fails: who asks for all of them is told.
func (r *reader) mini(from, to int) *mini {
	h, n := &r.h, to-from
	m := &mini{
		row: r.row, first: from, count: n, before: math.MinInt64, after: math.MaxInt64, start: r.timeOf(from), step: h.Step,
		mayBeStale: h.Flags&(b1.FlagHasStale|b1.FlagSpecial) != 0,
	}
	if from > 0 {
		m.before = r.timeOf(from - 1)
	}
	if to < h.Count {
		m.after = r.timeOf(to)
	}
	r.ints64 = grow(r.ints64, n)
	v := r.ints64[:n]
	if !h.IsGrid() {
		for i := range v {
			v[i] = r.times[from+i] - m.start - int64(i)*m.step
		}
		m.times = newNarrow(v)
	}
	scale, decimal := r.block.Decimal()
	if !decimal || !r.block.Plain(from, to) {
		m.floats = make([]float64, n)
		if r.block.Floats(m.floats, from) != nil {
			return nil
		}
		return m
	}
	if r.block.Ints64(v, from) != nil {
		return nil
	}
	m.scale = scale
	if n == h.Count && uint64(h.Max)-uint64(h.Min) <= math.MaxUint8 { // as the header says
		var ok bool
		if m.values, ok = narrowBytes(v, h.Min); ok {
			return m
		}
	}
	m.values = newNarrow(v)
	return m
}

// timeOf returns the time of sample i of the block, whose times are at hand.
func (r *reader) timeOf(i int) int64 {
	if r.h.IsGrid() {
		return r.h.MinT + int64(i)*r.h.Step
	}
	return r.times[i]
}
