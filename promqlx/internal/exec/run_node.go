package exec

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"

	"github.com/varvedb/varve/promqlx/internal/binop"
	"github.com/varvedb/varve/promqlx/internal/budget"
	"github.com/varvedb/varve/promqlx/internal/funcs"
	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// run evaluates a vector or a scalar on a grid and hands its rows to emit, in
// order, none of them empty. A row is the receiver's, to change too, until emit
// returns.
func (q *query) run(ctx context.Context, n plan.Node, g scope, emit func(*row.Row) error) error {
	if err := budget.Alive(ctx); err != nil {
		return err
	}
	if g.N == 0 {
		return nil
	}
	if g.trace.Enabled() {
		return q.traced(ctx, n, g, emit)
	}
	return q.node(ctx, n, g, emit)
}

// node is run without what is the same for all nodes.
func (q *query) node(ctx context.Context, n plan.Node, g scope, emit func(*row.Row) error) error {
	if n.Type() == parser.ValueTypeScalar {
		vals, err := q.scalar(ctx, n, g)
		if err != nil {
			return err
		}
		defer q.letGo(vals)
		return emit(scalarRow(vals))
	}
	switch x := n.(type) {
	case *plan.Instant:
		return q.instant(ctx, x, g, emit)
	case *plan.Rollup:
		return q.rollup(ctx, x, g, emit)
	case *plan.Aggregate:
		return q.aggregate(ctx, x, g, emit)
	case *plan.Call:
		return q.call(ctx, x, g, emit)
	case *plan.Binary:
		return q.binary(ctx, x, g, emit)
	case *plan.Info:
		return q.info(ctx, x, g, emit)
	case *plan.Minus:
		return q.minus(ctx, x, g, emit)
	case *plan.Once:
		return q.once(ctx, x, g, emit)
	case *plan.Shared:
		return q.sharedNode(ctx, x, g, emit)
	}
	panic(fmt.Sprintf("exec: a plan with a %T where rows are read", n))
}

func scalarRow(vals []float64) *row.Row {
	r := &row.Row{Key: -1, F: vals, Has: row.NewBits(len(vals))}
	r.Has.Fill(len(vals))
	return r
}

// letGo tells of scalars that are not needed any more.
func (q *query) letGo(scalars ...[]float64) {
	for _, s := range scalars {
		q.Meter.Shrink(8 * int64(len(s)))
	}
}

// scalar evaluates a scalar by step. What it takes is counted until it is let go.
func (q *query) scalar(ctx context.Context, n plan.Node, g scope) ([]float64, error) {
	if err := q.Meter.Grow(8 * int64(g.N)); err != nil {
		return nil, err
	}
	out := make([]float64, g.N)
	g.keys = nil
	switch x := n.(type) {
	case *plan.Number:
		fill(out, x.Value)
	case *plan.Once:
		first, count := g.once()
		vals, err := q.scalar(ctx, x.Child, first)
		if err != nil {
			return nil, err
		}
		count()
		fill(out, vals[0])
		q.letGo(vals)
	case *plan.Shared:
		q.letGo(out)
		return q.scalar(ctx, x.Child, g)
	case *plan.Minus:
		vals, err := q.scalar(ctx, x.Child, g)
		if err != nil {
			return nil, err
		}
		for i, v := range vals {
			out[i] = -v
		}
		q.letGo(vals)
	case *plan.Binary:
		l, err := q.scalar(ctx, x.Left, g)
		if err != nil {
			return nil, err
		}
		r, err := q.scalar(ctx, x.Right, g)
		if err != nil {
			return nil, err
		}
		binop.Scalars(x.Op, l, r, out)
		q.letGo(l, r)
	case *plan.Call:
		c, err := q.prepare(ctx, x, g)
		if err != nil {
			return nil, err
		}
		defer q.note(c.in.Env)
		defer c.free()
		c.Scalar(c.in, c.args, out)
	default:
		panic(fmt.Sprintf("exec: a plan with a %T where a scalar is read", n))
	}
	return out, nil
}

func fill(out []float64, v float64) {
	for i := range out {
		out[i] = v
	}
}

// prepared is a call whose arguments were evaluated.
type prepared struct {
	funcs.Func
	in   *funcs.Input
	args [][]*row.Row // rows by argument
	kept []*table     // that hold them
	add  func()       // adds the annotations of scalars behind the vector

	letGo func(scalars ...[]float64)
}

// free lets the rows of the arguments go.
func (c *prepared) free() {
	for _, t := range c.kept {
		t.free()
	}
	c.letGo(c.in.Args...)
}

