package api

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// formatQuery returns an expression laid out for reading.
func (a *API) formatQuery(r *http.Request) result {
	expr, err := a.opts.Engine.ParseExpr(r.Form.Get("query"))
	if err != nil {
		return invalidParam(err, "query")
	}
	return result{data: rawJSON(appendString(nil, expr.Pretty(0)))}
}

// parseQuery returns an expression's syntax tree.
func (a *API) parseQuery(r *http.Request) result {
	expr, err := a.opts.Engine.ParseExpr(r.Form.Get("query"))
	if err != nil {
		return invalidParam(err, "query")
	}
	tree, err := syntaxTree(expr)
	if err != nil {
		return internal(err)
	}
	return answer(tree)
}

// node is one node of the tree, by field.
type node = map[string]any

// treeBuilder turns expressions into nodes; err is the first thing it met that
// has no form here.
type treeBuilder struct{ err error }

// syntaxTree turns an expression into what Prometheus' UI draws.
func syntaxTree(expr parser.Expr) (any, error) {
	var b treeBuilder
	tree := b.expr(expr)
	return tree, b.err
}

func (b *treeBuilder) expr(expr parser.Expr) any {
	switch n := expr.(type) {
	case nil:
		return nil
	case *parser.AggregateExpr:
		return node{"type": "aggregation", "op": n.Op.String(), "expr": b.expr(n.Expr), "param": b.expr(n.Param),
			"grouping": notNil(n.Grouping), "without": n.Without}
	case *parser.BinaryExpr:
		return b.binary(n)
	case *parser.Call:
		return b.call(n)
	case *parser.MatrixSelector:
		return b.matrix(n)
	case *parser.SubqueryExpr:
		return node{"type": "subquery", "expr": b.expr(n.Expr), "range": n.Range.Milliseconds(), "rangeExpr": b.duration(n.RangeExpr),
			"offset": n.OriginalOffset.Milliseconds(), "offsetExpr": b.duration(n.OriginalOffsetExpr),
			"step": n.Step.Milliseconds(), "stepExpr": b.duration(n.StepExpr),
			"timestamp": n.Timestamp, "startOrEnd": startOrEnd(n.StartOrEnd)}
	case *parser.DurationExpr:
		return b.duration(n)
	case *parser.NumberLiteral:
		return node{"type": "numberLiteral", "val": strconv.FormatFloat(n.Val, 'f', -1, 64)}
	case *parser.ParenExpr:
		return node{"type": "parenExpr", "expr": b.expr(n.Expr)}
	case *parser.StringLiteral:
		return node{"type": "stringLiteral", "val": n.Val}
	case *parser.UnaryExpr:
		return node{"type": "unaryExpr", "op": n.Op.String(), "expr": b.expr(n.Expr)}
	case *parser.VectorSelector:
		return b.selector("vectorSelector", n)
	}
	if b.err == nil {
		b.err = fmt.Errorf("draw syntax tree: no form for %T", expr)
	}
	return nil
}

func (b *treeBuilder) binary(n *parser.BinaryExpr) node {
	var matching any
	if m := n.VectorMatching; m != nil {
		matching = node{"card": m.Card.String(), "labels": notNil(m.MatchingLabels), "on": m.On, "include": notNil(m.Include),
			"fillValues": map[string]*float64{"lhs": m.FillValues.LHS, "rhs": m.FillValues.RHS}}
	}
	return node{"type": "binaryExpr", "op": n.Op.String(), "lhs": b.expr(n.LHS), "rhs": b.expr(n.RHS),
		"matching": matching, "bool": n.ReturnBool}
}

func (b *treeBuilder) call(n *parser.Call) node {
	args := []any{}
	for _, arg := range n.Args {
		args = append(args, b.expr(arg))
	}
	return node{"type": "call", "args": args, "func": node{"name": n.Func.Name, "argTypes": n.Func.ArgTypes,
		"variadic": n.Func.Variadic, "returnType": n.Func.ReturnType}}
}

func (b *treeBuilder) matrix(n *parser.MatrixSelector) any {
	vs, ok := n.VectorSelector.(*parser.VectorSelector)
	if !ok {
		return b.expr(n.VectorSelector)
	}
	m := b.selector("matrixSelector", vs)
	m["range"] = n.Range.Milliseconds()
	m["rangeExpr"] = b.duration(n.RangeExpr)
	return m
}

func (b *treeBuilder) selector(typ string, n *parser.VectorSelector) node {
	return node{"type": typ, "name": n.Name, "offset": n.OriginalOffset.Milliseconds(), "offsetExpr": b.duration(n.OriginalOffsetExpr),
		"matchers": matcherNodes(n.LabelMatchers), "timestamp": n.Timestamp, "startOrEnd": startOrEnd(n.StartOrEnd),
		"anchored": n.Anchored, "smoothed": n.Smoothed}
}

// duration draws an expression in the place of a duration; typed nils are none.
func (b *treeBuilder) duration(expr parser.Expr) any {
	switch n := expr.(type) {
	case nil:
		return nil
	case *parser.DurationExpr:
		if n == nil {
			return nil
		}
		return node{"type": "durationExpr", "op": n.Op.String(), "lhs": b.duration(n.LHS), "rhs": b.duration(n.RHS), "wrapped": n.Wrapped}
	case *parser.NumberLiteral:
		if n == nil {
			return nil
		}
		return node{"type": "numberLiteral", "val": strconv.FormatFloat(n.Val, 'f', -1, 64), "duration": n.Duration}
	}
	return b.expr(expr)
}

func matcherNodes(matchers []*labels.Matcher) []node {
	nodes := []node{}
	for _, m := range matchers {
		nodes = append(nodes, node{"name": m.Name, "value": m.Value, "type": m.Type.String()})
	}
	return nodes
}

func startOrEnd(item parser.ItemType) any {
	if item == 0 {
		return nil
	}
	return item.String()
}

func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
