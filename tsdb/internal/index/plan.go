package index

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
)

// Costs in nanoseconds, measured in BenchmarkMatchers; only their ratios matter.
const (
	costTest   = 3  // of a candidate in a column
	costList   = 25 // of one more list in a union
	costPost   = 1  // of an ordinal in a union
	costScan   = 30 // of a value in a scan of a dictionary
	costLookup = 250
	costSet    = 200 // of an operation of two containers
)

// term is a matcher on its way to a set of series.
type term struct {
	m       *labels.Matcher
	l       label // nil if no series has the label
	negated bool
	missing bool // accepts series that lack the label
	pattern pattern
	values  *valueSet // what m without its negation accepts; nil until resolved
}

// plan selects series by matchers, those within a set unless that is nil.
//
// The term that is cheapest to turn into a list gives the candidates; each other
// one is either turned into a list too, that is intersected or subtracted, or
// tests the candidates in its column, whichever is estimated to cost less. A
// regular expression that takes a scan of its dictionary comes last: if few
// candidates are left it is asked about their values alone.
func (v *View) plan(within *bitmap.Set, ms []*labels.Matcher) *bitmap.Set {
	terms, none := v.terms(ms)
	if none {
		return nil
	}
	candidates, terms := v.driver(within, terms)
	slices.SortStableFunc(terms, func(a, b *term) int { return a.rank() - b.rank() })
	for _, t := range terms {
		if candidates.Count() == 0 {
			return nil
		}
		candidates = v.apply(candidates, t)
	}
	return candidates
}

// terms resolves what needs no scan and drops the terms that all series satisfy.
// none says that no series satisfies all.
func (v *View) terms(ms []*labels.Matcher) (out []*term, none bool) {
	store := make([]term, len(ms))
	out = make([]*term, 0, len(ms))
	for pass := range 2 { // equality first: it may show that nothing matches
		for i, m := range ms {
			if simple := m.Type == labels.MatchEqual || m.Type == labels.MatchNotEqual; simple != (pass == 0) {
				continue
			}
			t := &store[i]
			*t = term{m: m, l: v.src.label(m.Name), negated: negative(m), missing: m.Matches("")}
			if t.l == nil {
				if !t.missing {
					return nil, true
				}
				continue
			}
			t.pattern = analyse(m)
			if t.pattern.cheap(t.l) {
				t.values = t.pattern.resolve(t.l, m, 0)
			}
			switch {
			case t.values == nil:
			case t.acceptsNoValue() && !t.missing:
				return nil, true
			case t.acceptsAllValues() && t.missing:
				continue
			}
			out = append(out, t)
		}
	}
	return out, false
}

func (t *term) acceptsNoValue() bool {
	if t.negated {
		return t.values.count == t.l.values()
	}
	return t.values.count == 0
}

func (t *term) acceptsAllValues() bool {
	if t.negated {
		return t.values.count == 0
	}
	return t.values.count == t.l.values()
}

// rank orders the terms that are applied to candidates: lists of a single value,
// then other resolved ones, then scans.
func (t *term) rank() int {
	switch {
	case t.values == nil:
		return 2
	case t.values.count <= 1 || t.acceptsAllValues() || t.acceptsNoValue():
		return 0
	}
	return 1
}

// resolve finds the values of the term, by a scan if it must.
func (v *View) resolve(t *term) {
	if t.values != nil {
		return
	}
	cache := v.caches.Values
	if cache == nil {
		t.values = t.pattern.resolve(t.l, t.m, 0)
		return
	}
	var buf [256]byte
	key := appendText(appendText(sourceKey(buf[:0], v.valuesID), t.m.Name), t.m.Value)
	old, ok := cache.get(key).(*valueSet)
	switch {
	case ok && old.upto >= t.l.values():
		t.values = old
	case ok:
		more := t.pattern.resolve(t.l, t.m, old.upto)
		t.values = newValueSet(more.appendTo(old.appendTo(nil)), more.upto)
		t.values.series = old.series + more.series
		cache.put(key, t.values, t.values.size())
	default:
		t.values = t.pattern.resolve(t.l, t.m, 0)
		cache.put(key, t.values, t.values.size())
	}
}

// known says whether the values are known or in the cache.
func (v *View) known(t *term) bool {
	if t.values != nil {
		return true
	}
	if v.caches.Values == nil {
		return false
	}
	var buf [256]byte
	key := appendText(appendText(sourceKey(buf[:0], v.valuesID), t.m.Name), t.m.Value)
	return v.caches.Values.get(key) != nil
}