// prepare evaluates the arguments of a call; vectors are kept as rows, but for
// that of a function that takes them one by one.
func (q *query) prepare(ctx context.Context, n *plan.Call, g scope) (*prepared, error) {
	f, ok := funcs.Lookup(n.Func)
	if !ok {
		return nil, fmt.Errorf("unknown function with name %q", n.Func)
	}
	if len(n.Args) == 0 {
		f.Each = nil // as of a date function: of the steps' own times
	}
	c := &prepared{Func: f, letGo: q.letGo, args: make([][]*row.Row, len(n.Args)), in: &funcs.Input{
		Args: make([][]float64, len(n.Args)), Texts: make([]string, len(n.Args)), Absent: n.Absent, Pattern: n.Pattern,
		Pos: n.Position(), ArgPos: positions(n.ArgPos), Env: q.env(g.Grid),
	}}
	for i, a := range n.Args {
		if text, ok := a.(*plan.Text); ok {
			c.in.Texts[i] = text.Value
		}
	}
	if f.Check != nil {
		if err := f.Check(c.in); err != nil {
			return nil, err
		}
	}
	if f.Each == nil {
		return c, q.arguments(ctx, n, c, g)
	}
	var err error
	c.add, err = q.aside(func() error { return q.arguments(ctx, n, c, g) })
	return c, err
}

func (q *query) arguments(ctx context.Context, n *plan.Call, c *prepared, g scope) (err error) {
	for i, a := range n.Args {
		switch {
		case a.Type() == parser.ValueTypeString:
		case a.Type() == parser.ValueTypeScalar:
			c.in.Args[i], err = q.scalar(ctx, a, g)
		case c.Each == nil:
			t := q.newTable(g.Grid)
			err = q.run(ctx, a, g, t.add)
			c.args[i], c.kept = t.rows, append(c.kept, t)
		}
		if err == nil {
			continue
		}
		if c.Each != nil && slices.Contains(n.Args[:i], vectorOf(n)) {
			return q.firstError(ctx, vectorOf(n), g, err)
		}
		return err
	}
	return nil
}

// firstError returns what fails first when arguments are evaluated in their order: a vector
// that stands before the argument that failed with an error, but whose rows are taken one
// by one after it, is evaluated only now.
func (q *query) firstError(ctx context.Context, before plan.Node, g scope, err error) error {
	if first := q.run(ctx, before, g, func(*row.Row) error { return nil }); first != nil {
		return first
	}
	return err
}

func positions(ps []plan.Pos) []posrange.PositionRange {
	out := make([]posrange.PositionRange, len(ps))
	for i, p := range ps {
		out[i] = p.Position()
	}
	return out
}

// call evaluates a function of vectors.
func (q *query) call(ctx context.Context, n *plan.Call, g scope, emit func(*row.Row) error) error {
	c, err := q.prepare(ctx, n, g)
	if err != nil {
		return err
	}
	defer q.note(c.in.Env)
	defer c.free()
	switch {
	case c.Each != nil:
		defer c.add()
		return q.merging(n.Collide && c.Join, g, emit, func(emit func(*row.Row) error) error {
			return q.run(ctx, vectorOf(n), g, func(r *row.Row) error {
				c.Each(c.in, r)
				if r.Empty() {
					return nil
				}
				return emit(r)
			})
		})
	case c.Scalar != nil:
		out := make([]float64, g.N) // counted as those of its arguments
		c.Scalar(c.in, c.args, out)
		return emit(scalarRow(out))
	}
	rows, err := c.Whole(c.in, c.args)
	if ended := q.ended(); ended != nil {
		return ended
	}
	if err == nil && c.Join {
		rows, err = funcs.Join(c.in.Env, rows)
	}
	if err != nil {
		return err
	}
	return q.emitAll(rows, emit)
}

// vectorOf returns the one argument of a call that is a vector.
func vectorOf(n *plan.Call) plan.Node {
	for _, a := range n.Args {
		if a.Type() == parser.ValueTypeVector {
			return a
		}
	}
	panic("exec: a function of vectors without one: " + n.Func)
}

// merging runs what may emit several rows of one label set, and joins them if
// it does.
func (q *query) merging(collide bool, g scope, emit func(*row.Row) error, run func(emit func(*row.Row) error) error) error {
	if !collide {
		return run(emit)
	}
	t := q.newTable(g.Grid)
	defer t.free()
	if err := run(t.add); err != nil {
		return err
	}
	rows, err := funcs.Join(q.env(g.Grid), t.rows)
	if err != nil {
		return err
	}
	return q.emitAll(rows, emit)
}

