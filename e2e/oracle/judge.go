package oracle

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
)

// Verdict says how our answer compares.
type Verdict int

const (
	// Equal is an answer that is the oracle's, Empty one without series that is,
	// and EqualError an error that is.
	Equal Verdict = iota
	Empty
	EqualError
	// Unstable is a query on which the oracle contradicts itself; our answer is
	// one of its own, or equals its answers for single times.
	Unstable
	// Flickering is an unstable query on which our engine contradicts itself too.
	Flickering
	// Drifting is an unstable query on which our answer differs from the
	// oracle's stable answer for a single time.
	Drifting
	// Skipped is a query that the oracle did not answer in time.
	Skipped
	// Different is an answer that is not the oracle's.
	Different
	verdicts
)

var verdictNames = [verdicts]string{"equal", "both empty", "errors equal", "unstable", "unstable, ours too", "unstable, differs from the answer for one time", "too slow for the oracle", "different"}

func (v Verdict) String() string { return verdictNames[v] }

// retries is how often the oracle is asked again upon a difference; fewRetries,
// after manyDifferent of them, when the report is long anyway.
const (
	retries       = 50
	fewRetries    = 5
	manyDifferent = 200
)

// Judge asks oracles and engines about the same data.
type Judge struct {
	Oracle, Ours Engines
	Stores       map[string]storage.Queryable

	// Met, if not nil, is called with each question answered alike by both, if
	// there are series in the answer. It may be called by many goroutines.
	Met func(Question, Answer)

	different atomic.Int64
}

// Ask compares the two answers to a question. The difference is not nil for
// Drifting and Different.
func (j *Judge) Ask(ctx context.Context, q Question) (Verdict, *Difference) {
	from := j.Stores[q.State]
	want := j.Oracle.Ask(ctx, from, q)
	if is[promql.ErrQueryTimeout](want.Err) {
		return Skipped, nil
	}
	got := j.Ours.Ask(ctx, from, q)
	d := Diff(want, got)
	switch {
	case d == nil && want.Err != nil:
		return EqualError, nil
	case d == nil && isEmpty(want):
		return Empty, nil
	case d == nil:
		if j.Met != nil {
			j.Met(q, want)
		}
		return Equal, nil
	case j.oracleIsStable(ctx, q, want, got):
		j.different.Add(1)
		return Different, d
	}
	for range 3 {
		if Diff(got, j.Ours.Ask(ctx, from, q)) != nil {
			return Flickering, nil
		}
	}
	if d := j.drift(ctx, q, got); d != nil {
		return Drifting, d
	}
	return Unstable, nil
}

func isEmpty(a Answer) bool {
	switch v := a.Value.(type) {
	case promql.Matrix:
		return len(v) == 0
	case promql.Vector:
		return len(v) == 0
	}
	return false
}

// oracleIsStable asks again until the oracle contradicts itself or gives our answer.
func (j *Judge) oracleIsStable(ctx context.Context, q Question, want, got Answer) bool {
	n := retries
	if j.different.Load() > manyDifferent {
		n = fewRetries
	}
	for range n {
		again := j.Oracle.Ask(ctx, j.Stores[q.State], q)
		if (want.Err != nil) != (got.Err != nil) && (want.Err != nil) == (again.Err != nil) {
			continue // whatever it says, it is an error and ours is none, or the reverse
		}
		if Diff(again, got) == nil || Diff(again, want) != nil {
			return false
		}
	}
	return true
}

// ofGrid are the words whose meaning depends on the grid of the query.
var ofGrid = regexp.MustCompile(`(?i)\b(start|end|range|step)\s*\(\s*\)`)

// drift compares our answer to an unstable query with the oracle's answers for
// single times, as sets; of many times it takes a dozen.
func (j *Judge) drift(ctx context.Context, q Question, got Answer) *Difference {
	m, ok := got.Value.(promql.Matrix)
	if q.Step == 0 || !ok {
		return j.differsAsSet(ctx, q, got)
	}
	if ofGrid.MatchString(q.Text) || sortsBelow(q) {
		return nil
	}
	n := (q.End-q.Start)/q.Step + 1
	stride := max(1, n/12)
	for i := int64(0); i < n; i += stride {
		t := q.Start + i*q.Step
		if d := j.differsAsSet(ctx, q.At(t), Answer{Value: column(m, t)}); d != nil {
			return d
		}
	}
	return nil
}

// sortsBelow tells whether an aggregation stands above what sorts, or goes group
// by group, in queries for one time only: it meets its series in another order there.
func sortsBelow(q Question) bool {
	e, err := parser.NewParser(parserOptionsOf(q.Features)).ParseExpr(q.Text)
	found := false
	if err == nil {
		parser.Inspect(e, func(n parser.Node, path []parser.Node) error {
			sorts := false
			switch n := n.(type) {
			case *parser.AggregateExpr:
				// Groups are numbered as their series come up, over all of a range.
				sorts = n.Op == parser.TOPK || n.Op == parser.BOTTOMK || n.Op == parser.LIMITK || n.Op == parser.LIMIT_RATIO ||
					n.Without || len(n.Grouping) > 0
			case *parser.Call:
				sorts = strings.HasPrefix(n.Func.Name, "sort")
			}
			above := slices.ContainsFunc(path, func(n parser.Node) bool { _, ok := n.(*parser.AggregateExpr); return ok })
			found = found || sorts && above
			return nil
		})
	}
	return found
}

// differsAsSet compares an answer with the oracle's to an instant query, where
// that one is stable; order and annotations aside.
func (j *Judge) differsAsSet(ctx context.Context, q Question, got Answer) *Difference {
	from := j.Stores[q.State]
	want := sorted(j.Oracle.Ask(ctx, from, q))
	if want.Err != nil {
		return nil
	}
	if s, ok := want.Value.(promql.Scalar); ok {
		want.Value = promql.Vector{{T: s.T, F: s.V}}
	}
	d := diffValues(want.Value, sorted(got).Value)
	for range 20 {
		if d == nil {
			return nil
		}
		again := sorted(j.Oracle.Ask(ctx, from, q))
		if s, ok := again.Value.(promql.Scalar); ok {
			again.Value = promql.Vector{{T: s.T, F: s.V}}
		}
		if diffValues(again.Value, want.Value) != nil {
			return nil
		}
	}
	return d
}

// column is what a matrix says of one time.
func column(m promql.Matrix, t int64) promql.Vector {
	out := promql.Vector{}
	for _, s := range m {
		for _, p := range s.Floats {
			if p.T == t {
				out = append(out, promql.Sample{Metric: s.Metric, T: t, F: p.F})
			}
		}
		for _, p := range s.Histograms {
			if p.T == t {
				out = append(out, promql.Sample{Metric: s.Metric, T: t, H: p.H})
			}
		}
	}
	return out
}

// samplesOf lists what the selectors of a question may read, for a report.
func samplesOf(data []Series, matchers []*labels.Matcher, mint, maxt int64) string {
	var out strings.Builder
	for _, s := range data {
		if !matchAll(s.Labels, matchers) {
			continue
		}
		out.WriteString("    " + s.Labels.String() + "\n")
		for _, x := range s.Samples {
			if x.T >= mint && x.T <= maxt {
				out.WriteString("      " + x.String() + "\n")
			}
		}
	}
	return out.String()
}

func matchAll(ls labels.Labels, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(ls.Get(m.Name)) {
			return false
		}
	}
	return true
}
