package funcs_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/funcs"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// world is series that have samples at the steps of a grid alone, so that a
// selector yields what is stored.
type world struct {
	grid    row.Grid
	delayed bool
	rows    []*row.Row // in the order of their labels
}

// answer is what a query yields, in a form that is compared as it is.
type answer struct {
	Series []string // one line for each
	Annos  []string
	Err    string
}

// ours evaluates a query of calls, selectors and literals with this package.
func (w *world) ours(t testing.TB, query string) answer {
	expr, err := testParser().ParseExpr(query)
	require.NoError(t, err, query)
	expr, err = promql.PreprocessExpr(expr, time.UnixMilli(w.grid.Start), time.UnixMilli(w.grid.End()), time.Duration(w.grid.Step)*time.Millisecond)
	require.NoError(t, err, query)
	ev := &mini{world: w, env: row.Env{Grid: w.grid, DelayedNames: w.delayed}}
	rows, _, err := ev.eval(expr)
	if err == nil && w.delayed {
		for _, r := range rows {
			if r.DropName {
				r.Labels = r.Labels.DropReserved(schema.IsMetadataLabel)
			}
		}
		rows, err = row.MergeSame(rows)
	}
	if err != nil {
		return answer{Err: err.Error()}
	}
	a := answer{Annos: annosOf(ev.env.Annos, query)}
	for _, r := range rows {
		line := r.Labels.String()
		for i := range w.grid.N {
			if r.At(i) {
				line += sampleText(w.grid.T(i), r.F[i], r.HAt(i))
			}
		}
		a.Series = append(a.Series, line)
	}
	return a
}

// mini evaluates an expression as package exec does, without its haste.
type mini struct {
	*world
	env row.Env
}

// eval returns the rows of a vector or a scalar's one row; scalar is its values.
func (m *mini) eval(e parser.Expr) (rows []*row.Row, scalar []float64, err error) {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return m.eval(e.Expr)
	case *parser.StepInvariantExpr:
		return m.once(e.Expr)
	case *parser.NumberLiteral:
		out := make([]float64, m.grid.N)
		for i := range out {
			out[i] = e.Val
		}
		return m.scalarRows(out), out, nil
	case *parser.VectorSelector:
		for _, r := range m.rows {
			if selected(r.Labels, e.LabelMatchers) && !r.Empty() {
				rows = append(rows, r.Clone())
			}
		}
		return rows, nil, nil
	case *parser.Call:
		return m.call(e)
	}
	panic(fmt.Sprintf("%T", e))
}

// once evaluates e at the first step and repeats what it yields.
func (m *mini) once(e parser.Expr) (rows []*row.Row, scalar []float64, err error) {
	env, w := m.env, *m.world
	env.Grid.N, w.grid.N = 1, 1
	one := &mini{world: &w, env: env}
	rows, scalar, err = one.eval(e)
	m.env.Annos = one.env.Annos
	for k, r := range rows {
		all := row.New(m.grid.N)
		all.Labels, all.DropName = r.Labels, r.DropName
		for i := range m.grid.N {
			all.SetAt(i, r.F[0], r.HAt(0))
		}
		rows[k] = all
	}
	if scalar != nil {
		scalar = slices.Repeat(scalar, m.grid.N)
	}
	return rows, scalar, err
}

func (m *mini) scalarRows(out []float64) []*row.Row {
	r := row.New(m.grid.N)
	copy(r.F, out)
	r.Has.Fill(m.grid.N)
	return []*row.Row{r}
}

func (m *mini) call(e *parser.Call) ([]*row.Row, []float64, error) {
	f, ok := funcs.Lookup(e.Func.Name)
	if !ok {
		panic(e.Func.Name)
	}
	in := &funcs.Input{Pos: e.PositionRange(), Env: &m.env}
	for _, a := range e.Args {
		text := ""
		if s, ok := a.(*parser.StringLiteral); ok {
			text = s.Val
		}
		in.Texts = append(in.Texts, text)
		in.ArgPos = append(in.ArgPos, a.PositionRange())
		if vs, ok := a.(*parser.VectorSelector); ok {
			in.Absent = absentLabels(vs.LabelMatchers)
		}
	}
	if f.Check != nil {
		if err := f.Check(in); err != nil {
			return nil, nil, err
		}
	}
	var args [][]*row.Row
	for _, a := range e.Args {
		if a.Type() == parser.ValueTypeString {
			in.Args, args = append(in.Args, nil), append(args, nil)
			continue
		}
		rows, scalar, err := m.eval(a)
		if err != nil {
			return nil, nil, err
		}
		in.Args, args = append(in.Args, scalar), append(args, rows)
	}
	return m.apply(f, e, in, args)
}