// driver returns the first candidates and the terms they do not answer.
func (v *View) driver(within *bitmap.Set, terms []*term) (*bitmap.Set, []*term) {
	best, bestCost := -1, 0
	for pass := range 2 {
		for i, t := range terms {
			if t.missing || (t.values != nil) != (pass == 0) {
				continue
			}
			if pass == 1 {
				if best >= 0 || within != nil {
					break
				}
				v.resolve(t)
			}
			if cost := t.driveCost(); best < 0 || cost < bestCost {
				best, bestCost = i, cost
			}
		}
	}
	if within != nil {
		if best < 0 || bestCost > costTest*within.Count() {
			return within, terms
		}
	}
	if best < 0 {
		return v.src.all(), terms
	}
	t := terms[best]
	set := t.set()
	if within != nil {
		set = bitmap.And(set, within)
	}
	return set, slices.Delete(terms, best, best+1)
}

// driveCost estimates making a list of the term and going on with it.
func (t *term) driveCost() int {
	if t.acceptsAllValues() {
		return costTest * t.l.present().Count()
	}
	if t.negated {
		return t.unionCost() + costTest*max(0, t.l.present().Count()-t.values.series)
	}
	return t.unionCost() + costTest*t.values.series
}

// unionCost estimates making a list of the series with one of the values.
func (t *term) unionCost() int {
	if t.values.count <= 1 || t.values.count == t.l.values() {
		return 0
	}
	return costList*int(t.values.count) + costPost*t.values.series
}

// union returns the series with one of the values.
func (t *term) union() *bitmap.Set {
	switch t.values.count {
	case 0:
		return nil
	case 1:
		return t.l.postings(t.values.lo)
	case t.l.values():
		return t.l.present()
	}
	var a bitmap.Accumulator
	t.l.union(t.values, &a)
	return a.Set()
}

// set returns the series that satisfy a resolved term that does not accept
// missing labels.
func (t *term) set() *bitmap.Set {
	if !t.negated {
		return t.union()
	}
	return bitmap.AndNot(t.l.present(), t.union())
}

// apply returns the candidates that satisfy a term.
func (v *View) apply(candidates *bitmap.Set, t *term) *bitmap.Set {
	n := candidates.Count()
	if !v.known(t) && n*costLookup < int(t.l.values())*costScan {
		return t.askEach(candidates)
	}
	v.resolve(t)
	test := costTest * n
	sets := t.unionCost() + costSet*candidates.Containers()
	if test < sets && t.values.count > 0 && !t.acceptsAllValues() {
		return t.test(candidates)
	}
	switch {
	case !t.negated && !t.missing:
		return bitmap.And(candidates, t.union())
	case t.negated && t.missing:
		return bitmap.AndNot(candidates, t.union())
	case t.negated: // those with the label, without these values
		return bitmap.AndNot(v.having(candidates, t), t.union())
	}
	if t.values.count == 0 { // those that lack the label
		return bitmap.AndNot(candidates, t.l.present())
	}
	return bitmap.AndNot(candidates, bitmap.AndNot(t.l.present(), t.union()))
}

// having returns the candidates that have the label.
func (v *View) having(candidates *bitmap.Set, t *term) *bitmap.Set {
	present := t.l.present()
	if present.Count() == int(v.src.length()) {
		return candidates
	}
	return bitmap.And(candidates, present)
}

// test asks the column about each candidate.
func (t *term) test(candidates *bitmap.Set) *bitmap.Set {
	ordinals := make([]uint32, min(bitmap.MaxBatch, candidates.Count()))
	return candidates.Filter(func(ids []uint32) int {
		t.l.fill(ordinals[:len(ids)], ids)
		return t.values.keep(ids, ordinals[:len(ids)], t.negated, t.missing)
	})
}

// askEach asks the matcher about the value of each candidate, once per distinct
// value.
func (t *term) askEach(candidates *bitmap.Set) *bitmap.Set {
	asked := make(map[uint32]bool)
	accepts := t.pattern.accepts(t.m)
	ordinals := make([]uint32, min(bitmap.MaxBatch, candidates.Count()))
	return candidates.Filter(func(ids []uint32) int {
		t.l.fill(ordinals[:len(ids)], ids)
		n := 0
		for i, id := range ids {
			o := ordinals[i]
			ok := t.missing
			if o != 0 {
				answer, known := asked[o]
				if !known {
					answer = accepts(t.l.value(o)) != t.negated
					asked[o] = answer
				}
				ok = answer
			}
			if ids[n] = id; ok {
				n++
			}
		}
		return n
	})
}
