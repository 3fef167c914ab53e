package v1

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sort"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/index/section"
)

// ErrOrder is returned for a label set that does not come after the one before.
var ErrOrder = errors.New("label sets out of order")

// Writer is what wrote segments of version 1: it builds what tests read. It It keeps every distinct string once and four bytes
// per label of each series. It is for one goroutine; the zero value is ready.
type Writer struct {
	names    map[string]uint32
	name     []writerName
	shapes   map[string]uint32
	shape    [][]uint32 // name numbers, as numbered on first sight
	shapeOf  []uint32
	values   []uint32 // of all series, as numbered on first sight within the name
	previous labels.Labels
	key      []byte
}

type writerName struct {
	name   string
	values map[string]uint32
	list   []string
}

// Len returns the number of series so far.
func (w *Writer) Len() int { return len(w.shapeOf) }

// Add adds a series; label sets come in the order of labels.Compare, without
// duplicates. lset is not kept, nor are its strings. It returns the ordinal.
func (w *Writer) Add(lset labels.Labels) (uint32, error) {
	n := len(w.shapeOf)
	if n > 0 && labels.Compare(lset, w.previous) <= 0 {
		return 0, fmt.Errorf("add series %s after %s: %w", lset, w.previous, ErrOrder)
	}
	if n == math.MaxUint32-1 {
		return 0, fmt.Errorf("add series: index is full at %d", n)
	}
	if w.names == nil {
		w.names, w.shapes = map[string]uint32{}, map[string]uint32{}
	}
	last := ""
	if err := lset.Validate(func(l labels.Label) error {
		if l.Value == "" || l.Name == "" || l.Name <= last {
			return fmt.Errorf("add series %s: label %q is empty or out of order", lset, l.Name)
		}
		last = l.Name
		return nil
	}); err != nil {
		return 0, err
	}
	w.key = w.key[:0]
	lset.Range(w.label)
	shape, ok := w.shapes[string(w.key)]
	if !ok {
		shape = uint32(len(w.shape))
		w.shapes[string(w.key)] = shape
		w.shape = append(w.shape, numbers(w.key))
	}
	w.shapeOf = append(w.shapeOf, shape)
	w.previous = lset.Copy()
	return uint32(n), nil
}

// label numbers a label's name and value and appends them to key and values.
func (w *Writer) label(l labels.Label) {
	i, ok := w.names[l.Name]
	if !ok {
		i = uint32(len(w.name))
		name := strings.Clone(l.Name)
		w.names[name] = i
		w.name = append(w.name, writerName{name: name, values: map[string]uint32{}})
	}
	n := &w.name[i]
	v, ok := n.values[l.Value]
	if !ok {
		v = uint32(len(n.list))
		value := strings.Clone(l.Value)
		n.values[value] = v
		n.list = append(n.list, value)
	}
	w.key = binary.LittleEndian.AppendUint32(w.key, i)
	w.values = append(w.values, v)
}

func numbers(key []byte) []uint32 {
	out := make([]uint32, len(key)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(key[4*i:])
	}
	return out
}

// layout is the writer's content in its final numbering.
type layout struct {
	order  []uint32   // name numbers in string order
	rank   []uint32   // inverse of order
	values [][]uint32 // per name number and value number, the ordinal from 1
	base   []int      // per rank, the values of names before it
}

// Append appends the segment of all series added.
func (w *Writer) Append(dst []byte) ([]byte, error) {
	l := w.arrange()
	postings, presence := w.postings(l)
	var s section.Writer
	var err error
	segment := format.AppendHeader(nil)
	put := func(id uint64, content []byte) {
		if err == nil {
			segment, err = s.Append(segment, 0, id, content)
		}
	}
	w.appendNames(put, l, presence)
	w.appendValues(put, l, postings)
	w.appendSeries(put, l)
	if err != nil {
		return dst, err
	}
	return append(dst, s.AppendFooter(segment, format)...), nil
}

// arrange sorts names and values.
func (w *Writer) arrange() *layout {
	l := &layout{rank: make([]uint32, len(w.name)), values: make([][]uint32, len(w.name)), base: make([]int, len(w.name)+1)}
	for i := range w.name {
		l.order = append(l.order, uint32(i))
	}
	sort.Slice(l.order, func(a, b int) bool { return w.name[l.order[a]].name < w.name[l.order[b]].name })
	for rank, i := range l.order {
		l.rank[i] = uint32(rank)
		list := w.name[i].list
		l.base[rank+1] = l.base[rank] + len(list)
		sort.Strings(list)
		l.values[i] = make([]uint32, len(list))
		for ordinal, value := range list {
			l.values[i][w.name[i].values[value]] = uint32(ordinal + 1)
		}
		for ordinal, value := range list { // numbers now follow the order
			w.name[i].values[value] = uint32(ordinal)
		}
	}
	w.renumber(l)
	return l
}

// renumber rewrites the values of all series to their ordinals less one, so
// that Append may be called again.
func (w *Writer) renumber(l *layout) {
	at := 0
	for _, shape := range w.shapeOf {
		for _, name := range w.shape[shape] {
			w.values[at] = l.values[name][w.values[at]] - 1
			at++
		}
	}
}

