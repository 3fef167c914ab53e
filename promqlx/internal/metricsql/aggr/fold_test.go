package aggr_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql/aggr"
	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

func foldOf(t testing.TB, query string, in []*series.Series) *aggr.Fold {
	c := call(t, query, nil)
	f := aggr.NewFold(c.Expr, len(in[0].Values))
	for _, s := range in {
		f.Add(&s.Name, s.Values)
	}
	return f
}

func TestFold(t *testing.T) {
	f := func(query string, want ...string) {
		t.Helper()
		in := read(sample...)
		got := foldOf(t, query, in).Series()
		require.Equal(t, want, write(got), query)
		require.Equal(t, sample, write(in), "what is folded stays")
	}
	f("sum(m) by (job)", "{job=a} 4 - 3", "{job=b} 2 11 10", "{job=c} - - -")
	f("Sum(m) by (job) limit 1", "{job=a} 4 - 3")
	f("avg(m) by (__name__)", "m{} 2 7 2.6666666666666665", "n{} - 4 5")
	f("min(m)", "{} 1 4 -2")
	f("max(m) without (host)", "{job=a} 3 - 5", "{job=b} 2 7 5", "{job=c} - - -")
	f("count(m)", "{} 3 2 4")
	f("group(m)", "{} 1 1 1")
	f("sum2(m)", "{} 14 65 79")
	f("geomean(m) by (job)", "{job=a} 1.7320508075688772 - -", "{job=b} 2 5.291502622129181 5", "{job=c} - - -")
	f("any(m) by (job)", "m{job=a,host=1} 1 - 5", "m{job=b,host=1} 2 7 5", "m{job=c,host=9} - - -")
	f("any(m) by (job) limit 2", "m{job=a,host=1} 1 - 5", "m{job=b,host=1} 2 7 5")

	for _, query := range []string{"stddev(m)", "topk(1, m)", "quantile(1, m)"} {
		require.Nil(t, aggr.NewFold(call(t, query, nil).Expr, 3), query)
	}
}

// The caller may know the group: then nothing is looked up.
func TestFoldByNumber(t *testing.T) {
	in := read(sample...)
	want := write(foldOf(t, "sum(m) by (job)", in).Series())
	f := aggr.NewFold(call(t, "sum(m) by (job)", nil).Expr, 3)
	groups := make([]int, len(in))
	for i, s := range in {
		groups[i] = f.Group(&s.Name)
	}
	require.Equal(t, []int{0, 0, 1, 1, 2}, groups)
	for i, s := range in {
		f.AddTo(groups[i], s.Values)
	}
	require.Equal(t, want, write(f.Series()))

	f = aggr.NewFold(call(t, "any(m) by (job) limit 1", nil).Expr, 3)
	require.Equal(t, 0, f.Group(&in[0].Name))
	require.Equal(t, -1, f.Group(&in[2].Name))
	f.AddTo(-1, in[2].Values)
	require.Equal(t, []string{"m{job=a,host=1} - - -"}, write(f.Series()), "nothing was added")
}

func TestFoldAllocatesNothingForAKnownGroup(t *testing.T) {
	in := read("m{job=a,host=1} 1 2 3", "m{job=b,host=2} 4 5 -")
	f := foldOf(t, "avg(m) by (__name__, job)", in)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, s := range in {
			f.Add(&s.Name, s.Values)
		}
	}))
}

var foldable = []string{"sum", "avg", "sum2", "geomean", "count", "group", "min", "max"}

// plain is the obvious way, step by step: as VictoriaMetrics' promql/aggr.go has it.
func plain(name string, group [][]float64, step int) float64 {
	var sum, sum2, n float64
	product, least, most := 1.0, math.NaN(), math.NaN()
	for _, values := range group {
		v := values[step]
		if math.IsNaN(v) {
			continue
		}
		n++
		sum += v
		sum2 += v * v
		product *= v
		if math.IsNaN(least) || v < least {
			least = v
		}
		if math.IsNaN(most) || v > most {
			most = v
		}
	}
	switch {
	case n == 0:
		return math.NaN()
	case len(group) == 1 && (name == "sum" || name == "avg" || name == "geomean"):
		return group[0][step]
	}
	return map[string]float64{"sum": sum, "avg": sum / n, "sum2": sum2, "geomean": math.Pow(product, 1/n),
		"count": n, "group": 1, "min": least, "max": most}[name]
}

