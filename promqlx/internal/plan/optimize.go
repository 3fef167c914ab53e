package plan

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"
)

// Config says what rewrites may rely on. The zero value is right for every
// query and every store.
type Config struct {
	// Disable names rewrites that are not to be made.
	Disable []string
	// Instant tells that the query is for a single time.
	Instant bool
	// DelayedNames is the feature promql-delayed-name-removal: names are dropped
	// at the end, so that rows never become equal on the way.
	DelayedNames bool
	// TypeAndUnit is the feature type-and-unit-labels: an annotation of rate and
	// increase looks at types.
	TypeAndUnit bool
	// NoMetadata promises that no series has a label __type__ or __unit__. These
	// are dropped with the name.
	NoMetadata bool
	// StatsWindow is the least length of a window, in milliseconds, from which on
	// statistics of blocks are used instead of samples.
	StatsWindow int64
}

// Rewrites returns the names of all rewrites, in the order they are made.
func Rewrites() []string {
	names := []string{}
	for _, r := range rewrites() {
		names = append(names, r.name)
	}
	return names
}

type rewrite struct {
	name string
	make func(Node, Config) Node
}

func rewrites() []rewrite {
	return []rewrite{
		{"fold", Fold},
		{"once", DropOnce},
		{"collide", Collide},
		{"share", Share},
		{"labels", Labels},
		{"stats", Stats},
		{"fuse", Fuse},
	}
}

// Optimize makes all rewrites that c does not disable. The tree is changed. No
// rewrite changes an answer, an annotation or an error.
func Optimize(n Node, c Config) Node {
	settleTypes(n)
	for _, r := range rewrites() {
		if !slices.Contains(c.Disable, r.name) {
			n = r.make(n, c)
		}
	}
	return n
}

// scalar tells whether a node yields a scalar or a string.
func scalar(n Node) bool {
	t := n.Type()
	return t == parser.ValueTypeScalar || t == parser.ValueTypeString
}

// rowwise returns the one vector of a node that makes of each of its rows one
// row, with the same labels but perhaps for the names; nil if n is not such a
// node.
func rowwise(n Node) Node {
	switch n := n.(type) {
	case *Minus:
		if !scalar(n.Child) {
			return n.Child
		}
	case *Binary:
		switch l, r := scalar(n.Left), scalar(n.Right); {
		case l && !r:
			return n.Right
		case r && !l:
			return n.Left
		}
	case *Call:
		if len(n.Args) > 0 && eachRow(n.Func) {
			return n.Args[0]
		}
	}
	return nil
}

// eachRow tells whether a function computes each series of its first argument by
// itself and drops its name.
func eachRow(name string) bool {
	switch name {
	case "abs", "ceil", "clamp", "clamp_max", "clamp_min", "deg", "exp", "floor", "ln",
		"log10", "log2", "rad", "round", "sgn", "sqrt",
		"acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh",
		"days_in_month", "day_of_month", "day_of_week", "day_of_year", "hour", "minute", "month", "year",
		"histogram_avg", "histogram_count", "histogram_sum", "histogram_stddev", "histogram_stdvar",
		"timestamp", "start_timestamp":
		return true
	}
	return false
}

// dropsName tells whether a node drops the names of the rows that it makes of
// others.
func dropsName(n Node) bool {
	switch n := n.(type) {
	case *Instant:
		return n.Time != ""
	case *Rollup:
		return n.Func != "last_over_time" && n.Func != "first_over_time"
	case *Call:
		return eachRow(n.Func)
	case *Binary:
		return n.Bool || !n.Op.IsComparisonOperator() && n.Op != parser.TRIM_UPPER && n.Op != parser.TRIM_LOWER
	case *Minus:
		return true
	}
	return false
}

// hasMetadata tells whether a list of labels has one that goes with the name.
func hasMetadata(names []string) bool {
	return slices.ContainsFunc(names, schema.IsMetadataLabel)
}

// fixed tells whether all series of a selector have the same value of a label.
func fixed(s *Selector, name string) bool {
	return slices.ContainsFunc(s.Matchers, func(m *labels.Matcher) bool {
		return m.Type == labels.MatchEqual && m.Name == name
	})
}
