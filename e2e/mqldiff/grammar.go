package mqldiff

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// grammar makes expressions over a data set.
type grammar struct {
	*rand.Rand
	data    *dataset
	instant bool
	loose   looseness
	several bool // there is a selector of several names
}

// node is an expression; exact ones have integers and multiples of 0.25 alone.
type node struct {
	text  string
	exact bool
	of    *family // of its selector, if there is one
	plain bool    // a selector or a call, to which a window or modifier may be added
}

// place is where an expression is to stand.
type place struct {
	depth  int
	smooth bool // a value that is a little different makes an answer that is a little different
}

func (p place) below(smooth bool) place { return place{p.depth - 1, p.smooth && smooth} }

func pick[T any](g *grammar, of ...T) T { return of[g.IntN(len(of))] }

func (g *grammar) chance(percent int) bool { return g.IntN(100) < percent }

func (g *grammar) quote(s string) string { return fmt.Sprintf("%q", s) }

// expression makes a set of series.
func (g *grammar) expression(p place) node {
	if p.depth <= 0 {
		if g.chance(50) {
			return g.selector(nil)
		}
		return g.rollup(p)
	}
	switch n := g.IntN(100); {
	case n < 5:
		return g.selector(nil)
	case n < 30:
		return g.rollup(p)
	case n < 44:
		return g.transform(p)
	case n < 51:
		return g.labelFunction(p)
	case n < 56:
		return g.buckets(p)
	case n < 74:
		return g.aggregate(p)
	case n < 90:
		return g.binary(p)
	case n < 93:
		return g.with(p)
	case n < 94:
		return g.union(p)
	case n < 96:
		return g.chain(p)
	case n < 97:
		return g.join(p)
	case n < 98:
		return g.any(p)
	case n < 99:
		return g.moved(p)
	default:
		return g.number(p)
	}
}

// selector chooses series of a family; of kinds, if there are some. Otherwise it may
// choose series of several names. Where these lose their name, some are the same but
// for having values or not, and then VictoriaMetrics stops to sort labels at the
// first it meets again, in the order of internal ids; which shows in the order of
// the answer.
func (g *grammar) selector(kinds []familyKind) node {
	var of []*family
	for i := range g.data.families {
		f := &g.data.families[i]
		if len(kinds) == 0 && f.kind != sparse || slices.Contains(kinds, f.kind) || len(kinds) == 0 && g.chance(20) {
			of = append(of, f)
		}
	}
	f := of[g.IntN(len(of))]
	text := f.name
	if strings.ContainsAny(text, ".") {
		text = strings.NewReplacer(".", `\.`, "-", `\-`).Replace(text)
	}
	filters := g.filters(f)
	if len(kinds) == 0 && g.chance(2) {
		text = "nosuch"
	}
	switch {
	case g.chance(4):
		text, filters = "", append([]string{`__name__=` + g.quote(f.name)}, filters...)
	case len(kinds) == 0 && g.chance(2):
		by := pick(g, `{__name__=~".+_total"`, `{__name__!=""`, `{__name__=~"up|rank"`, `{__name__!~".*(_total|bucket|info)"`)
		g.loose, g.several = g.loose|anyOrder, true
		return node{by + pick(g, "", `,job="api"`, `,instance=~".*1:9100"`, `,job!="",dc!~"west"`) + "}", true, f, true}
	case len(kinds) == 0 && g.chance(2) && len(filters) > 0:
		g.loose, g.several = g.loose|anyOrder, true
		return node{"{" + strings.Join(filters, ",") + "}", true, f, true}
	case len(kinds) == 0 && g.chance(2) && !strings.ContainsAny(f.name, "."):
		g.loose, g.several = g.loose|anyOrder, true
		return node{`{__name__=~"` + f.name + "|" + pick(g, g.data.families...).name + `"}`, true, f, true}
	case g.chance(3):
		text, filters = "", append([]string{g.quote(f.name)}, filters...)
	}
	if len(filters) == 0 {
		return node{text, true, f, true}
	}
	body := strings.Join(filters, ",")
	if more := g.filters(f); g.chance(12) && len(more) > 0 && text != "" {
		body += " or " + strings.Join(more, ", ")
	}
	return node{text + "{" + body + "}", true, f, true}
}

func (g *grammar) filters(f *family) (out []string) {
	names := slices.Sorted(maps.Keys(f.labels))
	for range pick(g, 0, 0, 0, 0, 1, 1, 2) {
		name := pick(g, names...)
		values := f.labels[name]
		value := pick(g, values...)
		op := pick(g, "=", "!=", "=~", "=~", "!~")
		if len(values) == 1 && op[0] == '!' && g.chance(90) {
			op = "=~" // something shall be left
		}
		if strings.HasSuffix(op, "~") {
			value = pick(g, quoteRegexp(value)+"|"+quoteRegexp(pick(g, values...)), quoteRegexp(value), ".*"+quoteRegexp(value[len(value)/2:]))
			if g.chance(20) {
				value = pick(g, ".+", "x*", "", ".*", ".*", ".*", "x.*", "|"+quoteRegexp(value), ".*|x", "(?i)"+quoteRegexp(value), "^"+quoteRegexp(value)+"$", "(.+)", ".*.*", ".+x?", ".", "[^x]*", "(a|b).*", "a.*|d.*")
			}
		}
		if name == "Größe" {
			continue
		}
		out = append(out, name+op+g.quote(value))
	}
	return out
}

