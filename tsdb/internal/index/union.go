package index

import (
	"iter"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// Union is the terms of several segments together. It holds four bytes for each
// value of each segment, but for those of a segment that has all values of a label,
// and no strings. It is for one goroutine, and to be used before the segments are
// closed.
type Union struct {
	inputs []unionInput
	names  []string
	counts []uint32 // values by label
	failed error
}

// unionInput is how a segment's numbers translate.
type unionInput struct {
	s      *Segment
	labels []uint32   // by number of the label in the segment
	local  []int32    // by label of the union, the number in the segment; -1 for none
	values [][]uint32 // by number of the label in the segment and ordinal; nil: the same
}

// NewUnion merges the dictionaries of segments, in one walk over all their values.
func NewUnion(segments []*Segment) (*Union, error) {
	u := &Union{}
	for _, s := range segments {
		in := unionInput{s: s, labels: make([]uint32, len(s.list)), values: make([][]uint32, len(s.list))}
		for _, l := range s.list {
			u.names = append(u.names, l.name)
		}
		u.inputs = append(u.inputs, in)
	}
	slices.Sort(u.names)
	u.names = slices.Compact(u.names)
	for i, name := range u.names {
		u.names[i] = strings.Clone(name)
	}
	u.counts = make([]uint32, len(u.names))
	for i := range u.inputs {
		in := &u.inputs[i]
		in.local = slices.Repeat([]int32{-1}, len(u.names))
		for number, l := range in.s.list {
			k, _ := slices.BinarySearch(u.names, l.name)
			in.labels[number], in.local[k] = uint32(k), int32(number)
		}
	}
	for label := range u.names {
		if err := u.number(uint32(label)); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// number numbers the values of a label.
func (u *Union) number(label uint32) error {
	all := heap[*valueReader]{less: func(a, b *valueReader) bool { return a.value() < b.value() }}
	for i := range u.inputs {
		in := &u.inputs[i]
		if k := in.local[label]; k >= 0 {
			v := &valueReader{l: in.s.list[k], numbers: make([]uint32, 1, in.s.list[k].n+1)}
			if err := v.load(); err != nil {
				return err
			}
			in.values[k] = v.numbers[:cap(v.numbers)]
			all.push(v)
		}
	}
	n := uint32(0)
	var last []byte
	for len(all.list) > 0 {
		v := all.list[0]
		if value := v.value(); n == 0 || value != text(last) {
			n++
			last = append(last[:0], value...)
		}
		v.numbers = append(v.numbers, n)
		if more, err := v.next(); err != nil {
			return err
		} else if !more {
			all.pop()
			continue
		}
		all.sink()
	}
	u.counts[label] = n
	for i := range u.inputs {
		in := &u.inputs[i]
		if k := in.local[label]; k >= 0 && in.s.list[k].n == n {
			in.values[k] = nil
		}
	}
	return nil
}

func (u *Union) labelNames() []string      { return u.names }
func (u *Union) count(label uint32) uint32 { return u.counts[label] }
func (u *Union) err() error                { return u.failed }

// texts walks the dictionaries side by side again, by their numbers.
func (u *Union) texts(label uint32, used []uint32) iter.Seq[string] {
	return func(yield func(string) bool) {
		all := heap[*valueReader]{less: func(a, b *valueReader) bool { return a.number() < b.number() }}
		for i := range u.inputs {
			in := &u.inputs[i]
			if k := in.local[label]; k >= 0 {
				v := &valueReader{l: in.s.list[k], numbers: in.values[k]}
				if u.failed = v.load(); u.failed != nil {
					return
				}
				all.push(v)
			}
		}
		last := uint32(0)
		for len(all.list) > 0 {
			v := all.list[0]
			if number := v.number(); number != last {
				last = number
				if (used == nil || used[number] != 0) && !yield(v.value()) {
					return
				}
			}
			more, err := v.next()
			switch {
			case err != nil:
				u.failed = err
				return
			case more:
				all.sink()
			default:
				all.pop()
			}
		}
	}
}

// row appends the row of a series of an input whose row group has the columns
// given, beginning at begin.
func (in *unionInput) row(dst Row, columns []packed, series uint32) Row {
	for i := range columns {
		p := &columns[i]
		o := p.at(series)
		if o == 0 {
			continue
		}
		if values := in.values[p.label]; values != nil {
			o = values[o]
		}
		dst = append(dst, pair{in.labels[p.label], o})
	}
	return dst
}

// valueReader reads a label's values in order, a batch at a time within a Guard,
// to memory of its own.
type valueReader struct {
	l       *segmentLabel
	numbers []uint32 // by ordinal, nil: the same
	c       cursor
	o       uint32 // ordinal of the value the reader is at
	text    []byte
	ends    []int // of the values of the batch in text
	at      int
}

const valueBatch = 8 * groupSize

// load reads the next batch, of which there is one value at least.
func (v *valueReader) load() error {
	v.text, v.ends, v.at = v.text[:0], v.ends[:0], 0
	v.o++
	return v.l.s.Guard(func() error {
		for o := v.o; o <= v.l.n && o < v.o+valueBatch; o++ {
			if o == v.o && o == 1 {
				v.c.seek(&v.l.dictionary, 0)
			}
			v.c.next()
			v.text = append(v.text, v.c.value()...)
			v.ends = append(v.ends, len(v.text))
		}
		return nil
	})
}

// next goes to the next value.
func (v *valueReader) next() (more bool, err error) {
	if v.o == v.l.n {
		return false, nil
	}
	if v.at+1 == len(v.ends) {
		return true, v.load()
	}
	v.at++
	v.o++
	return true, nil
}

func (v *valueReader) value() string {
	begin := 0
	if v.at > 0 {
		begin = v.ends[v.at-1]
	}
	return text(v.text[begin:v.ends[v.at]])
}

func (v *valueReader) number() uint32 {
	if v.numbers == nil {
		return v.o
	}
	return v.numbers[v.o]
}

// Join walks the series of several segments together in label order.
type Join struct {
	u      *Union
	all    heap[*rowReader]
	row    Row
	places []Place
	err    error
}

// Place is a series of one of the segments.
type Place struct {
	Input  int
	Series uint32
}

// Join begins a walk.
func (u *Union) Join() *Join {
	j := &Join{u: u}
	j.all.less = func(a, b *rowReader) bool {
		if c := a.row().compare(b.row()); c != 0 {
			return c < 0
		}
		return a.input < b.input
	}
	for i := range u.inputs {
		r := &rowReader{in: &u.inputs[i], input: i}
		more, err := r.load()
		if err != nil {
			j.err = err
		} else if more {
			j.all.push(r)
		}
	}
	return j
}

// Next goes to the next label set, false at the end and at damage.
func (j *Join) Next() bool {
	j.row, j.places = j.row[:0], j.places[:0]
	if j.err != nil {
		return false
	}
	for len(j.all.list) > 0 {
		r := j.all.list[0]
		if len(j.places) == 0 {
			j.row = append(j.row, r.row()...)
		} else if !r.row().Equal(j.row) {
			break
		}
		j.places = append(j.places, Place{r.input, r.series})
		more, err := r.next()
		if err != nil {
			j.err = err
			return false
		}
		if more {
			j.all.sink()
		} else {
			j.all.pop()
		}
	}
	return len(j.places) > 0
}

// Row returns the label set in the union's numbers, valid until Next.
func (j *Join) Row() Row { return j.row }

// Places returns who has it, by input, valid until Next.
func (j *Join) Places() []Place { return j.places }

// Err returns what ended the walk early.
func (j *Join) Err() error { return j.err }

// Labels returns the label set.
func (j *Join) Labels() (labels.Labels, error) {
	at := j.places[0]
	return j.u.inputs[at.Input].s.Materializer().Labels(at.Series)
}

// rowReader reads the rows of a segment in order, a batch at a time within a
// Guard.
type rowReader struct {
	in      *unionInput
	input   int
	series  uint32 // the reader is at
	end     uint32 // of the batch
	rows    Row
	ends    []int
	columns []packed // of the row group
	begin   uint32   // of the row group
	after   uint32   // the row group
}

const rowBatch = 64

// load reads the batch from end on.
func (r *rowReader) load() (more bool, err error) {
	s := r.in.s
	if r.end == s.n {
		return false, nil
	}
	r.series, r.rows, r.ends = r.end, r.rows[:0], r.ends[:0]
	return true, s.Guard(func() error {
		for len(r.ends) < rowBatch && r.end < s.n {
			if r.end == r.after {
				r.openGroup(r.end)
			}
			r.rows = r.in.row(r.rows, r.columns, r.end-r.begin)
			r.ends = append(r.ends, len(r.rows))
			r.end++
		}
		return nil
	})
}

func (r *rowReader) openGroup(series uint32) {
	s := r.in.s
	g := s.groupOf(series)
	begin, first := s.rowGroup(g)
	after, last := s.rowGroup(g + 1)
	r.begin, r.after, r.columns = begin, after, r.columns[:0]
	for i := first; i < last; i++ {
		r.columns = append(r.columns, s.column(i))
	}
}

func (r *rowReader) next() (more bool, err error) {
	if r.series+1 == r.end {
		return r.load()
	}
	r.series++
	return true, nil
}

func (r *rowReader) row() Row {
	i := len(r.ends) - int(r.end-r.series)
	begin := 0
	if i > 0 {
		begin = r.ends[i-1]
	}
	return r.rows[begin:r.ends[i]]
}
