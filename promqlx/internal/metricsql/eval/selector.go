package eval

import (
	"errors"
	"fmt"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb"
)

// Prepared is an expression and the matchers of its selectors. It is shared by the
// evaluations of a text and does not change.
type Prepared struct {
	Expr     mql.Expr
	matchers map[*mql.MetricExpr][][]*labels.Matcher
}

// Prepare makes the matchers of an expression's selectors. What is wrong with one is
// told when it is evaluated.
func Prepare(e mql.Expr) *Prepared {
	p := &Prepared{Expr: e, matchers: map[*mql.MetricExpr][][]*labels.Matcher{}}
	mql.VisitAll(e, func(e mql.Expr) {
		if m, ok := e.(*mql.MetricExpr); ok {
			if sets, err := Matchers(m); err == nil {
				p.matchers[m] = sets
			}
		}
	})
	return p
}

// selects returns how many sets of matchers the selectors of the expression have.
func (p *Prepared) selects() (n int) {
	for _, sets := range p.matchers {
		n += len(sets)
	}
	return n
}

// matchersOf returns the matchers of a selector, which may have been narrowed since
// the expression was prepared.
func (p *Prepared) matchersOf(m *mql.MetricExpr) ([][]*labels.Matcher, error) {
	if sets, ok := p.matchers[m]; ok {
		return sets, nil
	}
	return Matchers(m)
}

// Matchers makes the matchers of a selector, of which a series has to match all of
// one set.
func Matchers(m *mql.MetricExpr) (sets [][]*labels.Matcher, err error) {
	for _, filters := range m.LabelFilterss {
		var set []*labels.Matcher
		for i := range filters {
			one, err := matcher(&filters[i])
			if err != nil {
				return nil, err
			}
			set = append(set, one)
		}
		sets = append(sets, set)
	}
	return sets, nil
}

func matcher(f *mql.LabelFilter) (*labels.Matcher, error) {
	kind := labels.MatchEqual
	switch {
	case f.IsRegexp && f.IsNegative:
		kind = labels.MatchNotRegexp
	case f.IsRegexp:
		kind = labels.MatchRegexp
	case f.IsNegative:
		kind = labels.MatchNotEqual
	}
	value := f.Value
	if kind == labels.MatchNotRegexp && value == ".*" {
		value = ".+" // what has no such label is left, and not nothing
	}
	m, err := labels.NewMatcher(kind, f.Label, value)
	if err != nil {
		return nil, fmt.Errorf("cannot parse tag filter: %w", err)
	}
	return m, nil
}

// maxSets is how many sets of matchers one selector may come to: each is looked up and
// pinned by itself.
const maxSets = 10_000

// joinSets returns the sets of matchers that match what both match. An error says that
// they are too many.
func joinSets(a, b [][]*labels.Matcher) ([][]*labels.Matcher, error) {
	if len(b) == 0 {
		return a, nil
	}
	if len(a) == 0 {
		return b, nil
	}
	if n := len(a) * len(b); n > maxSets {
		return nil, readablef("too many filters joined by or: %d of the selector by %d of extra filters; the maximum number is %d",
			len(a), len(b), maxSets)
	}
	var out [][]*labels.Matcher
	for _, x := range a {
		for _, y := range b {
			out = append(out, append(append(make([]*labels.Matcher, 0, len(x)+len(y)), x...), y...))
		}
	}
	return out, nil
}

// selection is the series that sets of matchers select, each once.
type selection struct {
	views  []*tsdb.View
	places []place // of the series, if there are several views
}

type place struct{ view, i int32 }

// find finds the series of sets of matchers with samples inside [mint, maxt]. It is
// to be closed.
func (q *query) find(mint, maxt int64, sets [][]*labels.Matcher) (*selection, error) {
	f := &selection{}
	for _, set := range sets {
		v, err := q.store.Select(q.ctx, mint, maxt, set...)
		if err != nil {
			f.Close()
			return nil, err
		}
		f.views = append(f.views, v)
	}
	if len(f.views) > 1 {
		if err := f.merge(q.pause); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

// merge numbers the series of several views, each series once. alive tells why it is to
// end, if it is.
func (f *selection) merge(alive func() error) error {
	seen := map[uint64][]labels.Labels{}
	for k, v := range f.views {
	next:
		for i := range v.Len() {
			if i&1023 == 0 {
				if err := alive(); err != nil {
					return err
				}
			}
			ls := v.Labels(i)
			h := ls.Hash()
			for _, other := range seen[h] {
				if labels.Equal(other, ls) {
					continue next
				}
			}
			seen[h] = append(seen[h], ls)
			f.places = append(f.places, place{int32(k), int32(i)})
		}
	}
	return nil
}

// Len returns the number of series.
func (f *selection) Len() int {
	switch len(f.views) {
	case 0:
		return 0
	case 1:
		return f.views[0].Len()
	}
	return len(f.places)
}

func (f *selection) at(i int) (*tsdb.View, int) {
	if len(f.views) == 1 {
		return f.views[0], i
	}
	p := f.places[i]
	return f.views[p.view], int(p.i)
}

// Labels returns the labels of a series.
func (f *selection) Labels(i int) labels.Labels {
	v, k := f.at(i)
	return v.Labels(k)
}

// Read appends the samples of a series.
func (f *selection) Read(i int, mint, maxt int64, into *tsdb.Samples) error {
	v, k := f.at(i)
	return v.Read(k, mint, maxt, into)
}

// AppendNarrow appends the samples of a series as they are kept decoded, if they are.
func (f *selection) AppendNarrow(i int, mint, maxt int64, dst []tsdb.Narrow) ([]tsdb.Narrow, bool) {
	v, k := f.at(i)
	return v.AppendNarrow(k, mint, maxt, dst)
}

// Err returns the damage that was met, and what views leave out because it is known
// to be damaged: the answer has no place to say so.
func (f *selection) Err() error {
	var errs []error
	for _, v := range f.views {
		errs = append(errs, v.Err(), v.Damage())
	}
	return errors.Join(errs...)
}

// Close lets go of the views.
func (f *selection) Close() {
	for _, v := range f.views {
		v.Close()
	}
}
