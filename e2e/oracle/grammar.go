package oracle

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// grammar writes random PromQL of the whole language about some data. Equal
// seeds write equal texts.
type grammar struct {
	*rand.Rand
	names  []string            // of metrics
	labels []string            // of labels, but for __name__
	values map[string][]string // of each label
	funcs  []*parser.Function  // that return vectors
}

func newGrammar(r *rand.Rand, data []Series) *grammar {
	g := &grammar{Rand: r, values: map[string][]string{}}
	names := map[string]bool{}
	for _, s := range data {
		s.Labels.Range(func(l labels.Label) {
			if l.Name == labels.MetricName {
				names[l.Value] = true
			} else if !slices.Contains(g.values[l.Name], l.Value) {
				g.values[l.Name] = append(g.values[l.Name], l.Value)
			}
		})
	}
	g.names = slices.Sorted(maps.Keys(names))
	g.labels = slices.Sorted(maps.Keys(g.values))
	for _, name := range slices.Sorted(maps.Keys(parser.Functions)) {
		f := parser.Functions[name]
		if name != "holt_winters" && f.ReturnType == parser.ValueTypeVector { // promqlsmith adds that one; no engine has it
			g.funcs = append(g.funcs, f)
		}
	}
	return g
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// one is true once in n times.
func (g *grammar) one(n int) bool { return g.IntN(n) == 0 }

// kinds of metrics, so that functions mostly meet samples they are for.
func (g *grammar) metric() string {
	if g.one(3) {
		return pick(g.Rand, "hist", "hist_gauge", "hist_float", "hist_custom", "mixed")
	}
	return pick(g.Rand, g.names...)
}

// matchers mostly match something: those of labels that few series have are rare.
func (g *grammar) matchers() string {
	if !g.one(3) {
		return ""
	}
	var out []string
	for range 1 + g.IntN(5)/4 {
		name := pick(g.Rand, "job", "instance")
		if g.one(10) {
			name = pick(g.Rand, g.labels...)
		}
		v := pick(g.Rand, g.values[name]...)
		switch g.IntN(9) {
		case 0, 1, 2:
			out = append(out, fmt.Sprintf("%s=%q", name, v))
		case 3, 4:
			out = append(out, fmt.Sprintf("%s!=%q", name, v))
		case 5, 6:
			out = append(out, fmt.Sprintf("%s=~%q", name, pick(g.Rand, ".*", ".+", "[ij][01]", "i0|i2|j1|200")))
		case 7:
			out = append(out, fmt.Sprintf("%s!~%q", name, pick(g.Rand, ".*1", "", "i0|j2")))
		default:
			out = append(out, fmt.Sprintf("%s=\"\"", pick(g.Rand, g.labels...)))
		}
	}
	return "{" + strings.Join(out, ",") + "}"
}

func (g *grammar) selector() string {
	switch g.IntN(25) {
	case 0:
		return pick(g.Rand, `{__name__=~"dup_.*"}`, `{__name__=~"requests_total|errors_total"}`, `{__name__=~"hist.*",job="j0"}`,
			`{job="j0",instance="i0",__name__!~".*bucket|huge"}`, `{__name__=~"mixed|ints"}`, "nothing", `{l=~".+"}`)
	case 1:
		return `{__name__="` + g.metric() + `",job=~"j[01]"}`
	}
	return g.metric() + g.matchers()
}

func (g *grammar) duration() string {
	if g.one(15) {
		return pick(g.Rand, "1ms", "10s", "15s", "1h", "61.5")
	}
	return pick(g.Rand, "30s", "45s", "1m", "1m", "2m", "5m", "5m", "7m30s", "10m", "20m", "90")
}

// durationExpr is mostly a plain duration.
func (g *grammar) durationExpr() string {
	if !g.one(12) {
		return g.duration()
	}
	return pick(g.Rand, "1m+30s", "2*1m", "step()+1m", "max_of(step(),2m)", "min_of(range()+1m,10m)", "10m/3", "(1m)^1", "-30s+2m", "5m%2m")
}

func (g *grammar) modifiers() string {
	out := ""
	if g.one(6) {
		out += " offset " + pick(g.Rand, "1m", "-1m", "7s", "5m", "-10m", "1h", "(1m*2)", "-(30s)", "step()", "90")
	}
	if g.one(10) {
		out += " @ " + pick(g.Rand, "start()", "end()", g.at(), g.at())
	}
	return out
}

func (g *grammar) at() string {
	return fmt.Sprintf("%.3f", float64(DataStart-120_000+g.Int64N(DataEnd-DataStart+240_000))/1000)
}

// matrix is an expression of range vectors.
func (g *grammar) matrix(depth int) string {
	if depth > 0 && g.one(4) {
		return g.subquery(depth)
	}
	extended := ""
	if g.one(15) {
		extended = pick(g.Rand, " anchored", " smoothed")
	}
	return g.selector() + "[" + g.durationExpr() + "]" + extended + g.modifiers()
}

func (g *grammar) subquery(depth int) string {
	step := pick(g.Rand, "", "", "15s", "30s", "1m", "37s", "2m", "step()")
	return g.operand(depth-1) + "[" + pick(g.Rand, "1m", "3m", "5m", "10m", "15m", "1m*4") + ":" + step + "]" + g.modifiers()
}

// operand is a vector that may be followed by a bracket or an operator.
func (g *grammar) operand(depth int) string {
	v := g.vector(depth)
	if strings.ContainsAny(v, " -") {
		return "(" + v + ")"
	}
	return v
}

func (g *grammar) number() string {
	return pick(g.Rand, "0", "1", "2", "0.5", "-1", "3", "0.1", "0.9", "NaN", "Inf", "-Inf", "1e308", "100", "1e-9", "0x10", "-0")
}

func (g *grammar) scalar(depth int) string {
	if depth <= 0 || g.one(2) {
		return g.number()
	}
	switch g.IntN(9) {
	case 0, 1:
		return "scalar(" + g.vector(depth-1) + ")"
	case 2:
		return "(" + g.scalar(depth-1) + " " + g.arithmetic() + " " + g.scalar(depth-1) + ")"
	case 3:
		return "(" + g.scalar(depth-1) + " " + pick(g.Rand, comparisons...) + " bool " + g.scalar(depth-1) + ")"
	case 4:
		return pick(g.Rand, "max_of(", "min_of(") + g.scalar(depth-1) + ", " + g.scalar(depth-1) + ")"
	case 5:
		return "-(" + g.scalar(depth-1) + ")"
	case 6:
		return pick(g.Rand, "(time() % 100)", "(time() - 1.7e9)", "(time() % 7 / 7)")
	}
	return pick(g.Rand, "time()", "pi()", "start()", "end()", "step()", "range()")
}

var comparisons = []string{"==", "!=", ">", "<", ">=", "<="}

func (g *grammar) arithmetic() string {
	return pick(g.Rand, "+", "-", "*", "/", "%", "^", "atan2")
}

// vector is an expression of instant vectors.
func (g *grammar) vector(depth int) string {
	if depth <= 0 || g.one(12) {
		return g.selector() + g.modifiers()
	}
	switch g.IntN(12) {
	case 0, 1, 2, 3:
		return g.call(depth)
	case 4, 5, 6:
		return g.aggregation(depth)
	case 7, 8:
		return g.binary(depth)
	case 9:
		return g.sameMetrics(depth)
	case 10:
		if g.one(2) {
			return "-" + g.operand(depth-1)
		}
		return "(" + g.vector(depth-1) + ")"
	}
	return pick(g.Rand, "rate(", "increase(", "delta(", "sum_over_time(", "avg_over_time(", "quantile_over_time(0.9, ", "max_over_time(") +
		g.metric() + g.matchers() + "[" + g.duration() + "]" + g.modifiers() + ")"
}

func (g *grammar) labelList() string {
	var out []string
	for range g.IntN(3) + 1 {
		out = append(out, pick(g.Rand, "job", "job", "instance", "instance", "le", "code", "__name__", "version", pick(g.Rand, g.labels...)))
	}
	return strings.Join(out, ",")
}

func (g *grammar) aggregation(depth int) string {
	clause := ""
	switch g.IntN(5) {
	case 0, 1:
		clause = " by (" + g.labelList() + ") "
	case 2:
		clause = " without (" + g.labelList() + ") "
	case 3:
		clause = " by () "
	}
	return g.aggregationOf(pick(g.Rand, append(slices.Clone(aggregations), "sum", "avg")...), clause, depth)
}

var aggregations = []string{"sum", "avg", "count", "min", "max", "group", "stddev", "stdvar", "topk", "bottomk", "limitk", "limit_ratio", "quantile", "count_values"}

func (g *grammar) aggregationOf(op, clause string, depth int) string {
	param := ""
	switch op {
	case "topk", "bottomk", "limitk":
		param = pick(g.Rand, "1", "2", "3", "5", "100", "0", "-1", "NaN", g.scalar(depth-1)) + ", "
	case "limit_ratio":
		param = pick(g.Rand, "0.1", "0.5", "-0.5", "1", "-1", "1.5", "NaN", g.scalar(depth-1)) + ", "
	case "quantile":
		param = pick(g.Rand, "0.5", "0.9", "0", "1", "-1", "2", "NaN", g.scalar(depth-1)) + ", "
	case "count_values":
		param = pick(g.Rand, `"value"`, `"job"`, `"le"`) + ", "
	}
	return op + clause + "(" + param + g.vector(depth-1) + ")"
}

func (g *grammar) matching(set bool) string {
	out := ""
	switch g.IntN(4) {
	case 0, 1:
		out = pick(g.Rand, "on (job, instance) ", "on (job) ", "on () ", "on (instance, code) ", "on ("+g.labelList()+") ")
	case 2:
		out = pick(g.Rand, "ignoring (code) ", "ignoring (code, le) ", "ignoring (version, cluster) ", "ignoring ("+g.labelList()+") ")
	}
	if out != "" && !set && g.one(2) {
		out += pick(g.Rand, "group_left () ", "group_right () ", "group_left (version) ", "group_right (branch) ", "group_left (cluster) ", "group_left (__name__) ")
	}
	if !set && g.one(6) {
		out += pick(g.Rand, "fill (0) ", "fill_left (1) ", "fill_right (NaN) ", "fill_left (1) fill_right (2.5) ", "fill (-1) ")
	}
	return out
}

func (g *grammar) binary(depth int) string {
	op, boolean := g.arithmetic(), ""
	if g.one(3) {
		op = pick(g.Rand, comparisons...)
		if g.one(2) {
			boolean = "bool "
		}
	}
	switch g.IntN(5) {
	case 0:
		return g.operand(depth-1) + " " + op + " " + boolean + g.scalar(depth-1)
	case 1:
		return g.scalar(depth-1) + " " + op + " " + boolean + g.operand(depth-1)
	case 2:
		return g.operand(depth-1) + " " + pick(g.Rand, "and", "or", "unless") + " " + g.matching(true) + g.operand(depth-1)
	}
	return g.operand(depth-1) + " " + op + " " + boolean + g.matching(false) + g.operand(depth-1)
}

// sameMetrics are joins that find partners.
func (g *grammar) sameMetrics(depth int) string {
	op := pick(g.Rand, g.arithmetic(), g.arithmetic(), pick(g.Rand, comparisons...), "> bool", "and", "or", "unless")
	switch g.IntN(4) {
	case 0:
		m := g.metric()
		return m + g.modifiers() + " " + op + " " + m + g.matchers() + g.modifiers()
	case 1:
		f := pick(g.Rand, "rate", "increase", "avg_over_time", "last_over_time", "delta")
		return f + "(requests_total[" + g.duration() + "]) " + op + " " + f + "(errors_total[" + g.duration() + "])"
	case 2:
		if op == "and" || op == "or" || op == "unless" {
			op = "*"
		}
		return g.operand(0) + " " + op + " on (job, instance) group_left (version, cluster) target_info"
	}
	by := pick(g.Rand, " by (job) ", " by (job, instance) ", " without (code, le) ", " ")
	return "sum" + by + "(" + g.vector(depth-1) + ") " + op + " " + pick(g.Rand, "sum", "count", "avg", "max") + by + "(" + g.vector(depth-1) + ")"
}

// inTurn is a shallow expression about each function, aggregation and operator in
// turn, so that none is rare.
func (g *grammar) inTurn(turn int) string {
	operators := append([]string{"+", "-", "*", "/", "%", "^", "atan2", "and", "or", "unless"}, comparisons...)
	turn %= len(g.funcs) + len(aggregations) + len(operators)
	if turn < len(g.funcs) {
		return g.callOf(g.funcs[turn], 1)
	}
	if turn -= len(g.funcs); turn < len(aggregations) {
		return g.aggregationOf(aggregations[turn], pick(g.Rand, "", " by (job) ", " without (instance) ", " by (job, instance) "), 1)
	}
	op := operators[turn-len(aggregations)]
	m := g.metric()
	switch g.IntN(4) {
	case 0:
		if op != "and" && op != "or" && op != "unless" {
			return m + " " + op + " " + g.number()
		}
	case 1:
		if op != "and" && op != "or" && op != "unless" {
			return g.number() + " " + op + " " + m
		}
	case 2:
		return g.metric() + " " + op + " on (job, instance) " + g.metric()
	}
	return m + " " + op + " " + m + g.matchers() + g.modifiers()
}

// call is any function that returns a vector.
func (g *grammar) call(depth int) string { return g.callOf(pick(g.Rand, g.funcs...), depth) }

// callOf is a call of one function.
func (g *grammar) callOf(f *parser.Function, depth int) string {
	arg := func() string { return g.vector(depth - 1) }
	label := func() string { return `"` + pick(g.Rand, "job", "instance", "le", "code", "__name__", "new") + `"` }
	switch f.Name {
	case "label_replace":
		return fmt.Sprintf("label_replace(%s, %s, %q, %s, %q)", arg(), label(), pick(g.Rand, "$1", "x", "", "$1-$2", "${1}y"), label(), pick(g.Rand, "(.*)", "(.)(.*)", "j0", "[ij](.)"))
	case "label_join":
		return fmt.Sprintf("label_join(%s, %s, %q%s)", arg(), label(), pick(g.Rand, "-", "", ","), pick(g.Rand, "", ", "+label(), ", "+label()+", "+label()))
	case "sort_by_label", "sort_by_label_desc":
		return fmt.Sprintf("%s(%s, %s%s)", f.Name, arg(), label(), pick(g.Rand, "", ", "+label()))
	case "info":
		return fmt.Sprintf("info(%s%s)", arg(), pick(g.Rand, "", "", `, {version=~".+"}`, `, {__name__="build_info"}`, `, {__name__=~".+_info"}`, `, {cluster="eu",version!="v0"}`, `, {version=~".*"}`))
	case "histogram_quantile":
		return fmt.Sprintf("histogram_quantile(%s, %s)", pick(g.Rand, "0.5", "0.9", "0", "1", "1.5", "NaN", g.scalar(depth-1)), g.histogram(depth))
	case "histogram_quantiles":
		return fmt.Sprintf(`histogram_quantiles(%s, "q", 0.1, %s, 0.99)`, g.histogram(depth), pick(g.Rand, "0.5", "-1", g.scalar(depth-1)))
	case "histogram_fraction":
		return fmt.Sprintf("histogram_fraction(%s, %s, %s)", pick(g.Rand, "0", "-1", "-Inf", "0.2"), pick(g.Rand, "1", "Inf", "0.5", "NaN"), g.histogram(depth))
	case "double_exponential_smoothing":
		return fmt.Sprintf("double_exponential_smoothing(%s, %s, %s)", g.matrix(depth-1), pick(g.Rand, "0.1", "0.5", "0.9", "1", "2"), pick(g.Rand, "0.2", "0.8"))
	}
	if strings.HasPrefix(f.Name, "histogram_") {
		return f.Name + "(" + g.histogram(depth) + ")"
	}
	var args []string
	for i, t := range f.ArgTypes {
		if f.Variadic != 0 && i == len(f.ArgTypes)-1 && g.one(2) {
			break
		}
		switch t {
		case parser.ValueTypeMatrix:
			args = append(args, g.matrix(depth-1))
		case parser.ValueTypeScalar:
			args = append(args, g.scalar(depth-1))
		default:
			args = append(args, arg())
		}
	}
	return f.Name + "(" + strings.Join(args, ", ") + ")"
}

// histogram is a vector that mostly holds histograms, native or classic.
func (g *grammar) histogram(depth int) string {
	m := pick(g.Rand, "hist", "hist_gauge", "hist_float", "hist_custom", "mixed", "latency_bucket", "latency_bucket", `{__name__=~"hist|latency_bucket"}`)
	switch g.IntN(6) {
	case 0:
		return m + g.modifiers()
	case 1:
		return "rate(" + m + "[" + g.duration() + "])"
	case 2:
		return "sum by (" + pick(g.Rand, "le", "le, job", "job, instance, le") + ") (" + pick(g.Rand, "rate", "increase", "last_over_time", "sum_over_time", "avg_over_time") + "(" + m + "[" + g.duration() + "]))"
	case 3:
		return pick(g.Rand, "sum", "avg", "max") + " without (" + pick(g.Rand, "instance", "job", "code") + ") (" + m + ")"
	case 4:
		return "(" + m + " " + pick(g.Rand, "+", "-", "*", "/") + " " + pick(g.Rand, m, "2", "-0.5", "hist") + ")"
	}
	return g.vector(depth - 1)
}
