package rollup

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// queryable is a storage with one series.
type queryable struct{ series storage.Series }

func (q queryable) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(bool, *storage.SelectHints, ...*labels.Matcher) storage.SeriesSet {
		return &oneSeries{Series: q.series}
	}}, nil
}

// oneSeries is a set of one series.
type oneSeries struct {
	storage.Series
	begun bool
}

func (o *oneSeries) Next() bool                        { first := !o.begun; o.begun = true; return first }
func (o *oneSeries) At() storage.Series                { return o.Series }
func (o *oneSeries) Err() error                        { return nil }
func (o *oneSeries) Warnings() annotations.Annotations { return nil }

func (s *testSeries) storageSeries() storage.Series {
	return &storage.SeriesEntry{
		Lset: labels.FromStrings("__name__", "m_total"),
		SampleIteratorFn: func(chunkenc.Iterator) chunkenc.Iterator {
			return storage.NewListSeriesIteratorWithCopy(sampleList(s.samples))
		},
	}
}

const testLookback = 60_000

func newOracle(startTimes bool) *promql.Engine { return promql.NewEngine(oracleOptions(startTimes)) }

func oracleOptions(startTimes bool) promql.EngineOpts {
	return promql.EngineOpts{
		MaxSamples: math.MaxInt, Timeout: time.Hour, LookbackDelta: testLookback * time.Millisecond,
		EnableAtModifier: true, EnableNegativeOffset: true, UseStartTimestamps: startTimes,
		Parser: parser.NewParser(parser.Options{EnableExperimentalFunctions: true}),
	}
}

// call is a query of one function.
type call struct {
	name          string
	rangeMS       float64 // as written, milliseconds
	offset        int64
	at            *int64
	anchored      bool
	smoothed      bool
	grid          row.Grid
	args          []string
	argValues     []func(ts int64) float64
	startTimes    bool
	matrixArgLast bool
}

func (c *call) String() string {
	m := fmt.Sprintf("m_total[%v]", c.rangeMS/1000)
	switch {
	case c.anchored:
		m += " anchored"
	case c.smoothed:
		m += " smoothed"
	}
	if c.at != nil {
		m += fmt.Sprintf(" @ %.3f", float64(*c.at)/1000)
	}
	if c.offset != 0 {
		m += fmt.Sprintf(" offset %dms", c.offset)
	}
	args := append([]string{m}, c.args...)
	if c.matrixArgLast {
		slices.Reverse(args)
	}
	return c.name + "(" + strings.Join(args, ", ") + ")"
}

// input returns what our functions are given for the call.
func (c *call) input(s *testSeries) *Input {
	in := s.in
	in.Env = &row.Env{Grid: c.grid, Lookback: testLookback, StartTimes: c.startTimes}
	if !c.startTimes {
		in.ST, in.HST = nil, nil
	}
	in.Range = int64(c.rangeMS)
	in.RangeRest = time.Duration(math.Round((c.rangeMS - float64(in.Range)) * 1e6))
	in.Offset = c.offset
	if c.at != nil {
		in.Offset += c.grid.Start - *c.at
	}
	in.Anchored, in.Smoothed = c.anchored, c.smoothed
	in.Name = func() string { return "m_total" }
	expr, err := parser.NewParser(parser.Options{EnableExperimentalFunctions: true}).ParseExpr(c.String())
	if err != nil {
		panic(err)
	}
	in.Pos = expr.PositionRange()
	for _, a := range expr.(*parser.Call).Args {
		in.ArgPos = append(in.ArgPos, a.PositionRange())
	}
	for _, f := range c.argValues {
		arg := make([]float64, c.grid.N)
		for i := range arg {
			arg[i] = f(c.grid.T(i))
		}
		in.Args = append(in.Args, arg)
	}
	in.Slide(c.at != nil)
	return &in
}

