package funcs

import "github.com/varvedb/varve/promqlx/internal/row"

// absent yields 1 at the steps at which no series has a sample.
func absent(in *Input, args [][]*row.Row) ([]*row.Row, error) {
	out := row.New(in.Env.Grid.N)
	out.Labels = in.Absent
	out.Has.Fill(in.Env.Grid.N)
	for _, r := range args[0] {
		for k, has := range r.Has {
			out.Has[k] &^= has
		}
		for i, h := range r.H {
			if h != nil {
				out.Has.Unset(i)
			}
		}
	}
	if !out.Has.Any() {
		return nil, nil
	}
	for i := range out.F {
		out.F[i] = 1
	}
	return []*row.Row{out}, nil
}
