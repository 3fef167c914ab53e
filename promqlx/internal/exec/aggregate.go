package exec

import (
	"context"
	"fmt"
	"strconv"

	"github.com/prometheus/common/model"

	"github.com/varvedb/varve/promqlx/internal/aggr"
	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// aggregate folds the rows of a node into groups as they come.
func (q *query) aggregate(ctx context.Context, n *plan.Aggregate, g scope, emit func(*row.Row) error) error {
	spec := aggr.Spec{
		Op: n.Op, Grouping: n.Grouping, Without: n.Without,
		Pos: n.Position(), ChildPos: n.ChildPos.Position(), ParamPos: n.ParamPos.Position(),
	}
	g.keys = nil
	switch param := n.Param.(type) {
	case nil:
	case *plan.Text:
		if !model.UTF8Validation.IsValidLabelName(param.Value) {
			return fmt.Errorf("invalid label name %s", strconv.Quote(param.Value))
		}
		spec.Text = param.Value
	default:
		var err error
		if spec.Param, err = q.scalar(ctx, param, g); err != nil {
			return err
		}
	}
	keys := keysOf(n)
	env := q.env(g.Grid)
	env.Slabs = q.Memory
	defer q.note(env)
	f := &folder{q: q, acc: aggr.New(spec, env), grouper: aggr.NewGrouper(spec, keys.labelsOf())}
	defer func() {
		f.acc.Free()
		q.Meter.Shrink(f.held)
	}()
	below := g
	below.keys, below.kept = keys, 0
	if err := q.run(ctx, n.Child, below, f.fold); err != nil {
		return err
	}
	emitted := 0
	if g.kept > 0 {
		q.rows = len(f.grouper.Labels()) // or more, where rows are chosen
	}
	return f.acc.Finish(f.grouper.Labels(), func(r *row.Row) error {
		if emitted++; emitted&63 == 0 {
			if err := q.ended(); err != nil {
				return err
			}
		}
		if r.Empty() {
			return nil
		}
		return emit(r)
	})
}

// folder gives each row to its group.
type folder struct {
	q       *query
	acc     aggr.Accumulator
	grouper *aggr.Grouper
	held    int64 // bytes that the meter was told of
}

func (f *folder) fold(r *row.Row) error {
	f.acc.Add(f.grouper.Group(r), r)
	if bytes := f.acc.Bytes() + f.grouper.Bytes(); bytes-f.held > 1<<16 {
		if err := f.q.Meter.Grow(bytes - f.held); err != nil {
			return err
		}
		f.held = bytes
	}
	return nil
}

// keysOf returns an order for group numbers if the rows can be grouped without
// looking at labels.
func keysOf(n *plan.Aggregate) *keys {
	if !n.Fused || n.Without {
		return nil
	}
	return &keys{by: n.Grouping}
}