// answer is the outcome of a call, comparable.
type answer struct {
	err    string
	floats map[int64]float64
	hists  map[int64]*histogram.FloatHistogram
	annos  []string
	// anyNaN tells that the bits of a NaN do not count: where two NaNs are added,
	// which one's bits are kept is the compiler's choice of registers.
	anyNaN bool
}

func annoStrings(a annotations.Annotations, query string) []string {
	w, i := a.AsStrings(query, 0, 0)
	s := append(w, i...)
	slices.Sort(s)
	return s
}

func (c *call) askOracle(t *testing.T, s *testSeries) answer {
	g := c.grid
	q, err := newOracle(c.startTimes).NewRangeQuery(context.Background(), queryable{s.storageSeries()}, nil, c.String(),
		time.UnixMilli(g.Start), time.UnixMilli(g.End()), time.Duration(g.Step)*time.Millisecond)
	require.NoError(t, err)
	defer q.Close()
	res := q.Exec(context.Background())
	a := answer{floats: map[int64]float64{}, hists: map[int64]*histogram.FloatHistogram{}}
	if res.Err != nil {
		a.err = res.Err.Error()
		return a
	}
	a.annos = annoStrings(res.Warnings, c.String())
	m, err := res.Matrix()
	require.NoError(t, err)
	for _, series := range m {
		for _, p := range series.Floats {
			a.floats[p.T] = p.F
		}
		for _, p := range series.Histograms {
			a.hists[p.T] = p.H.Copy()
		}
	}
	return a
}

func rowAnswer(in *Input, r *row.Row, err error, query string) answer {
	a := answer{floats: map[int64]float64{}, hists: map[int64]*histogram.FloatHistogram{}}
	if err != nil {
		a.err = err.Error()
		return a
	}
	a.annos = annoStrings(in.Env.Annos, query)
	for i := range r.F {
		switch h := r.HAt(i); {
		case h != nil:
			a.hists[in.Env.Grid.T(i)] = h
		case r.At(i):
			a.floats[in.Env.Grid.T(i)] = r.F[i]
		}
	}
	return a
}

func requireSame(t *testing.T, want, got answer, msg string) {
	t.Helper()
	require.Equal(t, want.err, got.err, msg)
	require.Equal(t, want.annos, got.annos, msg)
	require.Len(t, got.floats, len(want.floats), msg)
	require.Len(t, got.hists, len(want.hists), msg)
	for ts, w := range want.floats {
		g, ok := got.floats[ts]
		if !ok || !sameBits(w, g) && !(want.anyNaN && math.IsNaN(w) && math.IsNaN(g)) {
			require.FailNowf(t, "values differ", "%s: at %d want %x (%g), got %x (%g, %v)", msg, ts, math.Float64bits(w), w, math.Float64bits(g), g, ok)
		}
	}
	for ts, w := range want.hists {
		g := got.hists[ts]
		if g == nil || bitsOf(w) != bitsOf(g) {
			require.FailNowf(t, "histograms differ", "%s: at %d want %s, got %s", msg, ts, bitsOf(w), bitsOf(g))
		}
	}
}

// bitsOf writes a histogram out so that equal texts are equal bits.
func bitsOf(h *histogram.FloatHistogram) string {
	if h == nil {
		return "nil"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "hint %d schema %d %v %v", h.CounterResetHint, h.Schema, h.PositiveSpans, h.NegativeSpans)
	for _, fs := range [][]float64{{h.ZeroThreshold, h.ZeroCount, h.Count, h.Sum}, h.PositiveBuckets, h.NegativeBuckets, h.CustomValues} {
		b.WriteString(" |")
		for _, f := range fs {
			fmt.Fprintf(&b, " %x(%g)", math.Float64bits(f), f)
		}
	}
	return b.String()
}