func quoteRegexp(s string) string {
	return strings.NewReplacer(".", `\.`, "+", `\+`, "/", `/`).Replace(s)
}

// window is a duration in brackets, or none.
func (g *grammar) window(subquery bool) string {
	w := pick(g, "1m", "90s", "2m", "5m", "5m", "10m", "10m", "37s", "7m", "1h", "30m", "3i", "1.5i", "1i", "300", "1m30s", "20m", "$__interval", "$__rate_interval", "2i", "4m", "1h15m")
	if g.chance(6) {
		w = pick(g, "100ms", "0s", "15s", "0.5i", "1ms")
	}
	if g.instant && g.chance(35) || g.chance(3) {
		w = pick(g, "3h", "4h", "6h", "12h", "2h59m", "1d", "181m", "1d2h")
	}
	if !subquery {
		return "[" + w + "]"
	}
	return "[" + w + ":" + pick(g, "", "", "1m", "30s", "2m", "5m", "1i", "0.5i", "17s", "90", "10m", "2i", "1h") + "]"
}

// modifiers are offset and @, in either order.
func (g *grammar) modifiers() string {
	offset, at := "", ""
	if g.chance(14) {
		offset = " offset " + pick(g, "1m", "5m", "-30s", "1i", "-1.5i", "1h", "100ms", "17s", "300", "1m30s", "-2m")
	}
	if g.chance(7) {
		at = " @ " + pick(g, "start()", "end()", fmt.Sprint(dataStart/1000+g.Int64N(3*3600)), fmt.Sprintf("%d.5", dataStart/1000+g.Int64N(3*3600)), "(end() - 600)", "(start() + 1m)")
	}
	if g.chance(50) {
		return at + offset
	}
	return offset + at
}

// ranged makes the argument of a rollup function.
func (g *grammar) ranged(p place) node {
	if p.depth > 0 && g.chance(18) {
		inner := g.expression(place{p.depth - 1, p.smooth})
		text := inner.text
		if !inner.plain {
			text = "(" + text + ")"
		}
		switch {
		case g.chance(25):
			return node{text, inner.exact, inner.of, false}
		case g.chance(15):
			text += g.window(false)
		default:
			text += g.window(true)
		}
		return node{text + g.modifiers(), inner.exact, inner.of, false}
	}
	s := g.selector(nil)
	switch {
	case g.chance(18):
	case g.chance(6):
		s.text += g.window(true)
	default:
		s.text += g.window(false)
	}
	s.text += g.modifiers()
	return s
}

func (g *grammar) rollup(p place) node {
	f := pick(g, rollups...)
	if g.chance(35) {
		f = pick(g, common...)
	}
	smooth := strings.HasPrefix(f.name, "sum_over") || strings.HasPrefix(f.name, "avg") || strings.HasPrefix(f.name, "m") && f.name != "mode_over_time"
	n := g.call(f, g.ranged(p.below(smooth)), p)
	if g.chance(7) {
		n.text, n.plain = n.text+" keep_metric_names", false
	}
	return n
}

// call is a call of f whose main argument is arg.
func (g *grammar) call(f function, arg node, p place) node {
	var args []string
	for _, word := range strings.Fields(f.shape) {
		switch word {
		case "r", "b":
			args = append(args, arg.text)
		default:
			if text := g.argument(word, arg.of, p); text != "" {
				args = append(args, text)
			}
		}
	}
	if g.chance(1) && len(args) > 0 && f.shape != "seed" { // by the clock, without
		args = args[:len(args)-1] // an error, mostly
	}
	if g.chance(1) && len(args) > 0 {
		args[g.IntN(len(args))] = pick(g, `"x"`, "rank", "1", "(1, 2)", "rank[5m]", "nosuch", "-1", `""`, "5m", "nan")
	}
	name := f.name
	if g.chance(2) && name != "aggr_over_time" { // which VictoriaMetrics does not survive
		name = strings.ToUpper(name[:1]) + name[1:]
	}
	return node{name + "(" + strings.Join(args, ", ") + ")", f.exact && arg.exact, arg.of, true}
}

