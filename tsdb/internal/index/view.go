package index

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
)

// View answers questions about the series of a segment, or of a head as it was
// at one moment. It does not change and may be used by many goroutines. Sets it
// returns may alias the segment; strings are copies.
type View struct {
	src       source
	caches    Caches
	valuesID  uint64 // of this source in caches.Values
	resultsID uint64
	setsID    uint64
	segment   *Segment // nil for a head
}

func newView(src source, caches Caches) View {
	return View{src: src, caches: caches, valuesID: caches.Values.source(), resultsID: caches.Results.source(), setsID: caches.Sets.source()}
}

func sourceKey(dst []byte, id uint64) []byte { return binary.BigEndian.AppendUint64(dst, id) }

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// Len returns the number of series: their ordinals are below it.
func (v *View) Len() int { return int(v.src.length()) }

// All returns the set of all series.
func (v *View) All() *bitmap.Set { return v.src.all() }

// Labels returns the label set of a series, made with b, which is reset. Many
// series in a row are cheaper with a Maker.
func (v *View) Labels(series uint32, b *labels.ScratchBuilder) (lset labels.Labels, err error) {
	if v.segment != nil {
		defer v.segment.caught(debug.SetPanicOnFault(true), &err)
	}
	b.Reset()
	if series >= v.src.length() {
		return labels.EmptyLabels(), fmt.Errorf("labels of series %d of %d: out of range", series, v.src.length())
	}
	if err := v.src.labels(series, b); err != nil {
		return labels.EmptyLabels(), err
	}
	return b.Labels(), nil
}

// Select returns the series that satisfy all matchers; all series without one. A
// label that a series lacks matches as the empty string.
func (v *View) Select(ms ...*labels.Matcher) (*bitmap.Set, error) { return v.SelectIn(nil, ms...) }

// SelectIn is Select among the series of a set, those active on a day for one;
// nil stands for all.
func (v *View) SelectIn(within *bitmap.Set, ms ...*labels.Matcher) (set *bitmap.Set, err error) {
	if v.segment != nil {
		defer v.segment.caught(debug.SetPanicOnFault(true), &err)
	}
	for _, m := range ms {
		if m.Type > labels.MatchNotRegexp {
			return nil, fmt.Errorf("select series: matcher of unknown type %d", m.Type)
		}
	}
	if len(ms) == 0 {
		if within != nil {
			return within, nil
		}
		return v.src.all(), nil
	}
	if len(ms) == 1 && ms[0].Type == labels.MatchEqual && ms[0].Value != "" { // nothing to plan
		l := v.src.label(ms[0].Name)
		if l == nil {
			return nil, nil
		}
		set = l.postings(l.find(ms[0].Value))
		if within != nil {
			set = bitmap.And(set, within)
		}
		return set, nil
	}
	if v.caches.Results == nil {
		return v.plan(within, ms), nil
	}
	return v.cachedSelect(within, ms), nil
}

// result is a cached answer: the series below upto.
type result struct {
	set  *bitmap.Set
	upto uint32
}

// cachedSelect answers from the cache of results, looking at those series alone
// that came after the cached answer.
func (v *View) cachedSelect(within *bitmap.Set, ms []*labels.Matcher) *bitmap.Set {
	var buf [256]byte
	key := sourceKey(buf[:0], v.resultsID)
	for _, m := range ms {
		key = appendText(append(key, byte(m.Type)), m.Name)
		key = appendText(key, m.Value)
	}
	n := v.src.length()
	old, ok := v.caches.Results.get(key).(result)
	var set *bitmap.Set
	switch {
	case ok && old.upto == n:
		set = old.set
	case ok && old.upto > n: // another view is ahead
		set = bitmap.Below(old.set, n)
	case ok && n-old.upto <= max(4096, n/8):
		set = bitmap.Or(old.set, v.plan(bitmap.Range(old.upto, n), ms))
		v.caches.Results.put(key, result{set, n}, set.Size())
	case within != nil:
		return v.plan(within, ms)
	default:
		set = v.plan(nil, ms)
		v.caches.Results.put(key, result{set, n}, set.Size())
	}
	if within != nil {
		set = bitmap.And(set, within)
	}
	return set
}

// Column gives the values of one label by series: group keys without strings.
type Column struct {
	l label // nil where no series has the label
}

// Column returns the column of a label; one that no series has is empty.
func (v *View) Column(name string) Column { return Column{v.src.label(name)} }

// Len returns the number of distinct values: ordinals are 1 to Len.
func (c Column) Len() int {
	if c.l == nil {
		return 0
	}
	return int(c.l.values())
}

