package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"sort"
	"strings"

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
	// Scratch, if not nil, an empty file, takes the row groups until WriteTo reads
	// them back, so that memory holds the distinct strings and little else;
	// without it a value of every label of every series stays in memory, in one to
	// four bytes.
	Scratch Scratch
	// Terms, if not nil, are what rows are made of, see Writer.AddRow. With
	// Scratch memory then holds eight bytes for each series and each distinct value
	// of one label, while that is written, and four for the values of the others.
	Terms Terms
}

// Scratch is a file to write once and read back.
type Scratch interface {
	io.Writer
	io.ReaderAt
}

// Writer builds a segment. It is for one goroutine; the zero value is ready.
type Writer struct {
	options  Options
	names    map[string]uint32
	labels   []*writerLabel
	n        uint32
	previous labels.Labels
	row      Row      // of the label set being added, then before
	places   []uint32 // by place in the label set before, the label
	rows     writerRows
	blocks   []writerBlock
	memory   []byte // of blocks, without Scratch
	written  int64
	days     map[int64]*bitmap.Builder
	err      error
}

// writerLabel is a label name and its values, numbered by Terms or else from 1 on
// first sight.
type writerLabel struct {
	name   string
	values map[string]uint32
	list   []string
	rank   []uint32 // ordinal by number, once values are sorted; nil: as it is
	last   uint32   // number of the value seen last, 0 before
	used   bool
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
func NewWriter(o Options) *Writer {
	w := &Writer{}
	w.Use(o)
	return w
}

// Use sets the options, before anything is added.
func (w *Writer) Use(o Options) {
	w.options, w.labels = o, nil
	if o.Terms != nil {
		for _, name := range o.Terms.labelNames() {
			w.labels = append(w.labels, &writerLabel{name: name})
		}
	}
}

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
		w.names = map[string]uint32{}
	}
	w.row = w.row[:0]
	lset.Range(func(l labels.Label) { w.row = append(w.row, w.number(len(w.row), l)) })
	w.add(w.row)
	w.previous = lset.Copy()
	for _, day := range days {
		if err := w.Active(day); err != nil {
			return 0, fmt.Errorf("add series %s: %w", lset, err)
		}
	}
	return w.n - 1, w.err
}

// AddRow is Add for a label set in the numbers of Options.Terms. A Writer is given
// rows alone or label sets alone.
func (w *Writer) AddRow(row Row) (uint32, error) {
	if w.n > 0 && row.compare(w.row) <= 0 {
		return 0, fmt.Errorf("add row %v after %v: %w", row, w.row, ErrOrder)
	}
	if w.n == math.MaxUint32-1 {
		return 0, fmt.Errorf("add series: index is full at %d", w.n)
	}
	w.add(row)
	w.row = append(w.row[:0], row...)
	return w.n - 1, w.err
}

func (w *Writer) add(row Row) {
	w.rows.add(w, row)
	for _, x := range row {
		w.labels[x.label].used = true
	}
	w.n++
}