func (g *grammar) transform(p place) node {
	f := pick(g, transforms...)
	smooth := slices.Contains([]string{"abs", "clamp_max", "clamp_min", "drop_empty_series", "keep_last_value", "running_max", "range_max", "union"}, f.name)
	arg := node{exact: true}
	if strings.Contains(f.shape, "r") {
		arg = g.expression(p.below(smooth))
		if g.chance(60) && slices.Contains([]string{"acos", "asin", "atanh", "acosh"}, f.name) {
			arg.text = wrapped(arg) + pick(g, " / 1000", " * 0.25", " % 1", " / 1e10") // which are not defined for much
		}
	}
	n := g.call(f, arg, p)
	if strings.HasPrefix(f.shape, "r") && g.chance(8) {
		n.text, n.plain = n.text+" keep_metric_names", false
	}
	return n
}

func (g *grammar) labelFunction(p place) node {
	if g.chance(15) {
		f := pick(g, sorts...)
		arg := g.expression(p.below(true))
		g.loose |= anyOrder // equal keys are left to chance
		return g.call(f, arg, p)
	}
	if g.chance(3) {
		return g.call(function{"label_value", "r numberlabel", true}, g.selector([]familyKind{counter, leBucket}), p)
	}
	if g.chance(5) {
		// All labels there are: no two keys are equal.
		s := g.selector(nil)
		if strings.HasPrefix(s.text, "{") {
			s = g.selector([]familyKind{ranked})
			s.text = "rank" // of one name, for sure
		}
		keys := `"` + strings.Join(slices.Sorted(maps.Keys(s.of.labels)), `", "`) + `"`
		return node{fmt.Sprintf("limit_offset(%d, %d, sort_by_label(%s, %s, \"__name__\"))", g.IntN(4), g.IntN(3), s.text, keys), true, s.of, true}
	}
	return g.labelled(pick(g, labelFunctions...), p)
}

// labelled is a call of a label function. Those that look at a label before they
// set it, get series as they are stored: where a label was removed before, as by
// an aggregation, VictoriaMetrics finds what its memory held and takes it for the
// value of a label that is not there.
func (g *grammar) labelled(f function, p place) node {
	arg := g.expression(p.below(true))
	if slices.Contains([]string{"label_lowercase", "label_uppercase", "label_map", "label_join"}, f.name) {
		arg = g.selector(nil)
		if g.chance(50) {
			arg = g.call(pick(g, common...), arg, p)
		}
	}
	return g.call(f, arg, p)
}

// buckets makes a function of a histogram.
func (g *grammar) buckets(p place) node {
	b := g.selector([]familyKind{leBucket, leBucket, vmBucket})
	switch g.IntN(4) {
	case 0:
		b.text = pick(g, "rate", "increase", "last_over_time", "delta") + "(" + b.text + g.window(false) + ")"
	case 1:
		// Counts of a window are integers: their sums are exact.
		b.text = "sum(increase(" + b.text + g.window(false) + ")) by (" + pick(g, "le, vmrange", "le, path, vmrange", "vmrange, host, le", "le") + ")"
	case 2:
		b.text = "histogram" + pick(g, "_over_time(", "(") + g.selector([]familyKind{gauge, ranked}).text + ")"
		if strings.HasPrefix(b.text, "histogram_over") {
			b.text = "sum(" + b.text + ") by (vmrange)"
		}
	}
	f := pick(g, bucketFunctions...)
	b.exact = false
	return g.call(f, b, p)
}

// union of series of which no two are the same: the first one would be taken, in
// the order of internal ids.
func (g *grammar) union(p place) node {
	a := g.call(pick(g, common...), g.selector([]familyKind{gauge, counter}), p)
	b := g.selector([]familyKind{ranked, leBucket, info})
	return node{"(" + a.text + ", " + b.text + ")", a.exact && b.exact, a.of, false}
}

func (g *grammar) with(p place) node {
	a := g.expression(p.below(false))
	use := node{"x", a.exact, a.of, true}
	var body node
	switch g.IntN(4) {
	case 0:
		body = g.call(pick(g, common...), node{"x[5m:1m]", a.exact, a.of, true}, p)
	case 1:
		body = node{"f(x, 3) + f(x, y)", false, a.of, false}
		return node{"WITH (x = " + a.text + ", y = " + g.argument("scalar", a.of, p) + ", f(a, b) = a * b - " + pick(g, "1", "b", "a") + ") " + body.text, false, a.of, false}
	case 2:
		s := g.selector(nil)
		name, values := pick(g, slices.Sorted(maps.Keys(s.of.labels))...), []string(nil)
		values = s.of.labels[name]
		if name == "Größe" {
			name, values = "job", []string{"cron"}
		}
		return node{fmt.Sprintf("WITH (c = {%s=%q}, w = %s) %s(%s{c}[w])", name, pick(g, values...), pick(g, "5m", "90s", "2i"), pick(g, "rate", "max_over_time"), strings.SplitN(s.of.name, ".", 2)[0]), false, s.of, false}
	default:
		body = g.call(labelFunctions[0], use, p)
	}
	return node{"WITH (x = " + a.text + ") " + body.text, body.exact, a.of, false}
}

func (g *grammar) number(p place) node {
	return node{g.argument("scalar", nil, p), true, nil, false}
}
