package binop

import (
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// Join combines two vectors: arithmetic, comparisons and set operators.
type Join struct {
	Op       parser.ItemType
	Matching *parser.VectorMatching
	Bool     bool
	Pos      posrange.PositionRange
	Env      *row.Env
}

// oneLeft tells whether the left side is the "one" side, which a stream has as a
// whole before rows of the other side are added. Else it is the right one.
func (j *Join) oneLeft() bool { return j.Matching.Card == parser.CardOneToMany }

// Run combines left and right, whose rows are not empty and belong to the join:
// results reuse their memory, and no row may be on both sides. Results come in
// the order of the "many" side (the left one, if there is none), then those of
// unmatched rows of the other side. Rows with equal labels are joined; where
// they meet the error is row.ErrSameLabels. Annotations are added at the end.
func (j *Join) Run(left, right []*row.Row) ([]*row.Row, error) {
	many, one := left, right
	if j.oneLeft() {
		many, one = one, many
	}
	s := j.stream(one, len(many))
	s.fresh = true
	held := int64(0)
	out := make([]*row.Row, 0, len(many))
	emit := func(r *row.Row) error {
		out = append(out, r)
		return nil
	}
	for i, r := range many {
		if err := j.Env.Alive(i); err != nil {
			return nil, err
		}
		if err := s.Add(r, emit); err != nil {
			return nil, err
		}
		if bytes := s.Bytes(); bytes-held > 1<<16 {
			if err := j.Env.Hold(uint64(bytes - held)); err != nil {
				return nil, err
			}
			held = bytes
		}
	}
	if err := s.End(emit); err != nil {
		return nil, err
	}
	if !s.again && !j.Op.IsSetOperator() {
		return out, nil
	}
	return j.mergeRows(out)
}