// Fill writes the value ordinals of ascending series to dst, which is as long;
// 0 where a series lacks the label. Ordinals are in the order of the values in
// a segment and in that of their arrival in a head.
func (c Column) Fill(dst, series []uint32) {
	if c.l == nil {
		clear(dst)
		return
	}
	c.l.fill(dst, series)
}

// Value returns the value with an ordinal, the empty string for 0.
func (c Column) Value(ordinal uint32) string {
	if c.l == nil || ordinal == 0 {
		return ""
	}
	return c.l.value(ordinal)
}

// Alias is Value without a copy where that can be: of a head it is part of its memory,
// which it keeps.
func (c Column) Alias(ordinal uint32) string {
	if l, ok := c.l.(*headViewLabel); ok && ordinal != 0 {
		return l.text(ordinal)
	}
	return c.Value(ordinal)
}

// LabelNames returns the names of all labels of the given series, sorted; of all
// series if series is nil.
func (v *View) LabelNames(series *bitmap.Set) []string {
	if series == nil {
		series = v.src.all()
	}
	var out []string
	for _, name := range v.src.names() {
		if bitmap.Intersects(series, v.src.label(name).present()) {
			out = append(out, name)
		}
	}
	return out
}

// LabelNamesOf returns the names of all labels of the given ascending series, sorted;
// there may be others among them. It looks at row groups or blocks alone.
func (v *View) LabelNamesOf(series []uint32) []string {
	names := v.src.namesOf(series)
	slices.Sort(names)
	return slices.Compact(names)
}

// LabelValues returns the values of a label of the given series, sorted; of all
// series if series is nil.
func (v *View) LabelValues(name string, series *bitmap.Set) []string {
	l := v.src.label(name)
	if l == nil {
		return nil
	}
	if series == nil {
		series = v.src.all()
	}
	var out []string
	if _, head := v.src.(*headView); !head && series.Count() == v.Len() { // each value has its series
		l.scan(1, l.values(), func(_ uint32, value string, _ int) { out = append(out, strings.Clone(value)) })
		return out
	}
	seen := make([]uint64, l.values()/64+1)
	var ids, ordinals [1024]uint32
	it := series.Iterator()
	for n := it.Next(ids[:]); n > 0; n = it.Next(ids[:]) {
		l.fill(ordinals[:n], ids[:n])
		for _, o := range ordinals[:n] {
			seen[o/64] |= 1 << (o % 64)
		}
	}
	seen[0] &^= 1
	for w, x := range seen {
		for ; x != 0; x &= x - 1 {
			out = append(out, l.value(uint32(w*64+bits.TrailingZeros64(x))))
		}
	}
	slices.Sort(out)
	return out
}

// NameCount is the number of series with a label name and of its values.
type NameCount struct {
	Name   string
	Values int
	Series int
	Bytes  int // of its distinct values
}

// ValueCount is the number of series with a value.
type ValueCount struct {
	Value  string
	Series int
}

// Cardinality returns the counts of every label name, in order, out of the
// dictionaries alone. In a head they may be ahead of the snapshot.
func (v *View) Cardinality() []NameCount {
	var out []NameCount
	for _, name := range v.src.names() {
		l := v.src.label(name)
		c := NameCount{Name: name, Values: int(l.values()), Series: l.present().Count()}
		l.scan(1, l.values(), func(_ uint32, value string, _ int) { c.Bytes += len(value) })
		if c.Series > 0 {
			out = append(out, c)
		}
	}
	return out
}

// EachValue calls f with every value of a label, in the order of ordinals, and
// the number of series that have it. The string is valid during the call.
func (v *View) EachValue(name string, f func(value string, series int)) {
	if l := v.src.label(name); l != nil {
		l.scan(1, l.values(), func(_ uint32, value string, series int) {
			if series > 0 { // its first one may just be being added to a head
				f(value, series)
			}
		})
	}
}

// TopValues returns the k values of a label that most series have, the most
// frequent first, then by value.
func (v *View) TopValues(name string, k int) []ValueCount {
	var top []ValueCount
	less := func(a, b ValueCount) int {
		if a.Series != b.Series {
			return b.Series - a.Series
		}
		return strings.Compare(a.Value, b.Value)
	}
	v.EachValue(name, func(value string, series int) {
		c := ValueCount{value, series}
		i, _ := slices.BinarySearchFunc(top, c, less)
		if i >= k {
			return
		}
		c.Value = strings.Clone(value)
		if len(top) == k {
			top = top[:k-1]
		}
		top = slices.Insert(top, i, c)
	})
	return top
}