// postings lists the series of each value and of each name, in final order.
func (w *Writer) postings(l *layout) (ofValue, ofName [][]uint32) {
	total := l.base[len(l.order)]
	ofValue, ofName = make([][]uint32, total), make([][]uint32, len(l.order))
	counts := make([]uint32, total)
	w.each(l, func(_, _ uint32, value int) { counts[value]++ })
	all := make([]uint32, len(w.values))
	for i, n := range counts {
		ofValue[i], all = all[:0:n], all[n:]
	}
	w.each(l, func(series, rank uint32, value int) {
		ofValue[value] = append(ofValue[value], series)
		ofName[rank] = append(ofName[rank], series)
	})
	return ofValue, ofName
}

// each calls f for every label of every series, in order.
func (w *Writer) each(l *layout, f func(series, rank uint32, value int)) {
	at := 0
	for series, shape := range w.shapeOf {
		for _, name := range w.shape[shape] {
			rank := l.rank[name]
			f(uint32(series), rank, l.base[rank]+int(w.values[at]))
			at++
		}
	}
}

func (w *Writer) appendNames(put func(uint64, []byte), l *layout, presence [][]uint32) {
	var ends, values, counts, postEnds []uint64
	var text, posts []byte
	for rank, i := range l.order {
		text = append(text, w.name[i].name...)
		posts = appendPostings(posts, presence[rank], uint32(len(w.shapeOf)))
		ends = append(ends, uint64(len(text)))
		values = append(values, uint64(l.base[rank+1]))
		counts = append(counts, uint64(len(presence[rank])))
		postEnds = append(postEnds, uint64(len(posts)))
	}
	put(secNames, section.AppendTable(nil, running(ends), running(values), section.Column{Values: counts}, running(postEnds)))
	put(secNameBytes, text)
	put(secPresence, posts)
}

func running(values []uint64) section.Column { return section.Column{Values: values, Running: true} }

func (w *Writer) appendValues(put func(uint64, []byte), l *layout, postings [][]uint32) {
	var ends, counts, postEnds []uint64
	var text, posts []byte
	for rank, i := range l.order {
		for k, value := range w.name[i].list {
			list := postings[l.base[rank]+k]
			text = append(text, value...)
			posts = appendPostings(posts, list, uint32(len(w.shapeOf)))
			ends = append(ends, uint64(len(text)))
			counts = append(counts, uint64(len(list)))
			postEnds = append(postEnds, uint64(len(posts)))
		}
	}
	put(secValues, section.AppendTable(nil, running(ends), section.Column{Values: counts}, running(postEnds)))
	put(secValueBytes, text)
	put(secPostings, posts)
}

func (w *Writer) appendSeries(put func(uint64, []byte), l *layout) {
	shapes := binary.AppendUvarint(nil, uint64(len(w.shape)))
	for _, names := range w.shape {
		shapes = binary.AppendUvarint(shapes, uint64(len(names)))
		for _, name := range names {
			shapes = binary.AppendUvarint(shapes, uint64(l.rank[name]))
		}
	}
	put(secShapes, shapes)

	var records []byte
	shapeOf, ends := make([]uint64, 0, len(w.shapeOf)), make([]uint64, 0, len(w.shapeOf))
	at := 0
	for _, shape := range w.shapeOf {
		for _, name := range w.shape[shape] {
			var b [4]byte
			binary.LittleEndian.PutUint32(b[:], w.values[at]+1)
			records = append(records, b[:ordinalWidth(len(w.name[name].list))]...)
			at++
		}
		shapeOf = append(shapeOf, uint64(shape))
		ends = append(ends, uint64(len(records)))
	}
	put(secSeries, section.AppendTable(nil, section.Column{Values: shapeOf}, running(ends)))
	put(secRecords, records)
}

// appendPostings appends an ascending list of ordinals below n.
func appendPostings(dst []byte, list []uint32, n uint32) []byte {
	begin := len(dst)
	dst = appendRuns(append(dst, formRuns), list)
	best := len(dst) - begin
	if deltas := 1 + deltaSize(list); deltas < best {
		dst = appendDeltas(append(dst[:begin], formDeltas), list)
		best = deltas
	}
	if 1+int(n/8) < best {
		dst = appendBitmap(append(dst[:begin], formBitmap), list, n)
	}
	return dst
}

func appendRuns(dst []byte, list []uint32) []byte {
	end := uint32(0)
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j] == list[j-1]+1 {
			j++
		}
		dst = binary.AppendUvarint(dst, uint64(list[i]-end))
		dst = binary.AppendUvarint(dst, uint64(j-i-1))
		end = list[j-1] + 1
		i = j
	}
	return dst
}

func appendDeltas(dst []byte, list []uint32) []byte {
	next := uint32(0)
	for _, o := range list {
		dst = binary.AppendUvarint(dst, uint64(o-next))
		next = o + 1
	}
	return dst
}

func deltaSize(list []uint32) int {
	size := 0
	next := uint32(0)
	for _, o := range list {
		size += (bits.Len32((o-next)|1) + 6) / 7
		next = o + 1
	}
	return size
}

func appendBitmap(dst []byte, list []uint32, n uint32) []byte {
	begin := len(dst)
	dst = append(dst, make([]byte, (n+7)/8)...)
	for _, o := range list {
		dst[begin+int(o/8)] |= 1 << (o % 8)
	}
	return dst
}
