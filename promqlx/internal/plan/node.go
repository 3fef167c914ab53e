package plan

import (
	"regexp"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
)

// Node is a part of a plan. The trees are changed by rewrites alone, before
// they run; a running query reads them.
type Node interface {
	// Type is what the node yields.
	Type() parser.ValueType
	// Children are the nodes it reads, in the order they are evaluated.
	Children() []Node
	// Position is where in the text it stands; annotations name it.
	Position() posrange.PositionRange
}

// Pos is the position of a node in the text.
type Pos posrange.PositionRange

// Position returns the position as the parser gives it.
func (p Pos) Position() posrange.PositionRange { return posrange.PositionRange(p) }

// Number is a scalar constant.
type Number struct {
	Pos
	Value float64
}

// Text is a string constant.
type Text struct {
	Pos
	Value string
}

// Selector says which samples a leaf reads. At a step t the samples looked at
// are those at or before (At or t) - Offset.
type Selector struct {
	Pos
	Matchers []*labels.Matcher
	Offset   int64  // milliseconds, as written: it is not adjusted for At
	At       *int64 // the time of an @ modifier, in milliseconds
	// Anchored and Smoothed are the extended range modifiers.
	Anchored, Smoothed bool
	// StatsOnly tells that of histograms only count and sum are looked at
	// (SkipHistogramBuckets of Prometheus' parser).
	StatsOnly bool
	// Labels names the labels that are looked at above; nil means all. A
	// selector that nobody looks at the labels of has an empty, non-nil list.
	Labels []string
}

// Instant yields of each series the sample that is current at each step: an
// instant vector selector.
type Instant struct {
	Selector
	// Time makes the value of each sample its time ("timestamp") or its start
	// time ("start_timestamp"), in seconds, as these functions do of a selector;
	// empty for values. Such a node is the call: it drops the names. With Time,
	// Smoothed says nothing, and if there is an At as well the Offset does not
	// move the time looked at, only the samples that are read (see Ranges).
	Time string
	// TimePos is the position of the call of Time.
	TimePos Pos
	// Drift tells that At is the time of the first step, and that the time looked
	// at goes on with the steps: so it is in Prometheus' engine in the parameter
	// of an aggregation. Only samples that Ranges names are seen.
	Drift bool
	// Collide tells that rows can come out with equal labels; see Rollup.
	Collide bool
}

// Matrix yields all samples of a range: a range vector that is the answer
// itself. Functions over range vectors are Rollups.
type Matrix struct {
	Selector
	Range int64 // milliseconds
}

// Rollup applies a function to a window of samples at each step.
type Rollup struct {
	Pos          // of the call
	Func  string // name of the function
	Range int64  // length of the window in milliseconds, open on the left
	// RangeRest and OffsetRest are what Range and the offset of the selector or
	// subquery lack of what was written: x[0.0015]. Rates divide by it.
	RangeRest, OffsetRest time.Duration
	Selector              *Selector // what the windows slide over: this,
	Subquery              *Subquery // or this
	// Args are the scalar arguments, in the order of the text without the range
	// vector, which stands at RangeArg among them.
	Args     []Node
	RangeArg int
	// ArgPos are the positions of all arguments, the range vector's included.
	ArgPos []Pos
	// Absent are the labels that absent_over_time gives its series.
	Absent labels.Labels
	// Collide tells that dropping names can leave rows with equal labels, which
	// are then to be joined (row.MergeSame). It is true unless the opposite was
	// found out.
	Collide bool
	// Stats tells that the values can be had from statistics of whole blocks
	// where a window covers them.
	Stats bool
}

// Subquery evaluates a node on a grid of its own.
type Subquery struct {
	Pos
	Child  Node
	Range  int64  // milliseconds
	Step   int64  // milliseconds, positive; the default is filled in
	Offset int64  // milliseconds, as written
	At     *int64 // milliseconds
}

// Call applies a function to instant vectors and scalars.
type Call struct {
	Pos
	Func   string
	Args   []Node // strings are Text
	ArgPos []Pos
	// Absent are the labels that absent gives its series.
	Absent labels.Labels
	// Pattern is that of label_replace, compiled once for all that run the plan; nil
	// if whoever evaluates is to compile it: if it is wrong, or may be large.
	Pattern *regexp.Regexp
	// Collide tells that rows can come out with equal labels; see Rollup.
	Collide bool
}

// Info joins the labels of info metrics to a vector: the function info.
//
// Info series are those that have all Names and Data, and instance and job as
// rows of the child have them. At a step t they are looked at at (At or t) -
// Offset, like an Instant.
type Info struct {
	Pos
	Child  Node
	Names  []*labels.Matcher // of the info metrics' names, at least one
	Data   []*labels.Matcher // of the labels to join; none means all
	Offset int64             // milliseconds
	At     *int64            // milliseconds
}

