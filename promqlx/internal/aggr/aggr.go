package aggr

import (
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// Spec says what to aggregate.
type Spec struct {
	Op       parser.ItemType
	Param    []float64 // of topk, bottomk, limitk, limit_ratio and quantile, by step
	Text     string    // label of count_values
	Grouping []string  // sorted; with the metadata labels if Without
	Without  bool
	// Pos is the position of the aggregation, ChildPos and ParamPos those of its
	// arguments.
	Pos, ChildPos, ParamPos posrange.PositionRange
}

// Accumulator holds the groups of one aggregation.
type Accumulator interface {
	// Add folds r, which is not empty, into group g. Groups are numbered from 0
	// in the order they first appear. r belongs to the caller: what is needed of
	// it later is copied.
	Add(g int, r *row.Row)
	// Finish hands over the results in the order in which Prometheus' engine has
	// them in an instant query. groups are the label sets of the groups. A row
	// given to emit is valid during the call only. It is called once, at last.
	Finish(groups []labels.Labels, emit func(*row.Row) error) error
	// Bytes returns the memory held, for the query's budget.
	Bytes() int64
}
