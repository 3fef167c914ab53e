package index2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
)

// ErrOrder is returned for a label set that does not come after the one before.
var ErrOrder = errors.New("label sets out of order")

// Options are what a Writer may be told. The zero value works.
type Options struct {
	// Compress stores each section as one zstd frame where that is smaller. Open
	// then decompresses to memory: for segments that are small next to what they
	// cost on disk.
	Compress bool
	// Scratch, if not nil, takes the row groups until WriteTo reads them back, so
	// that memory holds the distinct strings and little else; without it a value
	// of every label of every series stays in memory, in one to four bytes.
	Scratch interface {
		io.WriterAt
		io.ReaderAt
	}
}

// Writer builds a segment. It is for one goroutine; the zero value is ready.
type Writer struct {
	options  Options
	names    map[string]uint32
	labels   []*writerLabel
	n        uint32
	previous labels.Labels
	places   []uint32 // by place in the label set before, the label
	rows     writerRows
	blocks   []writerBlock
	memory   []byte // of blocks, without Scratch
	written  int64
	days     map[int64]*bitmap.Builder
	err      error
}

// writerLabel is a label name and its values, numbered from 1 on first sight.
type writerLabel struct {
	name   string
	values map[string]uint32
	list   []string
	rank   []uint32 // ordinal by number, once values are sorted
	last   uint32   // number of the value seen last, 0 before
}

// writerBlock is a finished row group.
type writerBlock struct {
	begin, end uint32
	columns    []writerColumn
}

// writerColumn is where the value numbers of a label are, 0 for none.
type writerColumn struct {
	label uint32
	width int // bytes a row; 0: all rows have the number
	same  uint32
	off   int64
}

// NewWriter returns a writer.
func NewWriter(o Options) *Writer { return &Writer{options: o} }

// Len returns the number of series so far.
func (w *Writer) Len() int { return int(w.n) }