func (m *mini) apply(f funcs.Func, e *parser.Call, in *funcs.Input, args [][]*row.Row) (rows []*row.Row, scalar []float64, err error) {
	switch {
	case f.Scalar != nil && (f.Each == nil || len(args) == 0):
		out := make([]float64, m.grid.N)
		f.Scalar(in, args, out)
		if e.Type() == parser.ValueTypeScalar {
			scalar = out
		}
		return m.scalarRows(out), scalar, nil
	case f.Each != nil:
		rows = args[0]
		for _, r := range rows {
			f.Each(in, r)
		}
	default:
		if rows, err = f.Whole(in, args); err != nil {
			return nil, nil, err
		}
	}
	if f.Join {
		rows, err = funcs.Join(&m.env, rows)
	}
	return rows, nil, err
}

// absentLabels does what the plan does for absent.
func absentLabels(ms []*labels.Matcher) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	has := map[string]bool{}
	for _, m := range ms {
		switch {
		case schema.IsMetadataLabel(m.Name):
		case m.Type == labels.MatchEqual && !has[m.Name]:
			b.Set(m.Name, m.Value)
			has[m.Name] = true
		default:
			b.Del(m.Name)
		}
	}
	return b.Labels()
}

func selected(l labels.Labels, ms []*labels.Matcher) bool {
	for _, m := range ms {
		if !m.Matches(l.Get(m.Name)) {
			return false
		}
	}
	return true
}

func testParser() parser.Parser {
	return parser.NewParser(parser.Options{EnableExperimentalFunctions: true})
}

func (w *world) engine(t testing.TB) *promql.Engine {
	ng := promql.NewEngine(promql.EngineOpts{
		MaxSamples: math.MaxInt32, Timeout: time.Minute, LookbackDelta: time.Millisecond,
		EnableAtModifier: true, EnableNegativeOffset: true, EnableDelayedNameRemoval: w.delayed, Parser: testParser(),
	})
	t.Cleanup(func() { require.NoError(t, ng.Close()) })
	return ng
}

// theirs asks Prometheus' engine.
func (w *world) theirs(t testing.TB, ng *promql.Engine, query string) answer {
	ctx := context.Background()
	start, end := time.UnixMilli(w.grid.Start), time.UnixMilli(w.grid.End())
	var q promql.Query
	var err error
	if w.grid.N == 1 {
		q, err = ng.NewInstantQuery(ctx, w, nil, query, start)
	} else {
		q, err = ng.NewRangeQuery(ctx, w, nil, query, start, end, time.Duration(w.grid.Step)*time.Millisecond)
	}
	require.NoError(t, err, query)
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return answer{Err: res.Err.Error()}
	}
	a := answer{Annos: annosOf(res.Warnings, query)}
	switch v := res.Value.(type) {
	case promql.Vector:
		for _, s := range v {
			a.Series = append(a.Series, s.Metric.String()+sampleText(s.T, s.F, s.H))
		}
	case promql.Scalar:
		a.Series = append(a.Series, "{}"+sampleText(v.T, v.V, nil))
	case promql.Matrix:
		for _, s := range v {
			a.Series = append(a.Series, matrixLine(s))
		}
	}
	return a
}

func matrixLine(s promql.Series) string {
	line := s.Metric.String()
	for f, h := s.Floats, s.Histograms; len(f)+len(h) > 0; {
		if len(h) == 0 || len(f) > 0 && f[0].T < h[0].T {
			line += sampleText(f[0].T, f[0].F, nil)
			f = f[1:]
			continue
		}
		line += sampleText(h[0].T, 0, h[0].H)
		h = h[1:]
	}
	return line
}

func sampleText(t int64, f float64, h *histogram.FloatHistogram) string {
	switch {
	case h != nil:
		return fmt.Sprintf(" %d:%v/%v", t, h, h.CounterResetHint)
	case math.IsNaN(f) && !value.IsStaleNaN(f):
		return fmt.Sprintf(" %d:NaN", t)
	}
	return fmt.Sprintf(" %d:%v/%x", t, f, math.Float64bits(f))
}