// Active says that the series added last was active on a day since 1970 UTC.
func (w *Writer) Active(day int64) error {
	if day < 0 || day > math.MaxInt32 || w.n == 0 {
		return fmt.Errorf("day %d of series %d is out of range", day, int64(w.n)-1)
	}
	if w.days == nil {
		w.days = map[int64]*bitmap.Builder{}
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
func (w *Writer) number(place int, l labels.Label) pair {
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
		return pair{i, n.last}
	}
	v, ok := n.values[l.Value]
	if !ok {
		text := string([]byte(l.Value))
		n.list = append(n.list, text)
		v = uint32(len(n.list))
		n.values[text] = v
	}
	n.last = v
	return pair{i, v}
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
	var order []uint32
	for i, l := range w.labels {
		if l.used {
			order = append(order, uint32(i))
		}
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
	w            *Writer
	f            *frame
	at           int    // length of the section
	b            []byte // to be put
	text         []byte // of dictionaries, what follows stored
	stored       []storedText
	storedBytes  int
	names, group []byte
	days         []byte
	column       []uint32
	raw          []byte
}

// storedText is where text went.
type storedText struct {
	off  int64
	size int
}

// putBytes is how much is collected before it is put or stored.
const putBytes = 1 << 20

func (p *postingsWriter) put() {
	p.f.put(p.b)
	p.at += len(p.b)
	p.b = p.b[:0]
}

// textLen returns the length of the text so far.
func (p *postingsWriter) textLen() int { return p.storedBytes + len(p.text) }

// sort numbers the values of a label that came as strings by their order, and
// returns it.
func (l *writerLabel) sort() (order []uint32) {
	l.values = nil
	order = make([]uint32, len(l.list))
	for k := range order {
		order[k] = uint32(k)
	}
	slices.SortFunc(order, func(a, b uint32) int { return strings.Compare(l.list[a], l.list[b]) })
	l.rank = make([]uint32, len(l.list)+1)
	for ordinal, number := range order {
		l.rank[number+1] = uint32(ordinal + 1)
	}
	return order
}

// values returns the values that a label's series have, in order, each valid until
// the next.
func (w *Writer) values(i uint32, order []uint32) iter.Seq[string] {
	l := w.labels[i]
	return func(yield func(string) bool) {
		for _, number := range order {
			if !yield(l.list[number]) {
				return
			}
		}
		if w.options.Terms == nil {
			return
		}
		for value := range w.options.Terms.texts(i, l.rank) {
			if !yield(value) {
				return
			}
		}
		if err := w.options.Terms.err(); err != nil && w.err == nil {
			w.err = fmt.Errorf("read terms: %w", err)
		}
	}
}

// label writes the values of a label and lists their series.
func (p *postingsWriter) label(i uint32) {
	l := p.w.labels[i]
	var order []uint32
	n := uint32(len(l.list))
	if terms := p.w.options.Terms; terms != nil {
		n = terms.count(i)
	} else {
		order = l.sort()
	}
	ids, ends, presence := p.lists(i, n)
	if p.w.err != nil {
		return
	}
	begin := p.textLen()
	values := p.w.values(i, order)
	t, single := newTemplate(len(ends), values), len(ids) == len(ends)
	var previous, packed []byte
	k, from, post := 0, uint32(0), uint64(0)
	for value := range values {
		if t != nil {
			packed, _ = t.encode(packed[:0], value)
			value = text(packed)
		}
		if k%groupSize == 0 {
			previous, post = previous[:0], uint64(p.at+len(p.b))
			p.beginGroup(l, begin, from, post)
		}
		post = p.value(text(previous), value, ids[from:ends[k]], post, t != nil, single)
		previous = append(previous[:0], value...)
		from = ends[k]
		k++
	}
	if p.w.err == nil && k != len(ends) {
		p.w.err = fmt.Errorf("write index: got %d values of label %q, want %d", k, l.name, len(ends))
	}
	off := 0
	if presence.Count() < int(p.w.n) {
		p.b, off = bitmap.AppendSet(p.b, p.at, presence)
	}
	p.put()
	p.name(l, []int{len(ends), p.textLen() - begin, presence.Count(), off}, t, single)
}

// beginGroup begins a group of values; total is how many series the values before
// have. It is a good time to let go of what was collected.
func (p *postingsWriter) beginGroup(l *writerLabel, begin int, total uint32, post uint64) {
	at := p.textLen() - begin
	if at > math.MaxUint32 && p.w.err == nil {
		p.w.err = fmt.Errorf("write index: values of label %q take more than 4 GiB", l.name)
	}
	p.group = binary.LittleEndian.AppendUint32(p.group, uint32(at))
	p.group = binary.LittleEndian.AppendUint32(p.group, total)
	p.group = binary.LittleEndian.AppendUint64(p.group, post)
	if len(p.b) > putBytes {
		p.put()
	}
	if len(p.text) > putBytes && p.w.options.Scratch != nil {
		p.stored = append(p.stored, storedText{p.w.store(p.text), len(p.text)})
		p.storedBytes += len(p.text)
		p.text = p.text[:0]
	}
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

// lists returns the series of a label with n numbers by value, in order, where
// those of each value end, and all of them. Of values that have none it makes the
// label's rank free.
func (p *postingsWriter) lists(i, n uint32) (ids, ends []uint32, presence *bitmap.Set) {
	l := p.w.labels[i]
	counts := make([]uint32, n+1)
	var present bitmap.Builder
	p.w.each(i, p, func(begin uint32, numbers []uint32) {
		for k, number := range numbers {
			if number != 0 {
				counts[l.ordinal(number)]++
				present.Add(begin + uint32(k))
			}
		}
	})
	if p.w.err != nil { // what was counted is not what will be listed
		return nil, nil, nil
	}
	if slices.Contains(counts[1:], 0) { // rows used not all of the terms
		l.rank = make([]uint32, n+1)
		kept := uint32(0)
		for number, count := range counts {
			if count > 0 {
				kept++
				l.rank[number], counts[kept] = kept, count
			}
		}
		counts = counts[:kept+1]
		counts[0] = 0
	}
	sum := uint32(0)
	for o, n := range counts { // where each begins
		counts[o] = sum
		sum += n
	}
	ids = make([]uint32, sum)
	p.w.each(i, p, func(begin uint32, numbers []uint32) {
		for k, number := range numbers {
			if number != 0 {
				o := l.ordinal(number)
				ids[counts[o]] = begin + uint32(k)
				counts[o]++
			}
		}
	})
	return ids, counts[1:], present.Set()
}

// ordinal returns the ordinal of a number.
func (l *writerLabel) ordinal(number uint32) uint32 {
	if l.rank == nil {
		return number
	}
	return l.rank[number]
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
		if s.id == secText {
			for _, t := range p.stored {
				p.raw = p.w.stored(t.off, t.size, p.raw)
				p.f.put(p.raw)
			}
		}
		p.f.put(s.content)
		p.f.end()
	}
}