// randomSeries are series of a few groups with all that a value can be.
func randomSeries(r *rand.Rand, series, steps int) []string {
	out := make([]string, series)
	odd := []string{"-", "-", "+Inf", "-Inf", "-0", "0", "1e308", "-1e308", "5e-324"}
	for i := range out {
		out[i] = "m{g=" + strconv.Itoa(r.IntN(4)) + ",i=" + strconv.Itoa(i) + "}"
		for range steps {
			v := strconv.FormatFloat(r.NormFloat64()*100, 'g', -1, 64)
			if r.IntN(3) == 0 {
				v = odd[r.IntN(len(odd))]
			}
			out[i] += " " + v
		}
	}
	return out
}

// bits tells floats apart that == does not; all NaNs are one.
func bits(v float64) uint64 {
	if math.IsNaN(v) {
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(v)
}

// Both forms are the obvious way, but for the sign of a zero: see the package comment.
func TestFormsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		lines := randomSeries(r, 1+r.IntN(9), 1+r.IntN(7))
		for _, name := range foldable {
			query := name + "(m) by (g)"
			in := series.DropEmpty(read(lines...)) // those make a group of their own in a fold
			if len(in) == 0 {
				continue
			}
			groups := map[string][][]float64{}
			for _, s := range in {
				g := s.Name.Get("g")
				groups[g] = append(groups[g], s.Values)
			}
			folded := foldOf(t, query, in).Series()
			evaluated, err := aggr.Eval(call(t, query, in))
			require.NoError(t, err)
			require.Len(t, folded, len(evaluated))
			for i, s := range evaluated {
				require.Equal(t, s.Name, folded[i].Name)
				for step, v := range s.Values {
					want := plain(name, groups[s.Name.Get("g")], step)
					require.Equal(t, bits(want), bits(v), "%s: %v %v of %v", query, want, v, lines)
					require.Equal(t, bits(want+0), bits(folded[i].Values[step]+0), "%s of %v", query, lines)
				}
			}
		}
	}
}

func TestMinusZero(t *testing.T) {
	f := func(query string, evaluated, folded float64, lines ...string) {
		t.Helper()
		got, err := aggr.Eval(call(t, query, read(lines...)))
		require.NoError(t, err)
		require.Equal(t, bits(evaluated), bits(got[0].Values[0]))
		require.Equal(t, bits(folded), bits(foldOf(t, query, read(lines...)).Series()[0].Values[0]))
	}
	minus := math.Copysign(0, -1)
	f("sum(m)", 0, minus, "m{i=1} -0", "m{i=2} -0")
	f("avg(m)", 0, minus, "m{i=1} -0", "m{i=2} -0")
	f("sum(m)", minus, minus, "m{i=1} -0")
	f("sum(m)", 0, 0, "m{i=1} -0", "m{i=2} 0")
	f("sum2(m)", 0, 0, "m{i=1} -0")
	f("geomean(m)", minus, minus, "m{i=1} -0")
}

// Rooms for values of new groups must not run into each other.
func TestFoldOfManyGroups(t *testing.T) {
	for _, steps := range []int{1, 3, 700, 5000} {
		f := aggr.NewFold(&mql.AggrFuncExpr{Name: "avg", Modifier: mql.ModifierExpr{Op: "by", Args: []string{"i"}}}, steps)
		values := make([]float64, steps)
		for i := range 50 {
			for k := range values {
				values[k] = float64(i*steps + k)
			}
			n := series.Name{Tags: []series.Tag{{Key: "i", Value: strconv.Itoa(i)}}}
			f.Add(&n, values)
			f.Add(&n, values)
		}
		for i, s := range f.Series() {
			require.Equal(t, strconv.Itoa(i), s.Name.Get("i"))
			require.Len(t, s.Values, steps)
			for k, v := range s.Values {
				require.Equal(t, float64(i*steps+k), v)
			}
		}
	}
}

func BenchmarkFold(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	in := make([][]float64, 100)
	for i := range in {
		in[i] = make([]float64, 120)
		for k := range in[i] {
			in[i][k] = r.Float64()
		}
	}
	for _, name := range foldable {
		b.Run(name, func(b *testing.B) {
			f := aggr.NewFold(&mql.AggrFuncExpr{Name: name}, 120)
			g := f.Group(&series.Name{})
			b.ReportAllocs()
			b.SetBytes(120 * 8)
			for i := 0; b.Loop(); i++ {
				f.AddTo(g, in[i%len(in)])
			}
		})
	}
	name := series.Name{Group: "cpu_usage_user"}
	for _, key := range []string{"arch", "datacenter", "hostname", "os", "rack", "region", "service", "team"} {
		name.Add(key, key+"_value")
	}
	b.Run("find", func(b *testing.B) {
		f := aggr.NewFold(&mql.AggrFuncExpr{Name: "max", Modifier: mql.ModifierExpr{Op: "by", Args: []string{"__name__", "hostname"}}}, 120)
		b.ReportAllocs()
		for b.Loop() {
			f.Group(&name)
		}
	})
}
