package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// Coverage counts what the queries with equal answers, series in them, were made of.
type Coverage map[string]int

// add counts the parts of an expression, and what the answer had.
func (c Coverage) add(p parser.Parser, text string, a Answer) {
	e, err := p.ParseExpr(text)
	if err != nil {
		return
	}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		for _, part := range parts(n) {
			c[part]++
		}
		return nil
	})
	if len(a.Warnings) > 0 {
		c["an answer with warnings"]++
	}
	if len(a.Infos) > 0 {
		c["an answer with infos"]++
	}
	if m, ok := a.Value.(promql.Matrix); ok && slices.ContainsFunc(m, func(s promql.Series) bool { return len(s.Histograms) > 0 }) {
		c["a matrix with histograms"]++
	}
	if v, ok := a.Value.(promql.Vector); ok && slices.ContainsFunc(v, func(s promql.Sample) bool { return s.H != nil }) {
		c["a vector with histograms"]++
	}
}

// parts names what one node of an expression adds to the language in use.
func parts(n parser.Node) []string {
	switch n := n.(type) {
	case *parser.Call:
		return []string{n.Func.Name + "()"}
	case *parser.AggregateExpr:
		out := []string{n.Op.String()}
		if n.Without {
			out = append(out, "without")
		} else if n.Grouping != nil {
			out = append(out, "by")
		}
		return out
	case *parser.BinaryExpr:
		return binaryParts(n)
	case *parser.UnaryExpr:
		return []string{"unary " + n.Op.String()}
	case *parser.SubqueryExpr:
		return flags("subquery", map[string]bool{
			"subquery offset": n.OriginalOffset != 0 || n.OriginalOffsetExpr != nil, "subquery @": n.Timestamp != nil || n.StartOrEnd != 0,
			"subquery without step": n.Step == 0 && n.StepExpr == nil, "duration expression": n.RangeExpr != nil || n.StepExpr != nil,
		})
	case *parser.MatrixSelector:
		return flags("range selector", map[string]bool{"duration expression": n.RangeExpr != nil})
	case *parser.VectorSelector:
		return flags("selector", map[string]bool{
			"offset": n.OriginalOffset != 0 || n.OriginalOffsetExpr != nil, "@": n.Timestamp != nil, "@ start() or end()": n.StartOrEnd != 0,
			"anchored": n.Anchored, "smoothed": n.Smoothed,
		})
	}
	return nil
}

func binaryParts(n *parser.BinaryExpr) []string {
	out := []string{n.Op.String()}
	if n.ReturnBool {
		out = append(out, "bool")
	}
	m := n.VectorMatching
	if m == nil {
		return out
	}
	return append(out, flags("matching "+m.Card.String(), map[string]bool{
		"on": m.On, "ignoring": !m.On && len(m.MatchingLabels) > 0, "include": len(m.Include) > 0,
		"fill_left": m.FillValues.LHS != nil, "fill_right": m.FillValues.RHS != nil,
	})...)
}

func flags(name string, more map[string]bool) []string {
	out := []string{name}
	for flag, on := range more {
		if on {
			out = append(out, flag)
		}
	}
	return out
}

// language lists all that the random queries have to be made of.
func language() []string {
	out := []string{
		"sum", "avg", "count", "min", "max", "group", "stddev", "stdvar", "topk", "bottomk", "quantile", "count_values", "limitk", "limit_ratio",
		"+", "-", "*", "/", "%", "^", "atan2", "==", "!=", ">", "<", ">=", "<=", "and", "or", "unless", "unary -", "bool", "by", "without",
		"on", "ignoring", "include", "fill_left", "fill_right", "matching one-to-one", "matching many-to-one", "matching one-to-many", "matching many-to-many",
		"selector", "range selector", "subquery", "subquery offset", "subquery @", "subquery without step", "offset", "@", "@ start() or end()",
		"anchored", "smoothed", "duration expression", "an answer with warnings", "an answer with infos", "a matrix with histograms", "a vector with histograms",
	}
	for name := range parser.Functions {
		if name != "holt_winters" { // promqlsmith adds it
			out = append(out, name+"()")
		}
	}
	slices.Sort(out)
	return out
}

// Missing lists what of the language was not met.
func (c Coverage) Missing() []string {
	var out []string
	for _, part := range language() {
		if c[part] == 0 {
			out = append(out, part)
		}
	}
	return out
}

// Rarest tells the parts met least.
func (c Coverage) Rarest(n int) string {
	all := language()
	slices.SortStableFunc(all, func(a, b string) int { return c[a] - c[b] })
	var out []string
	for _, part := range all[:min(n, len(all))] {
		out = append(out, fmt.Sprintf("%d %s", c[part], part))
	}
	return strings.Join(out, ", ")
}
