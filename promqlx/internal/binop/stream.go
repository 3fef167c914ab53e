package binop

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// stream is a Join that has the rows of one side as a whole and takes those of
// the other as they come. Its results are those of Run but for rows with equal
// labels, which have no step in common and are not joined. Whether there is an
// error is known at the end: it is the one of the earliest step.
type stream struct {
	*Join
	one      []*row.Row
	swapped  bool      // the "one" side is the left one
	fillMany []float64 // the value for a missing "many" side, by step
	fillOne  []float64
	signs    *signer
	labeler  *labeler
	elems    elems
	sigs     []int32    // match groups of the rows in one
	first    []int32    // by match group: its first row in one,
	next     []int32    // and by row the next one of the same group; or -1
	present  []row.Bits // by row in one: steps with samples
	there    []row.Bits // of a set operator: by match group, of the side that masks

	matched  []row.Bits       // by match group: steps that have a result
	results  map[uint64]int32 // by hash of their labels, if results may be equal
	produced []produced
	steps    []uint64 // two sets for each of produced
	again    bool     // several rows came from one group or have labels of one hash
	free     []uint64 // memory for sets
	sets     int      // how many it was for
	held     int64    // bytes of sets
	meetings []meeting
	alone    row.Bits // of the row being added: steps that nothing matches
	scratch  *row.Row
	fresh    bool // results must not be used again

	verdict
}

// produced is what a match group gave for the labels of one hash. Its sets of
// steps, of those that matched and of those that were kept, lie in stream.steps.
type produced struct {
	sig  int32
	next int32 // another one of the same hash, or -1
}

// meeting is a row of the "one" side (-1: the value that is filled in) and the
// steps at which the row being added meets it.
type meeting struct {
	one int32
	at  row.Bits
}

// stream begins a join with some many rows. The rows of one are its own from now on.
func (j *Join) stream(one []*row.Row, many int) *stream {
	s := &stream{
		Join: j, one: one, swapped: j.oneLeft(), signs: newSigner(j.Matching), labeler: j.newLabeler(),
		elems: elems{op: j.Op, pos: j.Pos}, verdict: newVerdict(j.Env.Grid.N),
	}
	s.sigs = s.signs.all(one, false)
	if j.Op.IsSetOperator() {
		if j.Op != parser.LOR {
			s.there = presence(one, s.sigs, s.signs)
		}
		return s
	}
	fills := j.Matching.FillValues
	s.fillMany, s.fillOne = j.filled(fills.LHS), j.filled(fills.RHS)
	if s.swapped {
		s.fillMany, s.fillOne = s.fillOne, s.fillMany
	}
	s.first = slices.Repeat([]int32{-1}, s.signs.seen.Len())
	s.next, s.present = make([]int32, len(one)), make([]row.Bits, len(one))
	for i := len(one) - 1; i >= 0; i-- {
		s.present[i] = presentAt(one[i])
		g := s.sigs[i]
		s.next[i], s.first[g] = s.first[g], int32(i)
	}
	s.findDuplicates()
	s.alone = row.NewBits(j.Env.Grid.N)
	if s.resultsMayBeEqual() {
		s.results = make(map[uint64]int32, many)
		s.produced = make([]produced, 0, many)
		s.steps = make([]uint64, 0, 2*many*len(s.manyThere))
	}
	return s
}

// filled returns a row's worth of the value.
func (j *Join) filled(f *float64) []float64 {
	if f == nil {
		return nil
	}
	return slices.Repeat([]float64{*f}, j.Env.Grid.N)
}

// resultsMayBeEqual tells whether different match groups can give equal labels,
// or one can without that being an error by itself. In one-to-one matching they
// have all labels of their group, unless these are names and get lost.
func (s *stream) resultsMayBeEqual() bool {
	if s.Matching.Card != parser.CardOneToOne {
		return true
	}
	return s.Matching.On && slices.ContainsFunc(s.Matching.MatchingLabels, schema.IsMetadataLabel)
}

// findDuplicates finds the steps at which a match group has two samples on the
// "one" side.
func (s *stream) findDuplicates() {
	all := row.NewBits(s.Env.Grid.N)
	for _, first := range s.first {
		if first < 0 || s.next[first] < 0 {
			continue
		}
		all.Clear()
		for i := first; i >= 0; i = s.next[i] {
			s.duplicates.meet(all, s.present[i])
		}
	}
}