// Aggregate joins series into groups.
type Aggregate struct {
	Pos
	Op       parser.ItemType
	Child    Node
	Param    Node     // of topk, bottomk, limitk, limit_ratio, quantile, count_values; or nil
	Grouping []string // sorted
	Without  bool     // Grouping then has the metadata labels too (__name__, __type__, __unit__)
	// ChildPos and ParamPos are the positions of the expressions as written.
	ChildPos, ParamPos Pos
	// Fused tells that the rows of the child come from a selector one by one, each
	// with the labels of its series but for the names, and that no name is in
	// Grouping: so a row's group is that of the series it comes from.
	Fused bool
}

// Binary combines two nodes.
type Binary struct {
	Pos
	Op          parser.ItemType
	Left, Right Node
	Matching    *parser.VectorMatching // nil unless both sides are vectors
	Bool        bool
	Collide     bool // rows can come out with equal labels; see Rollup

	known parser.ValueType // see settleTypes
}

// Minus is the unary minus.
type Minus struct {
	Pos
	Child   Node
	Collide bool // rows can come out with equal labels; see Rollup

	known parser.ValueType // see settleTypes
}

// Once evaluates a node at the first step and repeats its values at all others.
type Once struct{ Child Node }

// Shared is one of several places of a plan that say the same, on the same grid,
// and so yield the same rows: these have the same ID. The first that is evaluated
// keeps its rows for the others.
//
// Each place has a Child of its own, since annotations name its position. If the
// first evaluation yields annotations, the others must be evaluated too, for
// theirs.
type Shared struct {
	ID    int
	Child Node
	Uses  int // how many places there are
}

// Type and Children, in the order of the nodes above.

func (*Number) Type() parser.ValueType    { return parser.ValueTypeScalar }
func (*Text) Type() parser.ValueType      { return parser.ValueTypeString }
func (*Instant) Type() parser.ValueType   { return parser.ValueTypeVector }
func (*Matrix) Type() parser.ValueType    { return parser.ValueTypeMatrix }
func (*Rollup) Type() parser.ValueType    { return parser.ValueTypeVector }
func (*Subquery) Type() parser.ValueType  { return parser.ValueTypeMatrix }
func (*Info) Type() parser.ValueType      { return parser.ValueTypeVector }
func (*Aggregate) Type() parser.ValueType { return parser.ValueTypeVector }
func (n *Once) Type() parser.ValueType    { return n.Child.Type() }
func (n *Shared) Type() parser.ValueType  { return n.Child.Type() }

// settleTypes notes the types of nodes that have those of their children: to ask all
// of a deep tree takes quadratic time otherwise. No rewrite changes one.
func settleTypes(n Node) {
	for _, c := range n.Children() {
		settleTypes(c)
	}
	switch n := n.(type) {
	case *Binary:
		n.known = n.Type()
	case *Minus:
		n.known = n.Type()
	}
}

func (n *Minus) Type() parser.ValueType {
	if n.known != "" {
		return n.known
	}
	return n.Child.Type()
}

func (n *Call) Type() parser.ValueType {
	switch n.Func {
	case "scalar", "time", "pi", "max_of", "min_of":
		return parser.ValueTypeScalar
	}
	return parser.ValueTypeVector
}

func (n *Binary) Type() parser.ValueType {
	if n.known != "" {
		return n.known
	}
	if n.Left.Type() == parser.ValueTypeScalar && n.Right.Type() == parser.ValueTypeScalar {
		return parser.ValueTypeScalar
	}
	return parser.ValueTypeVector
}

func (*Number) Children() []Node  { return nil }
func (*Text) Children() []Node    { return nil }
func (*Instant) Children() []Node { return nil }
func (*Matrix) Children() []Node  { return nil }

func (n *Rollup) Children() []Node {
	if n.Subquery != nil {
		return append([]Node{n.Subquery}, n.Args...)
	}
	return n.Args
}

func (n *Subquery) Children() []Node { return []Node{n.Child} }
func (n *Call) Children() []Node     { return n.Args }
func (n *Info) Children() []Node     { return []Node{n.Child} }

func (n *Aggregate) Children() []Node {
	if n.Param != nil {
		return []Node{n.Param, n.Child}
	}
	return []Node{n.Child}
}

func (n *Binary) Children() []Node { return []Node{n.Left, n.Right} }
func (n *Minus) Children() []Node  { return []Node{n.Child} }
func (n *Once) Children() []Node   { return []Node{n.Child} }
func (n *Shared) Children() []Node { return []Node{n.Child} }

func (n *Once) Position() posrange.PositionRange   { return n.Child.Position() }
func (n *Shared) Position() posrange.PositionRange { return n.Child.Position() }
