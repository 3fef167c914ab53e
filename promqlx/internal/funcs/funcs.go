package funcs

import (
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
}

// Func is one function. Exactly one of the forms is set.
type Func struct {
	// Each computes a function that takes the series of its one vector one by
	// one, in place: r is the caller's own row. It drops the name where the
	// function does. The caller joins rows that have become equal (row.MergeSame)
	// and leaves out empty ones.
	Each func(in *Input, r *row.Row)
	// Whole computes a function of all rows of its vectors, by argument (nil for
	// a scalar or a string). The rows are the function's own: it may change them
	// and hand them on.
	Whole func(in *Input, args [][]*row.Row) ([]*row.Row, error)
	// Scalar computes a function that yields a scalar (or a vector of one series
	// without labels: vector, and date functions without argument) into out, by
	// step.
	Scalar func(in *Input, args [][]*row.Row, out []float64)
}