// functions are all of the parser's that take a range vector.
func functions() []string {
	var names []string
	for name, f := range parser.Functions {
		if slices.Contains(f.ArgTypes, parser.ValueTypeMatrix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestLookupKnowsAllFunctions(t *testing.T) {
	require.Len(t, functions(), 28)
	for _, name := range functions() {
		_, ok := Lookup(name)
		require.True(t, ok, name)
	}
	_, ok := Lookup("abs")
	require.False(t, ok)
}

// randomCall makes a query of the function that the series can answer.
func randomCall(rng *rand.Rand, name string, span int64) *call {
	c := &call{name: name, startTimes: rng.IntN(3) == 0, matrixArgLast: name == "quantile_over_time"}
	c.rangeMS = float64([]int64{1, 500, 5_000, 20_000, 60_000, 300_000, 300_001, 900_000}[rng.IntN(8)])
	if rng.IntN(10) == 0 {
		c.rangeMS += 0.25
	}
	c.grid.Step = []int64{1_000, 15_000, 60_000, 61_234, 300_000, 900_000}[rng.IntN(6)]
	c.grid.Start = rng.Int64N(span) - 20_000
	c.grid.N = 1 + rng.IntN(40)
	if rng.IntN(3) == 0 {
		c.offset = []int64{15_000, -15_000, 61_001}[rng.IntN(3)]
	}
	switch rng.IntN(3) {
	case 0:
		c.anchored = Check(name, true, false) == nil
	case 1:
		c.smoothed = Check(name, false, true) == nil
	}
	c.randomArgs(rng)
	if rng.IntN(8) == 0 {
		at := rng.Int64N(span)
		c.at = &at
		if !slices.Contains(c.args, varyingArg) {
			c.grid.N = 1 // the evaluation does such a call once
		}
	}
	return c
}

const varyingArg = "(time() % 7) / 5"

func (c *call) randomArgs(rng *rand.Rand) {
	n := map[string]int{"quantile_over_time": 1, "predict_linear": 1, "double_exponential_smoothing": 2, "integral": rng.IntN(2)}[c.name]
	for range n {
		if rng.IntN(3) == 0 {
			c.args = append(c.args, varyingArg)
			c.argValues = append(c.argValues, func(ts int64) float64 { return math.Mod(float64(ts)/1000, 7) / 5 })
			continue
		}
		v := []float64{0, 0.5, 0.9, 1, 0.25, 0.99, 0.3, 0.7, 2, -1, 1.5, math.NaN()}[rng.IntN(12)]
		if c.name == "double_exponential_smoothing" && rng.IntN(10) > 0 {
			v = []float64{0.1, 0.5, 0.9, 0.3}[rng.IntN(4)]
		}
		c.args = append(c.args, fmt.Sprint(v))
		c.argValues = append(c.argValues, func(int64) float64 { return v })
	}
}

// TestAgainstUpstream holds both forms of every function equal to Prometheus'
// engine, as bits.
func TestAgainstUpstream(t *testing.T) {
	seeds := 20
	if testing.Short() {
		seeds = 2
	}
	const span = 1_800_000
	for _, kind := range append(slices.Clone(floatKinds), histKinds...) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for seed := range seeds {
				rng := rand.New(rand.NewPCG(uint64(seed), uint64(len(kind))))
				s := randomSeries(rng, kind, span)
				before := s.histBits()
				for _, name := range functions() {
					c := randomCall(rng, name, span)
					c.compare(t, s, fmt.Sprintf("seed %d, %s series, grid %+v, start times %v: %s", seed, kind, c.grid, c.startTimes, c))
				}
				require.Equal(t, before, s.histBits(), "the store's histograms were changed, seed %d", seed)
			}
		})
	}
}

