package mqldiff

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// allLabels are labels that grouping and matching name.
var allLabels = []string{"job", "instance", "room", "sensor", "code", "method", "path", "le", "host", "queue", "dc", "pod", "node", "namespace", "disk", "phase", "version", "zone", "env", "cpu"}

// label is one of f, mostly.
func (g *grammar) label(f *family) string {
	if f == nil || len(f.labels) == 0 || g.chance(12) {
		return pick(g, append(allLabels, "__name__", "nosuch")...)
	}
	l := pick(g, slices.Sorted(maps.Keys(f.labels))...)
	if l == "Größe" {
		return "job"
	}
	return l
}

func (g *grammar) labelList(f *family) string {
	if g.chance(3) {
		return ""
	}
	var out []string
	for range 1 + g.IntN(3) {
		if l := g.label(f); !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return strings.Join(out, ", ")
}

// argument makes an argument of a kind, about series of f. "" is none.
func (g *grammar) argument(word string, f *family, p place) string {
	value := func() string {
		if l := g.label(f); f != nil && len(f.labels[l]) > 0 {
			return pick(g, f.labels[l]...)
		}
		return pick(g, "api", "x", "")
	}
	switch word {
	case "scalar":
		if g.chance(15) {
			return pick(g, "time()", "start()", "end()", "step()", "scalar(up{job=\"api\",instance=\"10.0.0.1:9100\"})", "2m", "(1 + 2)", "scalar(rank)", "-1", "time() % 7")
		}
		return pick(g, "0", "1", "2", "3.5", "-0.25", "10", "100", "1K", "1.5Ki", "1M", "0x1f", "1e2", "inf", "-inf", "nan", "1Mi", "42")
	case "limit":
		return pick(g, "0", "1", "2", "20", "100", "-1", "42", "scalar(rank)", "time() % 5")
	case "numberlabel":
		return g.quote(pick(g, "code", "cpu", "le"))
	case "phi", "factor":
		if g.chance(8) {
			return pick(g, "-1", "1.5", "nan", "scalar(up)", "time() % 2 / 2")
		}
		return pick(g, "0", "0.25", "0.5", "0.75", "0.9", "0.99", "1")
	case "time":
		return pick(g, "", "", "time()", "time() * 2", "timestamp(up)", "rank * 3600", "-1", "time() - 86400*60", "time() + 86400*400")
	case "zone":
		return g.quote(pick(g, "Europe/Berlin", "America/New_York", "UTC", "Asia/Kolkata", "No/Where", ""))
	case "rollupnames":
		if g.chance(40) {
			return g.quote(pick(g, aggregatable...))
		}
		return "(" + g.quote(pick(g, aggregatable...)) + ", " + g.quote(pick(g, aggregatable...)) + ")"
	case "rolluptag":
		return pick(g, "", "", "", `"min"`, `"max"`, `"avg"`, `"open"`)
	case "candletag":
		return pick(g, "", "", "", `"open"`, `"close"`, `"low"`, `"high"`, `"min"`)
	case "other":
		return pick(g, "", "", "", `"other"`, `"job=rest"`, `"x="`)
	case "newlabel":
		return g.quote(pick(g, "new", "new", g.label(f), "__name__", "le", "z.dot"))
	case "label":
		return g.quote(g.label(f))
	case "value":
		return g.quote(value())
	case "newvalue":
		return g.quote(pick(g, "v", "", "V2", value(), "{{"+g.label(f)+"}}-x", "{{__name__}}"))
	case "separator":
		return g.quote(pick(g, "", "-", ", "))
	case "regexp":
		return g.quote(pick(g, ".+", "(.*)", "", `([a-z]+)(.*)`, `\d+`, quoteRegexp(value()), `(.)(.).*`, "[^0-9]", "a|b|api"))
	case "template":
		return g.quote(pick(g, "$1", "$2-$1", "x", "", "${1}y$0", "$9"))
	}
	return g.numberArgument(word)
}

func (g *grammar) aggregate(p place) node {
	a := pick(g, aggregates...)
	if a.ranked {
		return g.rankedAggregate(a, p)
	}
	if a.sums == always && !p.smooth {
		a = aggregates[0] // an average
	}
	smooth := slices.Contains([]string{"sum", "avg", "max", "min"}, a.name)
	var arg node
	for {
		arg = g.expression(p.below(smooth))
		if arg.exact || a.sums == orderless || a.sums == sums && p.smooth { // variances of times are mostly error
			break
		}
	}
	if a.sums == always || a.sums == sums && !arg.exact {
		g.loose |= inexactSums
	}
	if a.name == "limitk" {
		// It picks by hashes of names: those of equal names are equal.
		arg = g.call(pick(g, common...), g.selector([]familyKind{gauge, counter, leBucket, ranked, info}), p)
	}
	more := a.shape == "r" && g.chance(3)
	if more {
		other := g.selector(nil)
		arg.text += ", " + other.text
	}
	n := g.call(a.function, arg, p)
	n.text = g.grouped(n.text, a.name, arg.of)
	n.exact = n.exact && a.name != "histogram"
	n.plain = false
	return n
}

// grouped adds by or without to an aggregation, before or after its arguments.
func (g *grammar) grouped(text, name string, f *family) string {
	if g.chance(35) {
		return text
	}
	by := pick(g, "by", "by", "by", "without") + " (" + g.labelList(f) + ")"
	if g.chance(15) && strings.HasPrefix(text, name+"(") {
		return name + " " + by + " " + strings.TrimPrefix(text, name)
	}
	if g.chance(4) {
		by += " limit 1000" // below the number of groups it is left to chance
	}
	return text + " " + by
}

// rankedAggregate picks series by their values. Among equal values the choice is
// left to chance, so the values are such as tell series apart; or else only the
// values that are picked are compared, which needs a place at the top.
func (g *grammar) rankedAggregate(a aggregate, p place) node {
	if p.depth >= topDepth && g.chance(40) && (a.name == "topk" || a.name == "bottomk") {
		arg := g.expression(p.below(false))
		g.loose |= pickedValues
		n := g.call(a.function, arg, p)
		n.text, n.plain = g.grouped(n.text, a.name, arg.of), false
		return n
	}
	s := g.selector([]familyKind{ranked})
	if strings.HasPrefix(s.text, "{__name__=~") {
		s = node{"rank", true, s.of, true}
	}
	switch g.IntN(4) {
	case 0:
		s.text = pick(g, "last_over_time", "max_over_time", "min_over_time", "first_over_time") + "(" + s.text + g.window(false) + ")"
	case 1:
		s.text += " offset " + pick(g, "1m", "7m")
	}
	if strings.HasSuffix(a.name, "k") && a.name != "outliersk" || strings.HasSuffix(a.name, "_last") {
		s.text = pick(g, "", "-") + s.text
	}
	n := g.call(a.function, s, p)
	n.text, n.plain = g.grouped(n.text, a.name, s.of), false
	g.loose |= anyOrder // of groups
	if a.name == "outliersk" {
		// At a time without values all distances are NaN, and so equal: all or none.
		n.text = strings.Replace(n.text, "(", "("+pick(g, "0", "100")+" + 0 * ", 1)
	}
	return n
}

func (g *grammar) binary(p place) node {
	left := g.expression(p.below(true))
	op := pick(g, "+", "-", "*", "/", "%", "^", "atan2", "==", "!=", ">", "<", ">=", "<=", "and", "or", "unless", "if", "ifnot", "default",
		"+", "-", "*", "/", ">", "<", "default", "if", "and", "or")
	arith := strings.Contains("+-*", op)
	if !arith {
		left = g.expression(p.below(false))
	}
	right := g.partner(left, p.below(arith))
	exact := left.exact && right.exact && (arith && op != "*" || len(op) > 1 && op != "atan2" || op == ">" || op == "<")
	text := op
	compare := slices.Contains([]string{"==", "!=", ">", "<", ">=", "<="}, op)
	if compare && g.chance(25) {
		text += " bool"
	}
	if (op == "default" || op == "or") && left.of != nil && g.chance(50) {
		// Of several series on the right the first that has a value is taken, in the
		// order of internal ids. So there is but one.
		by := "(" + g.labelList(left.of) + ")"
		right = node{"max(" + right.text + ") by " + by, right.exact, right.of, false}
		text += " on " + by
	} else if op != "default" && op != "or" && left.of != nil && right.of != nil && g.chance(45) {
		text += g.matching(left, right, slices.Contains([]string{"and", "or", "unless", "if", "ifnot", "default"}, op))
	}
	n := node{wrapped(left) + " " + text + " " + wrapped(right), exact, left.of, false}
	if !compare && g.chance(7) {
		n.text = "(" + n.text + ") keep_metric_names"
	}
	return n
}

func wrapped(n node) string {
	if n.plain {
		return n.text
	}
	return "(" + n.text + ")"
}

// partner is what left is joined with: of its own kind, or anything, or a number.
func (g *grammar) partner(left node, p place) node {
	switch n := g.IntN(10); {
	case n < 3:
		return g.number(p)
	case n < 6 && left.of != nil:
		s := node{left.of.name, true, left.of, true}
		if strings.ContainsAny(s.text, ".") {
			s.text = fmt.Sprintf("{%q}", s.text)
		}
		if g.chance(50) {
			return s
		}
		s.text += g.window(false)
		return g.call(pick(g, common...), s, p)
	default:
		return g.expression(p)
	}
}

// matching is on or ignoring, and a group modifier where it may stand.
func (g *grammar) matching(left, right node, set bool) string {
	if left.of.brief || right.of.brief {
		return "" // see grid
	}
	if left.of.merges || right.of.merges {
		g.loose |= mergedValues
	}
	var shared []string
	for _, l := range slices.Sorted(maps.Keys(left.of.labels)) {
		if len(right.of.labels[l]) > 0 && l != "Größe" {
			shared = append(shared, l)
		}
	}
	if len(shared) == 0 || g.chance(10) {
		shared = append(shared, g.label(left.of))
	}
	g.Shuffle(len(shared), func(i, j int) { shared[i], shared[j] = shared[j], shared[i] })
	text := " on (" + strings.Join(shared[:1+g.IntN(len(shared))], ", ") + ")"
	if g.chance(25) {
		text = " ignoring (" + g.labelList(left.of) + ")"
	}
	if set || g.chance(40) {
		return text
	}
	join := pick(g, "group_left", "group_left", "group_right")
	text += " " + join + " (" + pick(g, "", g.labelList(right.of), "*") + ")"
	if g.chance(10) {
		text += ` prefix "p_"`
	}
	return text
}

// chain is a row of operators without brackets, of numbers, strings and series.
func (g *grammar) chain(p place) node {
	operand := func() string {
		switch g.IntN(9) {
		case 0:
			return pick(g, `"s"`, "1i", "5m", "2h", "-1", "+3", "1e3", "0b101", "017", "1_000", "1.5e-3", "9M", "08")
		case 1, 2:
			return pick(g, "", "-", "+") + g.selector(nil).text
		case 3:
			return pick(g, "", "-") + "(" + g.rollup(p.below(false)).text + ")"
		case 4:
			return g.selector([]familyKind{ranked}).text + g.window(false) + g.modifiers()
		}
		return g.argument("scalar", nil, p)
	}
	text := operand()
	for range 1 + g.IntN(3) {
		text += " " + pick(g, "+", "-", "*", "/", "%", "^", "atan2", "==", "!=", ">", "<", ">= bool", "<=", "and", "or", "unless", "if", "ifnot", "default", "== bool", "^", "*") + " " + operand()
	}
	return node{text, false, nil, false}
}

// spelled changes the case of some words, and adds space and comments.
func (g *grammar) spelled(text string) string {
	if g.chance(4) {
		word := pick(g, " by ", " on ", " or ", " and ", " if ", " default ", " offset ", " bool ", " keep_metric_names", " ignoring ", " unless ")
		return strings.ReplaceAll(text, word, strings.ToUpper(word))
	}
	if g.chance(2) {
		return strings.ReplaceAll(text, ", ", " ,\n # words, \n\t") + " # end"
	}
	return text
}

// numberArgument makes an argument that is a number.
func (g *grammar) numberArgument(word string) string {
	switch word {
	case "bits":
		return pick(g, "1", "7", "255", "0x3f", "1024")
	case "k":
		return pick(g, "1", "1", "2", "2", "2", "3", "3", "5", "1.5", "100", "inf", "time() % 4", "0", "-1")
	case "interval":
		return pick(g, "30", "60", "1m", "20", "5m")
	case "seconds":
		return pick(g, "60", "3600", "-300", "10m", "0")
	case "nearest":
		return pick(g, "", "1", "0.5", "0.1", "10", "0.25", "100")
	case "seed":
		return pick(g, "0", "1", "42")
	case "groups":
		return pick(g, "0", "1", "0, 1", "2, 0")
	case "buckets":
		return pick(g, "0", "1", "2", "3", "4", "10")
	case "bound":
		return pick(g, "0", "0.1", "0.3", "1", "1.05", "2.5", "5", "100", "inf", "-1")
	}
	panic("no such argument: " + word)
}

// join adds labels of another family.
func (g *grammar) join(p place) node {
	many := g.selector([]familyKind{ranked, counter})
	one := g.selector([]familyKind{info})
	if g.chance(40) {
		many = g.call(pick(g, common...), many, p)
	}
	on := "on (instance) "
	left := many.text + " " + pick(g, "*", "+", ">", "==", "/") + " " + on + "group_left (" + pick(g, "version", "version, zone", "*", "", "zone, job") + ") " + pick(g, "", `prefix "b_" `) + one.text
	if g.chance(30) {
		left = one.text + " " + pick(g, "*", "-", "<") + " " + on + "group_right (" + pick(g, "version", "*", "") + ") " + many.text
	}
	return node{left, false, many.of, false}
}

// any of groups of one series each.
func (g *grammar) any(p place) node {
	arg := g.expression(p.below(true))
	by := " by (" + g.labelList(arg.of) + ")"
	return node{"any(max(" + arg.text + ")" + by + ")" + by, arg.exact, arg.of, false}
}

// moved is an expression at another time: a subquery, without being written as one.
func (g *grammar) moved(p place) node {
	n := g.expression(p.below(false))
	if g.instant {
		g.loose |= anyOrder // raw samples, perhaps
	}
	n.text = "(" + n.text + ")" + pick(g, "", "", "[5m]", "[10m:1m]", "[1h:5m]") + g.modifiers()
	n.plain = false
	return n
}