// Add adds a series, and the days since 1970 UTC on which it was active; label
// sets come in the order of labels.Compare, without duplicates. lset is not
// kept, nor are its strings. It returns the ordinal.
func (w *Writer) Add(lset labels.Labels, days ...int64) (uint32, error) {
	if w.n > 0 && labels.Compare(lset, w.previous) <= 0 {
		return 0, fmt.Errorf("add series %s after %s: %w", lset, w.previous, ErrOrder)
	}
	if w.n == math.MaxUint32-1 {
		return 0, fmt.Errorf("add series: index is full at %d", w.n)
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
	for _, day := range days {
		if day < 0 || day > math.MaxInt32 {
			return 0, fmt.Errorf("add series %s: day %d is out of range", lset, day)
		}
	}
	if w.names == nil {
		w.names, w.days = map[string]uint32{}, map[int64]*bitmap.Builder{}
	}
	w.rows.begin(w, lset)
	place := 0
	lset.Range(func(l labels.Label) {
		w.rows.set(w.number(place, l))
		place++
	})
	w.rows.end()
	w.n++
	w.previous = lset.Copy()
	for _, day := range days {
		if err := w.Active(day); err != nil {
			return 0, fmt.Errorf("add series %s: %w", lset, err)
		}
	}
	return w.n - 1, w.err
}

// Active says that the series added last was active on a day since 1970 UTC.
func (w *Writer) Active(day int64) error {
	if day < 0 || day > math.MaxInt32 || w.n == 0 {
		return fmt.Errorf("day %d of series %d is out of range", day, int64(w.n)-1)
	}
	if b, id := w.days[day], w.n-1; b == nil {
		w.days[day] = new(bitmap.Builder)
		w.days[day].Add(id)
	} else if !b.Ends(id) {
		b.Add(id)
	}
	return nil
}

// Compress sets Options.Compress before WriteTo: when the size is known.
func (w *Writer) Compress(on bool) { w.options.Compress = on }

// number returns the numbers of a label's name and value: mostly the name that
// stood in its place in the series before, and often the value too.
func (w *Writer) number(place int, l labels.Label) (name, value uint32) {
	if place == len(w.places) {
		w.places = append(w.places, 0)
	}
	i := w.places[place]
	if int(i) >= len(w.labels) || w.labels[i].name != l.Name {
		i = w.nameNumber(l.Name)
		w.places[place] = i
	}
	n := w.labels[i]
	if n.last != 0 && n.list[n.last-1] == l.Value {
		return i, n.last
	}
	v, ok := n.values[l.Value]
	if !ok {
		text := string([]byte(l.Value))
		n.list = append(n.list, text)
		v = uint32(len(n.list))
		n.values[text] = v
	}
	n.last = v
	return i, v
}

func (w *Writer) nameNumber(name string) uint32 {
	i, ok := w.names[name]
	if !ok {
		i = uint32(len(w.labels))
		name = string([]byte(name))
		w.names[name] = i
		w.labels = append(w.labels, &writerLabel{name: name, values: map[string]uint32{}})
	}
	return i
}

// WriteTo writes the segment of all series added. The writer can do nothing else
// afterwards.
func (w *Writer) WriteTo(out io.Writer) (int64, error) {
	w.rows.flush(w)
	if w.err != nil {
		return 0, w.err
	}
	order := make([]uint32, len(w.labels))
	for i := range order {
		order[i] = uint32(i)
	}
	sort.Slice(order, func(a, b int) bool { return w.labels[order[a]].name < w.labels[order[b]].name })
	f := newFrame(out, w.options.Compress)
	f.begin(secPostings)
	p := postingsWriter{w: w, f: f}
	for _, i := range order {
		p.label(i)
	}
	p.writeDays()
	f.end()
	p.sections(len(order))
	w.writeColumns(f, order)
	if w.err != nil {
		return f.at, w.err
	}
	return f.finish()
}

// postingsWriter writes postings label by label, and gathers the dictionaries.
type postingsWriter struct {
	w                  *Writer
	f                  *frame
	at                 int    // length of the section
	b                  []byte // to be put
	names, text, group []byte
	days               []byte
	column             []uint32
	raw                []byte
}

func (p *postingsWriter) put() {
	p.f.put(p.b)
	p.at += len(p.b)
	p.b = p.b[:0]
}

// label sorts the values of a label and lists their series.
func (p *postingsWriter) label(i uint32) {
	l := p.w.labels[i]
	l.values = nil
	byOrder := make([]uint32, len(l.list))
	for k := range byOrder {
		byOrder[k] = uint32(k)
	}
	slices.SortFunc(byOrder, func(a, b uint32) int {
		switch {
		case l.list[a] < l.list[b]:
			return -1
		case l.list[a] > l.list[b]:
			return 1
		}
		return 0
	})
	l.rank = make([]uint32, len(l.list)+1)
	for ordinal, number := range byOrder {
		l.rank[number+1] = uint32(ordinal + 1)
	}
	ids, ends, presence := p.lists(i, l)
	if p.w.err != nil {
		return
	}
	begin := len(p.text)
	t, single := newTemplate(l.list), len(ids) == len(l.list)
	previous := ""
	from, total, post := uint32(0), uint32(0), uint64(0)
	for k, number := range byOrder {
		value := l.list[number]
		if t != nil {
			packed, _ := t.encode(nil, value)
			value = text(packed)
		}
		list := ids[from:ends[k]]
		if k%groupSize == 0 {
			previous, post = "", uint64(p.at+len(p.b))
			if uint64(len(p.text)-begin) > math.MaxUint32 {
				p.w.err = fmt.Errorf("write index: values of label %q take more than 4 GiB", l.name)
				return
			}
			p.group = binary.LittleEndian.AppendUint32(p.group, uint32(len(p.text)-begin))
			p.group = binary.LittleEndian.AppendUint32(p.group, total)
			p.group = binary.LittleEndian.AppendUint64(p.group, post)
		}
		post = p.value(previous, value, list, post, t != nil, single)
		previous = value
		total += uint32(len(list))
		from = ends[k]
		if len(p.b) > 1<<20 {
			p.put()
		}
	}
	off := 0
	if presence.Count() < int(p.w.n) {
		p.b, off = bitmap.AppendSet(p.b, p.at, presence)
	}
	p.put()
	p.name(l, []int{len(l.list), len(p.text) - begin, presence.Count(), off}, t, single)
}

// name appends the entry of a label name.
func (p *postingsWriter) name(l *writerLabel, numbers []int, t *template, single bool) {
	flags := 0
	if single {
		flags |= flagSingle
	}
	if t != nil {
		flags |= flagTemplate
	}
	p.names = appendText(p.names, l.name)
	for _, x := range append(numbers, flags) {
		p.names = binary.AppendUvarint(p.names, uint64(x))
	}
	if t != nil {
		p.names = t.appendTo(p.names)
	}
}

// value appends a value and its postings; post is where those before begin. A
// packed value has no length of its own, one of a label of single series no count.
func (p *postingsWriter) value(previous, value string, list []uint32, post uint64, packed, single bool) uint64 {
	shared := 0
	for shared < min(len(previous), len(value)) && previous[shared] == value[shared] {
		shared++
	}
	p.text = binary.AppendUvarint(p.text, uint64(shared))
	if packed {
		p.text = append(p.text, value[shared:]...)
	} else {
		p.text = appendText(p.text, value[shared:])
	}
	if !single {
		p.text = binary.AppendUvarint(p.text, uint64(len(list)))
	}
	if len(list) == 1 {
		p.text = binary.AppendUvarint(p.text, uint64(list[0]))
		return post
	}
	var off int
	p.b, off = bitmap.AppendIDs(p.b, p.at, list)
	p.text = binary.AppendUvarint(p.text, uint64(off)-post)
	return uint64(off)
}

// lists returns the series of the label by value, in order, where those of each
// value end, and all of them.
func (p *postingsWriter) lists(i uint32, l *writerLabel) (ids, ends []uint32, presence *bitmap.Set) {
	counts := make([]uint32, len(l.list)+1)
	var present bitmap.Builder
	p.w.each(i, p, func(begin uint32, numbers []uint32) {
		for k, number := range numbers {
			if number != 0 {
				counts[l.rank[number]]++
				present.Add(begin + uint32(k))
			}
		}
	})
	sum := uint32(0)
	for o, n := range counts { // where each begins
		counts[o] = sum
		sum += n
	}
	ids = make([]uint32, sum)
	p.w.each(i, p, func(begin uint32, numbers []uint32) {
		for k, number := range numbers {
			if number != 0 {
				o := l.rank[number]
				ids[counts[o]] = begin + uint32(k)
				counts[o]++
			}
		}
	})
	return ids, counts[1:], present.Set()
}

// writeDays appends the days' activity to the postings.
func (p *postingsWriter) writeDays() {
	days := make([]int64, 0, len(p.w.days))
	for day := range p.w.days {
		days = append(days, day)
	}
	slices.Sort(days)
	p.days = binary.AppendUvarint(nil, uint64(len(days)))
	previous := int64(0)
	for _, day := range days {
		set := p.w.days[day].Set()
		var off int
		p.b, off = bitmap.AppendSet(p.b, p.at, set)
		for _, x := range []uint64{uint64(day - previous), uint64(set.Count()), uint64(off)} {
			p.days = binary.AppendUvarint(p.days, x)
		}
		previous = day
		p.put()
	}
}

// sections writes what was gathered.
func (p *postingsWriter) sections(labels int) {
	p.names = append(binary.AppendUvarint(nil, uint64(labels)), p.names...)
	for _, s := range []struct {
		id      uint64
		content []byte
	}{{secNames, p.names}, {secText, p.text}, {secGroups, p.group}, {secDays, p.days}} {
		p.f.begin(s.id)
		p.f.put(s.content)
		p.f.end()
	}
}