// once evaluates at the first step and repeats the value.
func (q *query) once(ctx context.Context, n *plan.Once, g scope, emit func(*row.Row) error) error {
	out := row.New(g.N)
	first, count := g.once()
	defer count()
	return q.run(ctx, n.Child, first, func(r *row.Row) error {
		out.Reset()
		out.Labels, out.DropName, out.Key = r.Labels, r.DropName, r.Key
		if h := r.HAt(0); h != nil {
			for i := range g.N {
				out.SetH(i, h)
			}
		} else {
			fill(out.F, r.F[0])
			out.Has.Fill(g.N)
		}
		return emit(out)
	})
}

// sharedNode evaluates a node that stands at several places the first time, and
// keeps its rows. If there are annotations every place is evaluated, for they
// tell its position.
func (q *query) sharedNode(ctx context.Context, n *plan.Shared, g scope, emit func(*row.Row) error) error {
	t, ok := q.shared[n.ID]
	if !ok {
		t = q.newTable(g.Grid)
		add, err := q.aside(func() error {
			err := q.run(ctx, n.Child, g, t.add)
			t.noted = len(q.annos) > 0
			return err
		})
		if add(); err != nil {
			return err
		}
		if q.shared == nil {
			q.shared = map[int]*table{}
		}
		q.shared[n.ID] = t
	} else if t.noted {
		return q.run(ctx, n.Child, g, emit)
	}
	out := row.New(g.N)
	for _, r := range t.rows {
		out.Reset()
		out.Labels, out.DropName, out.Key = r.Labels, r.DropName, r.Key
		copy(out.F, r.F)
		copy(out.Has, r.Has)
		for i, h := range r.H {
			if h != nil {
				out.SetH(i, h)
			}
		}
		if err := emit(out); err != nil {
			return err
		}
	}
	return nil
}

func (q *query) minus(ctx context.Context, n *plan.Minus, g scope, emit func(*row.Row) error) error {
	env := q.env(g.Grid)
	return q.merging(n.Collide && !q.DelayedNames, g, emit, func(emit func(*row.Row) error) error {
		return q.run(ctx, n.Child, g, func(r *row.Row) error {
			binop.Minus(env, r)
			return emit(r)
		})
	})
}

// binary combines two nodes of which one at least is a vector.
func (q *query) binary(ctx context.Context, n *plan.Binary, g scope, emit func(*row.Row) error) error {
	left, right := n.Left.Type() == parser.ValueTypeScalar, n.Right.Type() == parser.ValueTypeScalar
	if !left && !right {
		return q.join(ctx, n, g, emit)
	}
	vector, number := n.Left, n.Right
	if left {
		vector, number = n.Right, n.Left
	}
	var vals []float64
	add, err := q.aside(func() (err error) {
		vals, err = q.scalar(ctx, number, g)
		return err
	})
	if err != nil && !left {
		return q.firstError(ctx, vector, g, err)
	}
	if err != nil {
		return err
	}
	if left {
		add()
	}
	op := &binop.VectorScalar{Op: n.Op, Swap: left, Bool: n.Bool, Pos: n.Position(), Env: q.env(g.Grid)}
	err = q.merging(n.Collide && (!q.DelayedNames || g.Ranged), g, emit, func(emit func(*row.Row) error) error {
		return q.run(ctx, vector, g, func(r *row.Row) error {
			op.Each(r, vals)
			if r.Empty() {
				return nil
			}
			return emit(r)
		})
	})
	if err != nil {
		return err
	}
	if !left {
		add()
	}
	q.letGo(vals)
	defer q.note(op.Env)
	return op.Finish()
}

func (q *query) join(ctx context.Context, n *plan.Binary, g scope, emit func(*row.Row) error) error {
	left, right := q.newTable(g.Grid), q.newTable(g.Grid)
	defer left.free()
	defer right.free()
	if err := q.run(ctx, n.Left, g, left.add); err != nil {
		return err
	}
	if err := q.run(ctx, n.Right, g, right.add); err != nil {
		return err
	}
	j := &binop.Join{Op: n.Op, Matching: n.Matching, Bool: n.Bool, Pos: n.Position(), Env: q.env(g.Grid)}
	defer q.note(j.Env)
	rows, err := j.Run(left.rows, right.rows)
	if err != nil {
		return err
	}
	return q.emitAll(rows, emit)
}
