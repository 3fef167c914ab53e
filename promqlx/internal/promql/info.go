package promql

import (
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/varvedb/varve/promqlx/internal/plan"
)

// reference is when, relative to a step, a selector looks at its samples.
type reference struct {
	at     *int64 // milliseconds
	offset time.Duration
}

func (r reference) equal(o reference) bool {
	if r.at == nil || o.at == nil {
		return r.at == nil && o.at == nil && r.offset.Milliseconds() == o.offset.Milliseconds()
	}
	return *r.at-r.offset.Milliseconds() == *o.at-o.offset.Milliseconds()
}

// infoReference returns the reference of the first selector in the vector that
// info joins to, and whether all its selectors have the same
// (infoSelectTimestampAndOffset of Prometheus' promql/info.go).
func (f *front) infoReference(e parser.Expr, raw bool) (ref reference, uniform bool) {
	s := infoSearch{f: f, raw: raw, uniform: true}
	s.inspect(bare(e), nil)
	return s.first, s.found && s.uniform && !s.free
}

type infoSearch struct {
	f       *front
	raw     bool
	first   reference
	found   bool
	uniform bool
	free    bool // a vector comes without a selector
}

// inspect looks at e, below the subqueries given, and tells whether it has a
// selector.
func (s *infoSearch) inspect(e parser.Expr, subqueries []*parser.SubqueryExpr) bool {
	if t := e.Type(); t != parser.ValueTypeVector && t != parser.ValueTypeMatrix {
		return false
	}
	switch n := e.(type) {
	case *parser.VectorSelector:
		s.see(n, subqueries)
		return true
	case *parser.SubqueryExpr:
		subqueries = append(subqueries[:len(subqueries):len(subqueries)], n)
	case *parser.Call:
		if n.Func.Name == "info" {
			return s.inspect(bare(n.Args[0]), subqueries)
		}
	}
	any := false
	for child := range parser.ChildrenIter(e) {
		if c, ok := child.(parser.Expr); ok && s.inspect(c, subqueries) {
			any = true
		}
	}
	s.free = s.free || !any
	return any
}

func (s *infoSearch) see(n *parser.VectorSelector, subqueries []*parser.SubqueryExpr) {
	ref := reference{s.f.at(n.Timestamp, n.StartOrEnd, s.raw), s.f.timesOf(n).offset}
	for i := len(subqueries) - 1; ref.at == nil && i >= 0; i-- {
		sq := subqueries[i]
		ref.offset += s.f.timesOf(sq).offset
		ref.at = s.f.at(sq.Timestamp, sq.StartOrEnd, s.raw)
	}
	if !s.found {
		s.first, s.found = ref, true
		return
	}
	s.uniform = s.uniform && s.first.equal(ref)
}

// info builds the call of info (evalInfo of Prometheus' promql/info.go).
func (f *front) info(n *parser.Call, raw bool) (plan.Node, error) {
	child, err := f.build(f.arg(n.Args[0], raw), raw)
	if err != nil {
		return nil, err
	}
	node := &plan.Info{Pos: pos(n), Child: child}
	if ref, uniform := f.infoReference(n.Args[0], raw); uniform {
		node.At, node.Offset = ref.at, ref.offset.Milliseconds()
	}
	if len(n.Args) > 1 {
		for _, m := range bare(n.Args[1]).(*parser.VectorSelector).LabelMatchers {
			if m.Name == labels.MetricName {
				node.Names = append(node.Names, m)
			} else {
				node.Data = append(node.Data, m)
			}
		}
	}
	node.Names, err = infoNames(node.Names)
	return node, err
}

// infoNames returns the matchers of the names of info metrics: target_info if
// there are none, and whatever ends in _info if they only say what not to take
// (effectiveInfoNameMatchers of Prometheus' promql/info.go).
func infoNames(ms []*labels.Matcher) ([]*labels.Matcher, error) {
	if len(ms) == 0 {
		m, err := labels.NewMatcher(labels.MatchEqual, labels.MetricName, "target_info")
		return []*labels.Matcher{m}, err
	}
	for _, m := range ms {
		if m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp {
			return ms, nil
		}
	}
	m, err := labels.NewMatcher(labels.MatchRegexp, labels.MetricName, ".+_info")
	return append([]*labels.Matcher{m}, ms...), err
}