func annosOf(annos annotations.Annotations, query string) []string {
	warnings, infos := annos.AsStrings(query, 0, 0)
	out := append(warnings, infos...)
	slices.Sort(out)
	return out
}

// Querier makes the world a storage.Queryable.
func (w *world) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
		var list []storage.Series
		for _, r := range w.rows {
			if selected(r.Labels, ms) {
				list = append(list, storage.NewListSeries(r.Labels, w.samples(r)))
			}
		}
		return &seriesSet{list: list, at: -1}
	}}, nil
}

func (w *world) samples(r *row.Row) (out []chunks.Sample) {
	for i := range w.grid.N {
		if r.At(i) {
			out = append(out, sample{w.grid.T(i), r.F[i], r.HAt(i)})
		}
	}
	return out
}

type sample struct {
	t int64
	f float64
	h *histogram.FloatHistogram
}

func (s sample) T() int64                      { return s.t }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.f }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return s.h }
func (s sample) Copy() chunks.Sample           { return s }
func (s sample) Type() chunkenc.ValueType {
	if s.h != nil {
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}

type seriesSet struct {
	list []storage.Series
	at   int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.list) }
func (s *seriesSet) At() storage.Series                { return s.list[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// anyWorld makes a world of n steps: metrics f and g of floats, h and i of
// native histograms, x of both in one series, b and d of classic histograms.
func anyWorld(rnd *rand.Rand, n int, delayed bool) *world {
	w := &world{grid: row.Grid{Start: rnd.Int64N(2e12), Step: 1 + rnd.Int64N(1e8), N: n}, delayed: delayed}
	for _, job := range []string{"a", "b", "c10", "c9"} {
		for _, name := range []string{"f", "g", "h", "i", "x"} {
			if rnd.IntN(4) == 0 {
				continue
			}
			for k := range 1 + rnd.IntN(3) {
				kind := map[string]float64{"f": 0, "g": 0, "h": 1, "i": 1, "x": 0.5}[name]
				w.add(rnd, kind, 0.3*float64(rnd.IntN(3)), labels.MetricName, name, "job", job, "n", fmt.Sprintf("p%02d.%d", k, rnd.IntN(12)))
			}
		}
		if rnd.IntN(4) > 0 {
			w.addClassic(rnd, "b", job)
			w.addClassic(rnd, "d", job)
		}
		if rnd.IntN(3) == 0 { // conflicts with the classic one
			w.add(rnd, 0.8, 0.5, labels.MetricName, "b", "job", job)
		}
	}
	sort.Slice(w.rows, func(i, j int) bool { return labels.Compare(w.rows[i].Labels, w.rows[j].Labels) < 0 })
	return w
}

// add adds a series; a sample is a histogram by the chance kind and missing by
// the chance gaps.
func (w *world) add(rnd *rand.Rand, kind, gaps float64, ls ...string) {
	r := row.New(w.grid.N)
	r.Labels = labels.FromStrings(ls...)
	for _, have := range w.rows {
		if labels.Equal(have.Labels, r.Labels) {
			return
		}
	}
	for i := range w.grid.N {
		switch {
		case rnd.Float64() < gaps:
		case rnd.Float64() < kind:
			r.SetH(i, anyHistogram(rnd))
		default:
			r.SetF(i, anyFloat(rnd))
		}
	}
	w.rows = append(w.rows, r)
}

// addClassic adds a classic histogram with whatever can be wrong with it.
func (w *world) addClassic(rnd *rand.Rand, name, job string) {
	bounds := []string{"-1", "0.5", "1", "2.5", "5", "10", "25", "50", "1e2", "250", "500", "1000", "2000", "+Inf"}
	bounds = bounds[rnd.IntN(12):]
	if rnd.IntN(3) == 0 {
		// Over a range the order of series is not defined upstream, so there are
		// no zeros of both signs and no sums of three.
		odd := []string{"10.0", "0", "05", "Inf", "nan", "", "x", "1e999"}
		if w.grid.N == 1 {
			odd = append(odd, "1e1", "-0", "inf", "0x5p0", "005")
		}
		rnd.Shuffle(len(odd), func(i, j int) { odd[i], odd[j] = odd[j], odd[i] })
		bounds = append(slices.Clone(bounds), odd[rnd.IntN(len(odd)):]...)
	}
	if rnd.IntN(8) == 0 {
		bounds = bounds[:len(bounds)-1]
	}
	gaps := []float64{0, 0, 0.1, 0.7}[rnd.IntN(4)]
	mess := []float64{0, 0, 0.02, 0.3}[rnd.IntN(4)]
	counts := make([]float64, w.grid.N)
	for _, le := range bounds {
		r := row.New(w.grid.N)
		b := labels.NewBuilder(labels.FromStrings(labels.MetricName, name, "job", job, "le", le))
		if le == "" && rnd.IntN(2) == 0 {
			b.Del("le")
		}
		r.Labels = b.Labels()
		if slices.ContainsFunc(w.rows, func(have *row.Row) bool { return labels.Equal(have.Labels, r.Labels) }) {
			continue
		}
		for i := range counts {
			counts[i] += float64(rnd.IntN(4)) * 0.7
			v := counts[i]
			switch p := rnd.Float64(); {
			case p < mess/2:
				v *= 1 - 1e-13
			case p < mess:
				v = anyFloat(rnd)
			}
			if rnd.Float64() >= gaps {
				r.SetF(i, v)
			}
		}
		w.rows = append(w.rows, r)
	}
}

func anyFloat(rnd *rand.Rand) float64 {
	switch rnd.IntN(12) {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(1 - 2*rnd.IntN(2))
	case 2:
		return math.Copysign(0, -1)
	case 3:
		return float64(rnd.IntN(5)) - 2
	case 4:
		return math.Float64frombits(rnd.Uint64() &^ (1 << 51) &^ (1 << 62)) // no NaN: small
	case 5:
		return rnd.Float64() * 2e9 // a time
	case 6:
		return (rnd.Float64() - 0.5) * math.MaxFloat64
	}
	return (rnd.Float64() - 0.3) * math.Pow(10, float64(rnd.IntN(8)-2))
}

func anyHistogram(rnd *rand.Rand) *histogram.FloatHistogram {
	h := &histogram.FloatHistogram{Schema: int32(rnd.IntN(12) - 4), CounterResetHint: histogram.CounterResetHint(rnd.IntN(4))}
	side := func() (spans []histogram.Span, buckets []float64) {
		for range rnd.IntN(4) {
			s := histogram.Span{Offset: int32(1 + rnd.IntN(3)), Length: uint32(rnd.IntN(4))}
			if len(spans) == 0 {
				s.Offset -= 5
			}
			spans = append(spans, s)
			for range s.Length {
				c := float64(rnd.IntN(5)) * 1.1
				buckets = append(buckets, c)
				h.Count += c
			}
		}
		return spans, buckets
	}
	if rnd.IntN(3) == 0 {
		h.Schema = histogram.CustomBucketsSchema
		bound := rnd.Float64()*10 - 5
		n := rnd.IntN(8)
		for range n {
			h.CustomValues = append(h.CustomValues, bound)
			bound += 0.1 + rnd.Float64()*5
		}
		h.PositiveSpans = []histogram.Span{{Length: uint32(n + 1)}}
		for range n + 1 {
			c := float64(rnd.IntN(5)) * 0.9
			h.PositiveBuckets = append(h.PositiveBuckets, c)
			h.Count += c
		}
	} else {
		if rnd.IntN(3) > 0 {
			h.PositiveSpans, h.PositiveBuckets = side()
		}
		if rnd.IntN(3) == 0 {
			h.NegativeSpans, h.NegativeBuckets = side()
		}
		h.ZeroThreshold = []float64{0, 1e-128, 0.001, 0.5}[rnd.IntN(4)]
		h.ZeroCount = float64(rnd.IntN(3))
		h.Count += h.ZeroCount
	}
	h.Sum = (rnd.Float64() - 0.3) * 100
	switch rnd.IntN(8) {
	case 0:
		h.Sum = math.NaN()
	case 1:
		h.Sum = math.NaN()
		h.Count += float64(1 + rnd.IntN(5))
	case 2:
		h.Sum = math.Inf(1)
	case 3:
		h.Count *= 1 + 1e-9
	}
	return h
}
