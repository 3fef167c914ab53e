package binop_test

import (
	"math"
	"testing"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/VictoriaMetrics/metricsql/binaryop"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql/binop"
	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// bits tells floats apart that == does not; all NaNs are one.
func bits(v float64) uint64 {
	if math.IsNaN(v) {
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(v)
}

// obvious are the operators one value at a time, as the parser's own library has
// them to fold constants.
var obvious = map[string]func(l, r float64) float64{
	"+": binaryop.Plus, "-": binaryop.Minus, "*": binaryop.Mul, "/": binaryop.Div,
	"%": binaryop.Mod, "^": binaryop.Pow, "atan2": binaryop.Atan2,
}

var obviousComparisons = map[string]func(l, r float64) bool{
	"==": binaryop.Eq, "!=": binaryop.Neq, ">": binaryop.Gt, "<": binaryop.Lt, ">=": binaryop.Gte, "<=": binaryop.Lte,
}

func keep(f func(l, r float64) bool) func(l, r float64) float64 {
	return func(l, r float64) float64 {
		if f(l, r) {
			return l
		}
		return math.NaN()
	}
}

func truth(f func(l, r float64) bool) func(l, r float64) float64 {
	return func(l, r float64) float64 {
		switch {
		case math.IsNaN(l):
			return math.NaN()
		case f(l, r):
			return 1
		}
		return 0
	}
}

// All operators do the same to all pairs of odd values as the obvious ones, be the
// sides series or scalars, filled or not.
func TestKernelsAreTheObviousOnes(t *testing.T) {
	odd := []float64{0, math.Copysign(0, -1), 1, -1, 2.5, -7, 1e308, -1e308, 5e-324, math.Inf(1), math.Inf(-1), math.NaN()}
	var left, right []float64
	for _, l := range odd {
		for _, r := range odd {
			left, right = append(left, l), append(right, r)
		}
	}
	check := func(be *mql.BinaryOpExpr, want func(l, r float64) float64) {
		t.Helper()
		for _, tags := range [][2]string{{"1", "1"}, {"1", ""}, {"", "1"}} {
			mk := func(tag string, values []float64) []*series.Series {
				s := &series.Series{Values: append([]float64(nil), values...)}
				if tag != "" {
					s.Name.Add("x", tag)
				}
				return []*series.Series{s}
			}
			got, err := binop.Eval(&binop.Call{Expr: be, Left: mk(tags[0], left), Right: mk(tags[1], right)})
			require.NoError(t, err)
			require.Len(t, got, 1)
			for i, v := range got[0].Values {
				l, r := left[i], right[i]
				if math.IsNaN(l) != math.IsNaN(r) {
					if math.IsNaN(l) && be.FillLeft != nil {
						l = be.FillLeft.N
					}
					if math.IsNaN(r) && be.FillRight != nil {
						r = be.FillRight.N
					}
				}
				require.Equal(t, bits(want(l, r)), bits(v), "%v %s %v", l, be.AppendString(nil), r)
			}
		}
	}
	for _, fill := range [][2]*mql.NumberExpr{{}, {{N: 3}, {N: -2}}, {{N: 3}, nil}, {nil, {N: -2}}} {
		mk := func(op string, isBool bool) *mql.BinaryOpExpr {
			return &mql.BinaryOpExpr{Op: op, Bool: isBool, FillLeft: fill[0], FillRight: fill[1], Left: &mql.NumberExpr{}, Right: &mql.NumberExpr{}}
		}
		for op, f := range obvious {
			check(mk(op, false), f)
		}
		for op, f := range obviousComparisons {
			check(mk(op, false), keep(f))
			check(mk(op, true), truth(f))
		}
	}
}

func BenchmarkEval(b *testing.B) {
	f := func(query string, scalar bool) {
		b.Run(query, func(b *testing.B) {
			e, err := mql.Parse(query)
			require.NoError(b, err)
			var left, right []*series.Series
			for i := range 1000 {
				s := series.Constant(float64(i), 100)
				s.Name.Add("hostname", "host_"+string(rune('a'+i%26))+string(rune('a'+i/26)))
				left = append(left, s)
				right = append(right, s.Clone())
			}
			if scalar {
				right = []*series.Series{series.Constant(500, 100)}
			}
			b.SetBytes(1000 * 100 * 8)
			b.ReportAllocs()
			for b.Loop() {
				got, err := binop.Eval(&binop.Call{Expr: e.(*mql.BinaryOpExpr), Left: left, Right: right})
				if err != nil || len(got) != 1000 {
					b.Fatal(len(got), err)
				}
			}
		})
	}
	f("a >= 500", true)
	f("a + b", false)
	f("a or b", false)
	f("a default b", false)
}
