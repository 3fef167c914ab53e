package funcs_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/funcs"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// thousand makes a world of 1000 series of 720 steps: metric f, and b of 100
// classic histograms of 10 buckets.
func thousand() *world {
	w := &world{grid: row.Grid{Start: 1e12, Step: 15000, N: 720}}
	for k := range 100 {
		counts := make([]float64, w.grid.N)
		for j, le := range []string{"0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "5", "+Inf"} {
			r := row.New(w.grid.N)
			r.Labels = labels.FromStrings(labels.MetricName, "b", "instance", fmt.Sprintf("host-%03d", k), "job", "api", "le", le)
			for i := range counts {
				counts[i] += float64((i*7+j*13+k)%29) * 0.25
				r.SetF(i, counts[i])
			}
			w.rows = append(w.rows, r)
		}
	}
	for k := range 1000 {
		r := row.New(w.grid.N)
		r.Labels = labels.FromStrings(labels.MetricName, "f", "instance", fmt.Sprintf("host-%03d", k), "job", "api")
		for i := range r.F {
			r.SetF(i, float64((i*7+k)%1000)*1.25)
		}
		w.rows = append(w.rows, r)
	}
	return w
}

var benchCalls = []string{
	"abs(f)", "ceil(f)", "ln(f)", "sin(f)", "round(f)", "round(f, 5)", "clamp(f, 10, 500)", "sgn(f)", "hour(f)", "year(f)", "day_of_year(f)",
	"timestamp(abs(f))", `label_replace(f, "x", "$1", "instance", "host-(.*)")`,
	"histogram_quantile(0.9, b)", "histogram_fraction(0, 0.2, b)", `histogram_quantiles(b, "q", 0.5, 0.9, 0.99)`,
}

// BenchmarkOurs computes a call on rows that are there: 1000 series x 720
// steps. Copying the rows is in it.
func BenchmarkOurs(b *testing.B) {
	w := thousand()
	for _, query := range append([]string{"f", "b"}, benchCalls...) {
		expr, err := testParser().ParseExpr(query)
		require.NoError(b, err)
		b.Run(query, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m := &mini{world: w, env: row.Env{Grid: w.grid}}
				if _, _, err := m.eval(expr); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPerStep calls Prometheus' functions at each step on a vector that is
// gathered there. What its engine does with the results is not in it.
func BenchmarkPerStep(b *testing.B) {
	w := thousand()
	for _, query := range benchCalls {
		expr, err := testParser().ParseExpr(query)
		require.NoError(b, err)
		call := expr.(*parser.Call)
		f := promql.FunctionCalls[call.Func.Name]
		if f == nil || call.Func.Name == "timestamp" {
			continue
		}
		m := &mini{world: w, env: row.Env{Grid: w.grid}}
		args := make([][]*row.Row, len(call.Args))
		for k, a := range call.Args {
			if a.Type() != parser.ValueTypeString {
				args[k], _, err = m.eval(a)
				require.NoError(b, err)
			}
		}
		b.Run(query, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				perStep(w, f, call.Args, args)
			}
		})
	}
}

func perStep(w *world, f promql.FunctionCall, exprs parser.Expressions, args [][]*row.Row) {
	enh := &promql.EvalNodeHelper{}
	vectors := make([]promql.Vector, len(args))
	for i := range w.grid.N {
		enh.Ts = w.grid.T(i)
		for k, rows := range args {
			vectors[k] = vectors[k][:0]
			for _, r := range rows {
				vectors[k] = append(vectors[k], promql.Sample{T: enh.Ts, F: r.F[i], Metric: r.Labels})
			}
		}
		out, _ := f(vectors, nil, exprs, enh)
		enh.Out = out[:0]
	}
}

// BenchmarkEach computes the loops alone, over and over on the same row.
func BenchmarkEach(b *testing.B) {
	w := thousand()
	for _, name := range []string{"abs", "ceil", "sqrt", "ln", "sin", "sgn", "round", "hour", "year", "timestamp", "clamp"} {
		f, ok := funcs.Lookup(name)
		require.True(b, ok)
		r := w.rows[1500].Clone()
		in := &funcs.Input{Env: &row.Env{Grid: w.grid}, Args: make([][]float64, len(parser.Functions[name].ArgTypes))}
		for k := range in.Args {
			in.Args[k] = make([]float64, w.grid.N)
			for i := range in.Args[k] {
				in.Args[k][i] = float64(k * 100)
			}
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f.Each(in, r)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*w.grid.N), "ns/step")
		})
	}
}
