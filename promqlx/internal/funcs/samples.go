package funcs

import "github.com/varvedb/varve/promqlx/internal/row"

// sampleFunc looks up the functions of samples' times.
func sampleFunc(name string) (Func, bool) {
	switch name {
	case "timestamp":
		return each(timestamp)
	case "start_timestamp":
		return each(startTimestamp)
	}
	return Func{}, false
}

// timestamp yields the times of the samples of an expression, which are those
// of the steps, in seconds.
func timestamp(in *Input, r *row.Row) {
	for i, h := range r.H {
		if h != nil {
			r.Has.Set(i)
		}
	}
	for i := range floats(in, r) {
		r.F[i] = float64(in.Env.Grid.T(i)) / 1000
	}
}

// startTimestamp yields nothing: samples of an expression have no start time.
func startTimestamp(in *Input, r *row.Row) {
	floats(in, r)
	r.Has.Clear()
}
