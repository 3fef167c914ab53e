package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Explain prints a plan: one line a node, children below their parents in the
// order they are evaluated. Equal plans have equal texts.
func Explain(n Node) string {
	var b strings.Builder
	explain(&b, n, 0, map[int]bool{})
	return b.String()
}

// Head returns the line of Explain that is about the node itself.
func Head(n Node) string { return head(n) }

// SelectorText returns the line of Explain that is about a selector.
func SelectorText(s *Selector) string { return selectorText(s) }

func explain(b *strings.Builder, n Node, depth int, seen map[int]bool) {
	fmt.Fprintf(b, "%s%s\n", strings.Repeat("  ", depth), head(n))
	if s, ok := n.(*Shared); ok {
		if seen[s.ID] {
			return
		}
		seen[s.ID] = true
	}
	if r, ok := n.(*Rollup); ok && r.Selector != nil {
		fmt.Fprintf(b, "%s%s\n", strings.Repeat("  ", depth+1), selectorText(r.Selector))
	}
	for _, c := range n.Children() {
		explain(b, c, depth+1, seen)
	}
}

// Key returns a text that is equal for two plans exactly if they say the same
// but for where in a query's text they stand, and but for what is shared with
// other places.
func Key(n Node) string {
	var b strings.Builder
	appendKey(&b, n)
	return b.String()
}

func appendKey(b *strings.Builder, n Node) {
	if s, ok := n.(*Shared); ok {
		appendKey(b, s.Child)
		return
	}
	b.WriteString(head(n))
	b.WriteByte('(')
	if r, ok := n.(*Rollup); ok && r.Selector != nil {
		b.WriteString(selectorText(r.Selector))
	}
	for i, c := range n.Children() {
		if i > 0 {
			b.WriteByte(',')
		}
		appendKey(b, c)
	}
	b.WriteByte(')')
}

// head returns what a node itself says, without its children.
func head(n Node) string {
	switch n := n.(type) {
	case *Number:
		return "number " + strconv.FormatFloat(n.Value, 'g', -1, 64)
	case *Text:
		return "text " + strconv.Quote(n.Value)
	case *Instant:
		return instantHead(n)
	case *Matrix:
		return "matrix " + duration(n.Range) + " " + selectorText(&n.Selector)
	case *Rollup:
		return rollupHead(n)
	case *Subquery:
		return "subquery " + duration(n.Range) + ":" + duration(n.Step) + when(n.Offset, n.At)
	case *Call:
		s := "call " + n.Func
		if !n.Absent.IsEmpty() {
			s += " absent" + n.Absent.String()
		}
		return s + flag(n.Collide, "collide")
	case *Info:
		return "info names" + matchers(n.Names) + " data" + matchers(n.Data) + when(n.Offset, n.At)
	case *Aggregate:
		return aggregateHead(n)
	case *Binary:
		return binaryHead(n)
	case *Minus:
		return "minus" + flag(n.Collide, "collide")
	case *Once:
		return "once"
	case *Shared:
		return fmt.Sprintf("shared #%d", n.ID)
	}
	return fmt.Sprintf("%T", n)
}

func instantHead(n *Instant) string {
	s := "instant "
	if n.Time != "" {
		s = n.Time + " of "
	}
	return s + selectorText(&n.Selector) + flag(n.Drift, "drift") + flag(n.Time != "" && n.Collide, "collide")
}

func rollupHead(n *Rollup) string {
	s := "rollup " + n.Func + " " + duration(n.Range)
	if n.RangeRest != 0 || n.OffsetRest != 0 {
		s += fmt.Sprintf(" rest=%s,%s", n.RangeRest, n.OffsetRest)
	}
	if n.RangeArg != 0 {
		s += fmt.Sprintf(" arg=%d", n.RangeArg)
	}
	if !n.Absent.IsEmpty() {
		s += " absent" + n.Absent.String()
	}
	return s + flag(n.Stats, "stats") + flag(n.Collide, "collide")
}

func aggregateHead(n *Aggregate) string {
	s := "aggregate " + n.Op.String()
	switch {
	case n.Without:
		s += " without " + names(n.Grouping)
	case len(n.Grouping) > 0:
		s += " by " + names(n.Grouping)
	}
	return s + flag(n.Fused, "fused")
}

func binaryHead(n *Binary) string {
	s := "binary " + n.Op.String() + flag(n.Bool, "bool")
	if m := n.Matching; m != nil {
		if m.On {
			s += " on " + names(m.MatchingLabels)
		} else if len(m.MatchingLabels) > 0 {
			s += " ignoring " + names(m.MatchingLabels)
		}
		if m.Card != parser.CardOneToOne {
			s += " " + m.Card.String()
		}
		if len(m.Include) > 0 {
			s += " include " + names(m.Include)
		}
		if v := m.FillValues.LHS; v != nil {
			s += fmt.Sprintf(" fill-left(%v)", *v)
		}
		if v := m.FillValues.RHS; v != nil {
			s += fmt.Sprintf(" fill-right(%v)", *v)
		}
	}
	return s + flag(n.Collide, "collide")
}

func selectorText(s *Selector) string {
	text := matchers(s.Matchers) + when(s.Offset, s.At) +
		flag(s.Anchored, "anchored") + flag(s.Smoothed, "smoothed") + flag(s.StatsOnly, "stats-only")
	if s.Labels != nil {
		text += " labels" + names(s.Labels)
	}
	return text
}

func matchers(ms []*labels.Matcher) string {
	parts := make([]string, len(ms))
	for i, m := range ms {
		parts[i] = m.String()
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func when(offset int64, at *int64) string {
	s := ""
	if offset != 0 {
		s += " offset " + duration(offset)
	}
	if at != nil {
		s += " @ " + strconv.FormatFloat(float64(*at)/1000, 'f', 3, 64)
	}
	return s
}

// duration writes milliseconds as PromQL does.
func duration(ms int64) string {
	if ms < 0 {
		return "-" + duration(-ms)
	}
	return model.Duration(time.Duration(ms) * time.Millisecond).String()
}

func names(list []string) string {
	parts := make([]string, len(list))
	for i, name := range list {
		parts[i] = name
		if !model.LegacyValidation.IsValidLabelName(name) {
			parts[i] = strconv.Quote(name)
		}
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func flag(on bool, name string) string {
	if on {
		return " " + name
	}
	return ""
}
