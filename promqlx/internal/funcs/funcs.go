package funcs

import (
	"regexp"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser/posrange"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// Input is what a function is called with besides the rows of its vector.
type Input struct {
	// Args are the arguments in the order of the text: scalars by step; nil for
	// a vector or a string.
	Args  [][]float64
	Texts []string // strings, by argument; "" for others
	// Absent are the labels that absent gives its series.
	Absent labels.Labels
	Pos    posrange.PositionRange // of the call
	ArgPos []posrange.PositionRange
	Env    *row.Env
	// Pattern is that of label_replace; if it is nil Check compiles it.
	Pattern *regexp.Regexp
}

// Func is one function. Exactly one of the forms is set; the date functions
// have two, Each for an argument and Scalar for none.
type Func struct {
	// Each computes a function that takes the series of its one vector one by
	// one, in place: r is the caller's own row. It drops the name where the
	// function does, and can leave the row empty.
	Each func(in *Input, r *row.Row)
	// Whole computes a function of all rows of its vectors, by argument (nil for
	// a scalar or a string). The rows are the function's own: it may change them
	// and hand them on. It is called without rows too: there can be annotations
	// all the same. At an instant the order of rows is the order of the answer.
	// When Env.Alive says that the evaluation is to end it may return anything.
	Whole func(in *Input, args [][]*row.Row) ([]*row.Row, error)
	// Scalar computes a function that yields a scalar (or a vector of one series
	// without labels: vector, and date functions without argument) into out, by
	// step.
	Scalar func(in *Input, args [][]*row.Row, out []float64)

	// Check tells what is wrong with the strings of a call; nil if nothing can
	// be. Prometheus' engine looks at them before it evaluates the arguments.
	// Whole returns the same error.
	Check func(in *Input) error
	// Join says that rows can come out with equal labels, or empty: the caller
	// passes all rows of the answer to Join.
	Join bool
}

// Lookup returns the function of the name; ok is false if this package has no
// such function.
func Lookup(name string) (f Func, ok bool) {
	for _, find := range [...]func(string) (Func, bool){
		floatFunc, sampleFunc, dateFunc, nativeFunc, scalarFunc, histogramFunc, vectorFunc,
	} {
		if f, ok := find(name); ok {
			return f, true
		}
	}
	return Func{}, false
}

// vectorFunc looks up the functions of whole vectors but those of histograms.
func vectorFunc(name string) (Func, bool) {
	switch name {
	case "absent":
		return Func{Whole: absent}, true
	case "sort":
		return Func{Whole: sortAscending}, true
	case "sort_desc":
		return Func{Whole: sortDescending}, true
	case "sort_by_label":
		return Func{Whole: sortByLabel}, true
	case "sort_by_label_desc":
		return Func{Whole: sortByLabelDescending}, true
	case "label_replace":
		return Func{Whole: labelReplace, Check: checkReplace}, true
	case "label_join":
		return Func{Whole: labelJoin, Check: checkJoin}, true
	}
	return Func{}, false
}

// Join leaves out empty rows and joins rows with equal labels, as row.MergeSame
// does. At an instant with names that are removed late it joins nothing, as
// Prometheus' engine (rangeEval) does not look at labels then before the end.
// The rows are changed.
func Join(env *row.Env, rows []*row.Row) ([]*row.Row, error) {
	out := rows[:0]
	for _, r := range rows {
		if !r.Empty() {
			out = append(out, r)
		}
	}
	if env.Instant() && env.DelayedNames {
		return out, nil
	}
	return row.MergeSame(out)
}

// each wraps a function in place into its form.
func each(f func(in *Input, r *row.Row)) (Func, bool) { return Func{Each: f, Join: true}, true }

// loseHistograms takes the histograms out of a row.
func loseHistograms(r *row.Row) {
	clear(r.H)
	r.H = r.H[:0]
}
