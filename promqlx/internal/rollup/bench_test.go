package rollup

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// benchShapes are windows and steps over evenly spaced series.
var benchShapes = []struct {
	name                         string
	interval, span, window, step int64 // seconds
}{
	{"12h@10s[1h]:1h", 10, 12 * 3600, 3600, 3600},
	{"6h@10s[5m]:60s", 10, 6 * 3600, 300, 60},
	{"6h@10s[5m]:15s", 10, 6 * 3600, 300, 15},
	{"6h@10s[1h]:60s", 10, 6 * 3600, 3600, 60},
	{"27h@10s[1d]:10s", 10, 27 * 3600, 86400, 10},
	{"3h@10s[1m]:10s", 10, 3 * 3600, 60, 10},
}

func benchInput(name string, interval, span, window, step int64, value func(i int) float64) *Input {
	in := &Input{Range: window * 1000, Name: func() string { return "m" }, Scratch: &Scratch{}}
	for t := int64(0); t <= span; t += interval {
		in.T = append(in.T, t*1000)
		in.F = append(in.F, value(len(in.F)))
	}
	in.Env = &row.Env{Grid: row.GridOf(window*1000, span*1000, step*1000)}
	for _, v := range map[string][]float64{
		"quantile_over_time": {0.9}, "predict_linear": {3600}, "double_exponential_smoothing": {0.5, 0.3},
	}[name] {
		arg := make([]float64, in.Env.Grid.N)
		for i := range arg {
			arg[i] = v
		}
		in.Args = append(in.Args, arg)
	}
	in.Slide(false)
	return in
}

func benchValues(kind string) func(i int) float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	v := 0.0
	switch kind {
	case "int":
		return func(int) float64 { return float64(rng.IntN(101)) }
	case "counter":
		return func(int) float64 { v += float64(rng.IntN(100)); return v }
	default:
		return func(int) float64 { return math.Round(rng.Float64()*10000) / 100 }
	}
}

// BenchmarkForms compares the Floats form, the Window form and, where it can be
// called, Prometheus' own function on the same windows.
func BenchmarkForms(b *testing.B) {
	for _, name := range functions() {
		f, _ := Lookup(name)
		for _, s := range benchShapes {
			for _, kind := range []string{"int", "dec", "counter"} {
				in := benchInput(name, s.interval, s.span, s.window, s.step, benchValues(kind))
				out := row.New(in.Env.Grid.N)
				held := 0
				for i, lo := range in.Lo {
					held += int(in.Hi[i] - lo)
				}
				measure := func(form string, run func()) {
					b.Run(fmt.Sprintf("%s/%s/%s/%s", name, s.name, kind, form), func(b *testing.B) {
						b.ReportAllocs()
						for b.Loop() {
							out.Reset()
							run()
						}
						ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
						b.ReportMetric(ns/float64(len(in.T)), "ns/sample")
						b.ReportMetric(ns/float64(in.Env.Grid.N), "ns/window")
					})
				}
				measure("fast", func() { _ = f.Run(in, out) })
				if Check(name, false, true) == nil {
					wide := *in
					wide.Env = &row.Env{Grid: in.Env.Grid, Lookback: 300_000}
					wide.Smoothed, wide.Lo, wide.Hi = true, nil, nil
					wide.Slide(false)
					measure("smoothed", func() { _ = f.Run(&wide, out) })
				}
				measure("window", func() { _ = f.Slow(in, out) })
				if call := upstreamCall(name, in); call != nil {
					measure("upstream", call)
				}
			}
		}
	}
}

// upstreamCall calls Prometheus' function once for each window, with slices of
// its own kind of points: without what its engine does besides.
func upstreamCall(name string, in *Input) func() {
	f := promql.FunctionCalls[name]
	points := make([]promql.FPoint, len(in.T))
	for i, t := range in.T {
		points[i] = promql.FPoint{T: t, F: in.F[i]}
	}
	c := &call{name: name, rangeMS: float64(in.Range), matrixArgLast: name == "quantile_over_time"}
	for range in.Args {
		c.args = append(c.args, "0.5")
	}
	expr, err := parser.NewParser(parser.Options{EnableExperimentalFunctions: true}).ParseExpr(c.String())
	if err != nil {
		panic(err)
	}
	args := expr.(*parser.Call).Args
	vectors := make([]promql.Vector, len(in.Args))
	for k := range vectors {
		vectors[k] = promql.Vector{{F: in.Args[k][0]}}
	}
	m := make(promql.Matrix, 1)
	enh := &promql.EvalNodeHelper{Out: make(promql.Vector, 0, 1), LookbackDelta: 5 * time.Minute}
	return func() {
		for i, lo := range in.Lo {
			m[0].Floats = points[lo:in.Hi[i]]
			enh.Ts = in.Env.Grid.T(i)
			v, _ := f(vectors, m, args, enh)
			enh.Out = v[:0]
		}
	}
}

// BenchmarkSlide is what finding the windows costs.
func BenchmarkSlide(b *testing.B) {
	for _, s := range benchShapes {
		in := benchInput("rate", s.interval, s.span, s.window, s.step, benchValues("int"))
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				in.Slide(false)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in.Env.Grid.N), "ns/window")
		})
	}
}

// BenchmarkHistograms is rate over 6 h of histograms at 15 s.
func BenchmarkHistograms(b *testing.B) {
	h := &histogram.FloatHistogram{Schema: 2}
	for range 40 {
		h.PositiveBuckets = append(h.PositiveBuckets, 1)
	}
	h.PositiveSpans = []histogram.Span{{Offset: -10, Length: 40}}
	for _, s := range []struct{ window, step int64 }{{120, 15}, {1200, 60}} {
		in := &Input{Range: s.window * 1000, Name: func() string { return "m_total" }, Scratch: &Scratch{}, ArgPos: make([]posrange.PositionRange, 1)}
		for t := int64(0); t <= 6*3600; t += 15 {
			h = h.Copy()
			for i := range h.PositiveBuckets {
				h.PositiveBuckets[i] += float64(i % 3)
			}
			count(h)
			in.HT, in.H = append(in.HT, t*1000), append(in.H, h)
		}
		in.Env = &row.Env{Grid: row.GridOf(s.window*1000, 6*3600*1000, s.step*1000)}
		in.Slide(false)
		out := row.New(in.Env.Grid.N)
		points := make([]promql.HPoint, len(in.HT))
		for i, t := range in.HT {
			points[i] = promql.HPoint{T: t, H: in.H[i]}
		}
		f, _ := Lookup("rate")
		b.Run(fmt.Sprintf("[%ds]:%ds/ours", s.window, s.step), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				_ = f.Run(in, out)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in.Env.Grid.N), "ns/window")
		})
		b.Run(fmt.Sprintf("[%ds]:%ds/upstream", s.window, s.step), func(b *testing.B) {
			b.ReportAllocs()
			call := upstreamRate(in, points)
			for b.Loop() {
				call()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in.Env.Grid.N), "ns/window")
		})
	}
}

func upstreamRate(in *Input, points []promql.HPoint) func() {
	c := &call{name: "rate", rangeMS: float64(in.Range)}
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(c.String())
	if err != nil {
		panic(err)
	}
	m := make(promql.Matrix, 1)
	enh := &promql.EvalNodeHelper{Out: make(promql.Vector, 0, 1)}
	return func() {
		for i, lo := range in.HLo {
			m[0].Histograms = points[lo:in.HHi[i]]
			enh.Ts = in.Env.Grid.T(i)
			v, _ := promql.FunctionCalls["rate"](nil, m, expr.(*parser.Call).Args, enh)
			enh.Out = v[:0]
		}
	}
}
