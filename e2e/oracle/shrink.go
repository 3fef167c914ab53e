package oracle

import (
	"context"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// shrinkBudget bounds the questions asked to shrink one difference.
const shrinkBudget = 120

// shrinker looks for a smaller question that still shows a difference.
type shrinker struct {
	judge  *Judge
	parser parser.Parser
	left   int
}

// Shrink returns the smallest question it finds that differs, with its difference,
// and the states in which it does.
func (j *Judge) Shrink(ctx context.Context, q Question, d *Difference) (Question, *Difference, []string) {
	s := &shrinker{judge: j, parser: parser.NewParser(parserOptionsOf(q.Features)), left: shrinkBudget}
	q, d = s.grid(ctx, q, d)
	for s.left > 0 {
		smaller, d2 := s.text(ctx, q)
		if d2 == nil {
			break
		}
		q, d = smaller, d2
	}
	q, d = s.grid(ctx, q, d)
	var states []string
	for name := range j.Stores {
		other := q
		other.State = name
		if v, _ := j.Ask(ctx, other); v == Different {
			states = append(states, name)
		}
	}
	slices.Sort(states)
	return q, d, states
}

func parserOptionsOf(features string) parser.Options {
	for _, set := range FeatureSets() {
		if set.Name == features {
			return ParserOptions(set.Names)
		}
	}
	return parser.Options{}
}

// differs asks, while the budget lasts.
func (s *shrinker) differs(ctx context.Context, q Question) *Difference {
	if s.left--; s.left < 0 {
		return nil
	}
	if v, d := s.judge.Ask(ctx, q); v == Different {
		return d
	}
	return nil
}

// grid tries one time instead of many, then fewer of them.
func (s *shrinker) grid(ctx context.Context, q Question, d *Difference) (Question, *Difference) {
	if q.Step == 0 {
		return q, d
	}
	times := []int64{q.Start}
	if d.T != 0 {
		times = []int64{d.T, q.Start}
	}
	for _, t := range times {
		if d := s.differs(ctx, q.At(t)); d != nil {
			return q.At(t), d
		}
	}
	q.End = q.Start + (q.End-q.Start)/q.Step*q.Step
	for q.End > q.Start {
		half := (q.End - q.Start) / q.Step / 2 * q.Step
		first, second := q, q
		first.End, second.Start = q.Start+half, q.Start+half
		if half == 0 {
			second.Start = q.End
		}
		if d1 := s.differs(ctx, first); d1 != nil && first != q {
			q, d = first, d1
		} else if d2 := s.differs(ctx, second); d2 != nil && second != q {
			q, d = second, d2
		} else {
			break
		}
	}
	return q, d
}

// text tries smaller expressions, the smallest first.
func (s *shrinker) text(ctx context.Context, q Question) (Question, *Difference) {
	for _, text := range s.candidates(q.Text) {
		smaller := q
		smaller.Text = text
		if q.Step != 0 && s.typeOf(text) == parser.ValueTypeMatrix {
			smaller = smaller.At(q.End)
		}
		if d := s.differs(ctx, smaller); d != nil {
			return smaller, d
		}
	}
	return q, nil
}

func (s *shrinker) typeOf(text string) parser.ValueType {
	e, err := s.parser.ParseExpr(text)
	if err != nil {
		return parser.ValueTypeNone
	}
	return e.Type()
}

// candidates are texts shorter than the given one: its sub-expressions, and
// itself with one node put in the place of its parent or made plainer.
func (s *shrinker) candidates(text string) []string {
	var out []string
	add := func(t string) {
		if len(t) < len(text) && !slices.Contains(out, t) && s.typeOf(t) != parser.ValueTypeNone && s.typeOf(t) != parser.ValueTypeString {
			out = append(out, t)
		}
	}
	root, err := s.parser.ParseExpr(text)
	if err != nil {
		return shorterTexts(text)
	}
	for _, e := range expressions(root) {
		add(e.String())
	}
	for i := range expressions(root) {
		for variant := 0; ; variant++ {
			fresh, err := s.parser.ParseExpr(text)
			if err != nil {
				break
			}
			if !simplify(fresh, i, variant) {
				break
			}
			add(fresh.String())
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return len(a) - len(b) })
	return out
}

// shorterTexts are for what does not parse.
func shorterTexts(text string) []string {
	if i := strings.IndexByte(text, ' '); i > 0 {
		return []string{text[i+1:], text[:strings.LastIndexByte(text, ' ')]}
	}
	return nil
}

// expressions lists a tree in the order of Inspect.
func expressions(root parser.Expr) []parser.Expr {
	var out []parser.Expr
	parser.Inspect(root, func(n parser.Node, _ []parser.Node) error {
		if e, ok := n.(parser.Expr); ok && e != nil {
			out = append(out, e)
		}
		return nil
	})
	return out
}

// simplify changes node i of a tree in one way of several; false if there is no
// such way.
func simplify(root parser.Expr, i, variant int) bool {
	switch e := expressions(root)[i].(type) {
	case *parser.VectorSelector:
		return plainer(variant, func() { e.OriginalOffset, e.OriginalOffsetExpr = 0, nil }, func() { e.Timestamp, e.StartOrEnd = nil, 0 },
			func() { e.Anchored, e.Smoothed = false, false })
	case *parser.SubqueryExpr:
		return plainer(variant, func() { e.OriginalOffset, e.OriginalOffsetExpr = 0, nil }, func() { e.Timestamp, e.StartOrEnd = nil, 0 },
			func() { e.Step, e.StepExpr = 0, nil }, func() { e.Expr = firstChild(e.Expr, parser.ValueTypeVector) })
	case *parser.AggregateExpr:
		return plainer(variant, func() { e.Grouping, e.Without = nil, false }, func() { e.Expr = firstChild(e.Expr, parser.ValueTypeVector) })
	case *parser.ParenExpr:
		return plainer(variant, func() { e.Expr = firstChild(e.Expr, e.Expr.Type()) })
	case *parser.UnaryExpr:
		return plainer(variant, func() { e.Expr = firstChild(e.Expr, e.Expr.Type()) })
	case *parser.BinaryExpr:
		return plainer(variant, func() { e.LHS = firstChild(e.LHS, e.LHS.Type()) }, func() { e.RHS = firstChild(e.RHS, e.RHS.Type()) },
			func() { e.LHS = lastChild(e.LHS, e.LHS.Type()) }, func() { e.RHS = lastChild(e.RHS, e.RHS.Type()) },
			func() { e.VectorMatching = &parser.VectorMatching{Card: parser.CardOneToOne} }, func() { e.ReturnBool = false })
	case *parser.Call:
		if variant >= 2*len(e.Args) {
			return false
		}
		arg := &e.Args[variant/2]
		if variant%2 == 0 {
			*arg = firstChild(*arg, (*arg).Type())
		} else {
			*arg = lastChild(*arg, (*arg).Type())
		}
		return true
	}
	return false
}

func plainer(variant int, ways ...func()) bool {
	if variant >= len(ways) {
		return false
	}
	ways[variant]()
	return true
}

// firstChild is the first expression below e of a type, or e.
func firstChild(e parser.Expr, t parser.ValueType) parser.Expr {
	for _, c := range expressions(e)[1:] {
		if c.Type() == t {
			return c
		}
	}
	return e
}

// lastChild is the last expression below e of a type, or e.
func lastChild(e parser.Expr, t parser.ValueType) parser.Expr {
	list := expressions(e)
	for i := len(list) - 1; i > 0; i-- {
		if list[i].Type() == t && !isSelectorOfMatrix(list, i) {
			return list[i]
		}
	}
	return e
}

func isSelectorOfMatrix(list []parser.Expr, i int) bool {
	m, ok := list[i-1].(*parser.MatrixSelector)
	return ok && m.VectorSelector == list[i]
}

// Group names what an expression is, outermost.
func Group(p parser.Parser, text string) string {
	e, err := p.ParseExpr(text)
	if err != nil {
		return "text that does not parse"
	}
	for {
		switch x := e.(type) {
		case *parser.ParenExpr:
			e = x.Expr
			continue
		case *parser.Call:
			return x.Func.Name + "()"
		case *parser.AggregateExpr:
			return x.Op.String() + " aggregation"
		case *parser.BinaryExpr:
			if x.LHS.Type() == parser.ValueTypeVector && x.RHS.Type() == parser.ValueTypeVector {
				return "vector " + x.Op.String() + " vector"
			}
			return string(x.LHS.Type()) + " " + x.Op.String() + " " + string(x.RHS.Type())
		case *parser.SubqueryExpr:
			return "subquery"
		case *parser.MatrixSelector:
			return "range selector"
		case *parser.VectorSelector:
			return "instant selector"
		case *parser.UnaryExpr:
			return "unary " + x.Op.String()
		}
		return "literal"
	}
}
