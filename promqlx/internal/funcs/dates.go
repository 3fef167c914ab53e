package funcs

import (
	"time"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// dateFunc looks up the functions of dates. (dateWrapper of Prometheus'
// promql/functions.go.)
func dateFunc(name string) (Func, bool) {
	f := datePart(name)
	if f == nil {
		return Func{}, false
	}
	return Func{
		Each: func(in *Input, r *row.Row) {
			fs := floats(in, r)
			for i, v := range fs {
				fs[i] = f(time.Unix(int64(v), 0).UTC())
			}
		},
		Scalar: func(in *Input, _ [][]*row.Row, out []float64) {
			for i := range out {
				out[i] = f(time.Unix(in.Env.Grid.T(i)/1000, 0).UTC())
			}
		},
		Join: true,
	}, true
}

func datePart(name string) func(time.Time) float64 {
	switch name {
	case "days_in_month":
		return func(t time.Time) float64 {
			return float64(32 - time.Date(t.Year(), t.Month(), 32, 0, 0, 0, 0, time.UTC).Day())
		}
	case "day_of_month":
		return func(t time.Time) float64 { return float64(t.Day()) }
	case "day_of_week":
		return func(t time.Time) float64 { return float64(t.Weekday()) }
	case "day_of_year":
		return func(t time.Time) float64 { return float64(t.YearDay()) }
	case "hour":
		return func(t time.Time) float64 { return float64(t.Hour()) }
	case "minute":
		return func(t time.Time) float64 { return float64(t.Minute()) }
	case "month":
		return func(t time.Time) float64 { return float64(t.Month()) }
	case "year":
		return func(t time.Time) float64 { return float64(t.Year()) }
	}
	return nil
}
