package metricsql

import (
	"slices"
	"strings"

	mql "github.com/VictoriaMetrics/metricsql"
)

// Dashboards ask the same with other values of labels again and again. What such texts
// have in common is parsed once: the text with stand-ins in the place of the values,
// into whose expression the values of each text are put.

// Cut cuts the values of the label filters out of a text. shape, the text with stand-ins
// for them, is the same for all texts that differ in them alone. ok is false for a text
// that has none, or anything but them that its values may make a difference to:
// templates, other strings, quoted characters.
func Cut(text string) (shape string, values []string, ok bool) {
	if len(text) > maxShort || mayExpand(text) {
		return "", nil, false
	}
	spans, ok := valuesOf(text)
	if !ok || len(spans) == 0 || len(spans) > maxValues {
		return "", nil, false
	}
	for _, s := range spans {
		values = append(values, text[s.from:s.to])
	}
	// The parser sorts filters: stand-ins are in the order of what they stand for.
	slices.Sort(values)
	values = slices.Compact(values)
	b := make([]byte, 0, len(text))
	rest := 0
	for _, s := range spans {
		i, _ := slices.BinarySearch(values, text[s.from:s.to])
		b = append(b, text[rest:s.from]...)
		b = append(b, '%', 'a'+byte(i/26), 'a'+byte(i%26), '%') // no name has a percent sign
		rest = s.to
	}
	return string(append(b, text[rest:]...)), values, true
}

// maxValues is for how many values there are stand-ins.
const maxValues = 26 * 26

// span is where a value is in a text, without its quotes.
type span struct{ from, to int }

// valuesOf finds the values of label filters; ok is false if there are other strings, or
// values that are not simply what stands between their quotes, or bad expressions.
func valuesOf(text string) (spans []span, ok bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{':
			depth++
		case '}':
			depth--
		case '#': // a comment
			return nil, false
		case '"', '\'', '`':
			n := strings.IndexByte(text[i+1:], c)
			if n <= 0 || depth <= 0 {
				return nil, false
			}
			from, to := i+1, i+1+n
			regexp, isFilter := filterBefore(text[:i])
			if !isFilter || !endsFilter(text[to+1:]) || !isPlain(text[from:to], regexp) {
				return nil, false
			}
			spans = append(spans, span{from, to})
			i = to
		}
	}
	return spans, true
}

// filterBefore tells whether a text ends with the operator of a filter, but for those of
// a metric's name: what reads like a number or a word of the language the parser takes
// for one when it writes an expression out and reads it again.
func filterBefore(text string) (regexp, ok bool) {
	text = strings.TrimRight(text, spaces)
	if before, ok := strings.CutSuffix(text, "~"); ok {
		return true, strings.HasSuffix(before, "=") || strings.HasSuffix(before, "!")
	}
	label, ok := strings.CutSuffix(text, "=")
	label = strings.TrimRight(strings.TrimSuffix(label, "!"), spaces)
	return false, ok && !strings.HasSuffix(label, "__name__")
}

// endsFilter tells whether a filter may end in front of a text.
func endsFilter(text string) bool {
	text = strings.TrimLeft(text, spaces)
	return text != "" && (text[0] == ',' || text[0] == '}' || text[0]|0x20 == 'o')
}

// isPlain tells whether a value is of printable characters of ASCII without quotes or
// backslashes and, as a regular expression, one that compiles.
func isPlain(value string, regexp bool) bool {
	simple := true
	for i := range len(value) {
		switch c := value[i]; {
		case c < ' ' || c > '~' || c == '\\' || c == '"' || c == '\'' || c == '`':
			return false
		case (c == '*' || c == '+') && i > 0 && value[i-1] == '.':
		case strings.IndexByte("*+?()[]{}^$", c) >= 0:
			simple = false
		}
	}
	if regexp && !simple {
		_, err := mql.CompileRegexpAnchored(value)
		return err == nil
	}
	return true
}

// Fill returns a copy of the expression of a shape, with the values that Cut found in
// the place of their stand-ins. ok is false if it is none that can be copied.
func Fill(e mql.Expr, values []string) (out mql.Expr, ok bool) {
	f := filler{values: values, ok: true}
	out = f.expr(e)
	return out, f.ok
}

type filler struct {
	values []string
	ok     bool
}

func (f *filler) expr(e mql.Expr) mql.Expr {
	switch e := e.(type) {
	case nil:
		return nil
	case *mql.NumberExpr, *mql.StringExpr, *mql.DurationExpr:
		return e
	case *mql.MetricExpr:
		return f.metric(e)
	case *mql.RollupExpr:
		c := *e
		c.Expr, c.At = f.expr(e.Expr), f.expr(e.At)
		return &c
	case *mql.FuncExpr:
		c := *e
		c.Args = f.exprs(e.Args)
		return &c
	case *mql.AggrFuncExpr:
		c := *e
		c.Args = f.exprs(e.Args)
		return &c
	case *mql.BinaryOpExpr:
		c := *e
		c.Left, c.Right = f.expr(e.Left), f.expr(e.Right)
		return &c
	}
	f.ok = false
	return e
}

func (f *filler) exprs(list []mql.Expr) []mql.Expr {
	if list == nil {
		return nil
	}
	out := make([]mql.Expr, len(list))
	for i, e := range list {
		out[i] = f.expr(e)
	}
	return out
}

func (f *filler) metric(e *mql.MetricExpr) *mql.MetricExpr {
	c := *e
	if e.LabelFilterss == nil {
		return &c
	}
	c.LabelFilterss = make([][]mql.LabelFilter, len(e.LabelFilterss))
	for i, set := range e.LabelFilterss {
		own := slices.Clone(set)
		for k := range own {
			v := own[k].Value
			if len(v) != 4 || v[0] != '%' || v[3] != '%' {
				continue
			}
			own[k].Value = f.values[int(v[1]-'a')*26+int(v[2]-'a')]
		}
		c.LabelFilterss[i] = own
	}
	return &c
}