// Add combines r, which is not empty, with what matches it. r may be changed and
// is not kept. Rows given to emit, none or several, are valid during the call
// only; one may be r.
func (s *stream) Add(r *row.Row, emit func(*row.Row) error) error {
	if s.Op.IsSetOperator() {
		return s.addSet(r, emit)
	}
	there := presentAt(r)
	for w, x := range there {
		s.manyThere[w] |= x
	}
	if !s.undecided(there) {
		return nil
	}
	g := s.signs.of(r.Labels, s.fillOne == nil)
	if g < 0 {
		return nil
	}
	s.meet(g, there)
	odd := hasHistogram(r) || trims(s.Op)
	for i, m := range s.meetings {
		if err := s.Env.Alive(i); err != nil {
			return err
		}
		var one *row.Row
		ls := labels.EmptyLabels()
		if m.one >= 0 {
			one = s.one[m.one]
			ls = one.Labels
			odd = odd || hasHistogram(one)
		} else {
			ls = matchLabels(r.Labels, s.Matching)
		}
		into := r
		if odd || i < len(s.meetings)-1 {
			var err error
			if into, err = s.space(); err != nil {
				return err
			}
		}
		ls = s.labeler.of(r.Labels, ls)
		if err := s.combine(g, into, r, one, ls, m.at, odd, emit); err != nil {
			return err
		}
	}
	return nil
}

// meet finds what a row of group g that has samples at there meets.
func (s *stream) meet(g int32, there row.Bits) {
	s.meetings = s.meetings[:0]
	copy(s.alone, there)
	first := int32(-1)
	if int(g) < len(s.first) {
		first = s.first[g]
	}
	for k := first; k >= 0; k = s.next[k] {
		at := s.meeting(k)
		any := uint64(0)
		for w, x := range s.present[k] {
			at[w] = there[w] & x
			any |= at[w]
			s.alone[w] &^= x
		}
		if any == 0 {
			s.meetings = s.meetings[:len(s.meetings)-1]
		}
	}
	if s.fillOne != nil && s.alone.Any() {
		copy(s.meeting(-1), s.alone)
	}
}

// meeting adds one, and returns its steps to be filled in.
func (s *stream) meeting(one int32) row.Bits {
	if n := len(s.meetings); n < cap(s.meetings) {
		s.meetings = s.meetings[:n+1]
		s.meetings[n].one = one
	} else {
		s.meetings = append(s.meetings, meeting{one, row.NewBits(s.Env.Grid.N)})
	}
	m := &s.meetings[len(s.meetings)-1]
	if m.at == nil {
		m.at = row.NewBits(s.Env.Grid.N)
	}
	return m.at
}

// set returns a set of steps with memory of its own.
func (s *stream) set() row.Bits {
	words := len(s.manyThere)
	if len(s.free) < words {
		s.sets = min(2*s.sets+1, max(1, 4096/words))
		s.free = make([]uint64, words*s.sets)
		s.held += int64(8 * len(s.free))
	}
	out := s.free[:words:words]
	s.free = s.free[words:]
	return out
}

// Bytes returns the memory held besides the rows of the "one" side, for the
// query's budget. It costs little.
func (s *stream) Bytes() int64 {
	n := s.signs.seen.Bytes() + s.held
	n += int64(4*(cap(s.sigs)+cap(s.first)+cap(s.next)) + 24*(cap(s.present)+cap(s.there)+cap(s.matched)))
	n += int64(8*(cap(s.produced)+cap(s.steps)) + 32*len(s.results))
	if s.scratch != nil {
		n += 8 * int64(s.scratch.Steps())
	}
	return n
}

// space returns an empty row.
func (s *stream) space() (*row.Row, error) {
	switch {
	case s.fresh: // several rows of one side may meet several of the other
		if err := s.Env.Hold(rowBytes + 8*uint64(s.Env.Grid.N)); err != nil {
			return nil, err
		}
		return row.New(s.Env.Grid.N), nil
	case s.scratch == nil:
		s.scratch = row.New(s.Env.Grid.N)
	default:
		s.scratch.Reset()
	}
	return s.scratch, nil
}

// rowBytes is about what a row takes beside its values, and its labels.
const rowBytes = 300

// End combines what nothing matched with the value that is filled in, and tells
// the join's error. Annotations are added if there is none.
func (s *stream) End(emit func(*row.Row) error) error {
	if s.Op.IsSetOperator() {
		return s.endSet(emit)
	}
	s.decideDuplicates()
	if s.fillMany != nil {
		for k := range s.one {
			if err := s.Env.Alive(k); err != nil {
				return err
			}
			if err := s.unmatched(int32(k), emit); err != nil {
				return err
			}
		}
	}
	return s.decide()
}

// unmatched combines row k of the "one" side at the steps that nothing matched.
func (s *stream) unmatched(k int32, emit func(*row.Row) error) error {
	r, g := s.one[k], s.sigs[k]
	at := s.alone
	copy(at, s.present[k])
	if int(g) < len(s.matched) && s.matched[g] != nil {
		for w, x := range s.matched[g] {
			at[w] &^= x
		}
	}
	if !at.Any() {
		return nil
	}
	into, odd := r, hasHistogram(r) || trims(s.Op)
	if odd {
		var err error
		if into, err = s.space(); err != nil {
			return err
		}
	}
	ls := s.labeler.of(matchLabels(r.Labels, s.Matching), r.Labels)
	return s.combine(g, into, nil, r, ls, at, odd, emit)
}