// anyNaN is false for functions that pick values.
func (c *call) anyNaN() bool {
	switch c.name {
	case "first_over_time", "last_over_time", "min_over_time", "max_over_time", "mad_over_time", "quantile_over_time":
		return false
	}
	return true
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

func (s *testSeries) histBits() []string {
	var all []string
	for _, h := range s.in.H {
		all = append(all, bitsOf(h))
	}
	return all
}

// compare asks upstream, the Window form, and Run.
func (c *call) compare(t *testing.T, s *testSeries, msg string) {
	t.Helper()
	f, ok := Lookup(c.name)
	require.True(t, ok)
	want := c.askOracle(t, s)
	want.anyNaN = c.anyNaN()
	for form, run := range map[string]func(*Input, *row.Row) error{"window": f.Slow, "run": f.Run} {
		in, out := c.input(s), row.New(c.grid.N)
		err := run(in, out)
		got := rowAnswer(in, out, err, c.String())
		if c.name == "absent_over_time" {
			got = invert(got, c.grid)
		}
		requireSame(t, want, got, form+": "+msg)
	}
}

// invert does what the evaluation does for absent_over_time.
func invert(a answer, g row.Grid) answer {
	b := answer{err: a.err, annos: a.annos, floats: map[int64]float64{}}
	for i := range g.N {
		if _, ok := a.floats[g.T(i)]; !ok {
			b.floats[g.T(i)] = 1
		}
	}
	return b
}

func TestCheckIsUpstreams(t *testing.T) {
	s := randomSeries(rand.New(rand.NewPCG(1, 1)), "integers", 600_000)
	for _, name := range functions() {
		for _, modifier := range []string{"anchored", "smoothed"} {
			c := &call{name: name, rangeMS: 60_000, anchored: modifier == "anchored", smoothed: modifier == "smoothed",
				grid: row.Grid{Start: 300_000, Step: 1000, N: 1}, matrixArgLast: name == "quantile_over_time"}
			c.randomArgs(rand.New(rand.NewPCG(7, 7)))
			c.argValues = nil
			want, got := c.askOracle(t, s), ""
			if err := Check(name, c.anchored, c.smoothed); err != nil {
				got = err.Error()
			}
			require.Equal(t, want.err, got, c.String())
		}
	}
	require.NoError(t, Check("sum_over_time", false, false))
}

func TestKeepsName(t *testing.T) {
	s := randomSeries(rand.New(rand.NewPCG(1, 1)), "integers", 600_000)
	for _, name := range functions() {
		c := &call{name: name, rangeMS: 600_000, matrixArgLast: name == "quantile_over_time"}
		c.randomArgs(rand.New(rand.NewPCG(7, 7)))
		if c.name == "double_exponential_smoothing" {
			c.args = []string{"0.5", "0.5"}
		}
		q, err := newOracle(false).NewInstantQuery(context.Background(), queryable{s.storageSeries()}, nil, c.String(), time.UnixMilli(600_000))
		require.NoError(t, err)
		v, err := q.Exec(context.Background()).Vector()
		require.NoError(t, err)
		for _, p := range v {
			require.Equal(t, p.Metric.Has("__name__"), KeepsName(name), name)
		}
		q.Close()
	}
}

// TestExtend asks for bare range vectors.
func TestExtend(t *testing.T) {
	shown := 0
	for seed := range 300 {
		rng := rand.New(rand.NewPCG(uint64(seed), 3))
		s := randomSeries(rng, floatKinds[rng.IntN(3)], 600_000)
		c := &call{rangeMS: float64([]int64{1, 5_000, 60_000, 200_000}[rng.IntN(4)]), smoothed: rng.IntN(2) == 0}
		c.anchored = !c.smoothed
		end := rng.Int64N(700_000)
		query := strings.TrimPrefix(strings.TrimSuffix(c.String(), ")"), "(")
		q, err := newOracle(rng.IntN(2) == 0).NewInstantQuery(context.Background(), queryable{s.storageSeries()}, nil, query, time.UnixMilli(end))
		require.NoError(t, err)
		m, err := q.Exec(context.Background()).Matrix()
		require.NoError(t, err)
		var wantT []int64
		var wantF []uint64
		for _, series := range m {
			for _, p := range series.Floats {
				wantT, wantF = append(wantT, p.T), append(wantF, math.Float64bits(p.F))
			}
		}
		q.Close()
		in := s.in
		in.Range, in.Anchored, in.Smoothed = int64(c.rangeMS), c.anchored, c.smoothed
		in.Env = &row.Env{Grid: row.Grid{Start: end, Step: 1, N: 1}, Lookback: testLookback}
		in.Slide(false)
		gotT, got := Extend(in.T[in.Lo[0]:in.Hi[0]], in.F[in.Lo[0]:in.Hi[0]], end-in.Range, end, in.Smoothed)
		var gotF []uint64
		for _, f := range got {
			gotF = append(gotF, math.Float64bits(f))
		}
		require.Equal(t, wantT, gotT, "seed %d: %s at %d", seed, query, end)
		require.Equal(t, wantF, gotF, "seed %d: %s at %d", seed, query, end)
		shown += len(gotT)
	}
	require.Greater(t, shown, 3000)
}

// TestBrokenHistograms asks for histograms that have fewer buckets than their
// spans say, which fails queries.
func TestBrokenHistograms(t *testing.T) {
	span := []histogram.Span{{Offset: 0, Length: 4}}
	whole := &histogram.FloatHistogram{Schema: 0, Count: 10, PositiveSpans: span, PositiveBuckets: []float64{1, 2, 3, 4}}
	broken := &histogram.FloatHistogram{Schema: 1, Count: 10, PositiveSpans: span, PositiveBuckets: []float64{1, 2}}
	failed := 0
	for _, hs := range [][]*histogram.FloatHistogram{{whole, broken}, {broken, whole}, {whole, broken, whole}} {
		var samples []testSample
		for i, h := range hs {
			samples = append(samples, testSample{t: int64(i+1) * 10_000, h: h})
		}
		s := newSeries("broken", samples)
		for _, name := range []string{"rate", "increase", "delta", "irate", "idelta"} {
			c := &call{name: name, rangeMS: 60_000, grid: row.Grid{Start: 60_000, Step: 1000, N: 1}}
			want := c.askOracle(t, s)
			if strings.HasPrefix(want.err, "unexpected error") {
				continue // it ran into a panic of the runtime's
			}
			if want.err != "" {
				failed++
			}
			c.compare(t, s, c.String())
		}
	}
	require.NotZero(t, failed)
}

// TestNonCounterIsUpstreams asks for series of many names and types.
func TestNonCounterIsUpstreams(t *testing.T) {
	s := randomSeries(rand.New(rand.NewPCG(1, 1)), "counter", 600_000)
	for _, name := range []string{"rate", "increase", "delta", "irate"} {
		for _, metric := range []labels.Labels{
			labels.FromStrings("__name__", "m"), labels.FromStrings("__name__", "m_total"), labels.FromStrings("__name__", "m_sum"),
			labels.FromStrings("__name__", "m_bucket"), labels.FromStrings("__name__", "total"), labels.FromStrings("a", "b"),
			labels.FromStrings("__name__", "m", "__type__", "counter"), labels.FromStrings("__name__", "m_total", "__type__", "gauge"),
			labels.FromStrings("__name__", "m", "__type__", "histogram"),
		} {
			for _, typed := range []bool{false, true} {
				opts := oracleOptions(false)
				opts.EnableTypeAndUnitLabels = typed
				series := &storage.SeriesEntry{Lset: metric, SampleIteratorFn: s.storageSeries().(*storage.SeriesEntry).SampleIteratorFn}
				query := name + "(m[5m])"
				q, err := promql.NewEngine(opts).NewInstantQuery(context.Background(), queryable{series}, nil, query, time.UnixMilli(300_000))
				require.NoError(t, err)
				res := q.Exec(context.Background())
				require.NoError(t, res.Err)
				var annos annotations.Annotations
				if anno := NonCounter(&row.Env{TypeAndUnit: typed}, name, metric, posrange.PositionRange{Start: posrange.Pos(len(name) + 1), End: 0}); anno != nil {
					annos.Add(anno)
				}
				require.Equal(t, annoStrings(res.Warnings, query), annoStrings(annos, query), "%s %s typed %v", name, metric, typed)
				q.Close()
			}
		}
	}
}
