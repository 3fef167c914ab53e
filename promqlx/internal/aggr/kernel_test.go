package aggr

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/kahansum"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/promqlx/internal/row/rowtest"
)

// The addition without branches is that of Prometheus, or is left to it.
func TestAddCompensated(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	for round := range 20_000 {
		v, c, x := make([]float64, 3), make([]float64, 3), make([]float64, 3)
		for i := range v {
			v[i], c[i], x[i] = wild(rng), wild(rng), wild(rng)
			if rng.IntN(3) == 0 {
				c[i] = 0
			}
			if c[i] == 0 {
				c[i] = 0 // a compensation is never -0
			}
		}
		wantV, wantC := slices.Clone(v), slices.Clone(c)
		for i := range v {
			wantV[i], wantC[i] = kahansum.Inc(x[i], v[i], c[i])
		}
		bad := addCompensated(v, c, x)
		for i := range v {
			if bad>>i&1 != 0 {
				v[i], c[i] = kahansum.Inc(x[i], v[i], c[i])
			} else {
				require.False(t, math.IsNaN(v[i]) || math.IsInf(v[i], 0))
			}
			require.True(t, same(wantV[i], v[i]) && same(wantC[i], c[i]), "seed %d round %d: %g+%g: %x %x, want %x %x",
				seed, round, v[i], x[i], v[i], c[i], wantV[i], wantC[i])
		}
	}
}

func wild(rng *rand.Rand) float64 {
	if rng.IntN(2) == 0 {
		return math.Float64frombits(rng.Uint64()) // any exponent, NaN, infinite
	}
	return rowtest.Float(rng, false)
}

func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

// Choosing without sorting all gives what sorting gives.
func TestQuantileOf(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	for round := range 2000 {
		values := make([]float64, 1+rng.IntN(200))
		few := 1 + rng.IntN(100)
		for i := range values {
			switch round % 3 {
			case 0:
				values[i] = rng.NormFloat64()
			case 1:
				values[i] = float64(1 + rng.IntN(few))
			default:
				values[i] = rowtest.Float(rng, false)
			}
		}
		q := []float64{0, 1, 0.5, 0.99, rng.Float64(), math.Nextafter(1, 0)}[rng.IntN(6)]
		slow := slices.Clone(values)
		sort.Sort(ascending(slow))
		rank := q * float64(len(slow)-1)
		lo := int(rank)
		want, weight := slow[lo], rank-math.Floor(rank)
		if weight != 0 {
			want = slow[lo]*(1-weight) + slow[min(lo+1, len(slow)-1)]*weight
		}
		got := quantileOf(q, values)
		require.Equal(t, math.Float64bits(want), math.Float64bits(got), "seed %d round %d: %g of %v", seed, round, q, slow)
	}
}

// BenchmarkAdd is the cost of a step of a series: rows of one group.
func BenchmarkAdd(b *testing.B) {
	const steps, rows = 1000, 64
	rng := rand.New(rand.NewPCG(1, 2))
	for _, data := range []string{"positive", "signed", "gaps"} {
		var in []*row.Row
		for range rows {
			r := row.New(steps)
			for i := range steps {
				switch f := rng.NormFloat64() * 100; {
				case data == "positive":
					r.SetF(i, math.Abs(f))
				case data == "signed" || rng.IntN(4) > 0:
					r.SetF(i, f)
				}
			}
			in = append(in, r)
		}
		param := slices.Repeat([]float64{5}, steps)
		for _, op := range []parser.ItemType{
			parser.SUM, parser.AVG, parser.MIN, parser.MAX, parser.COUNT, parser.GROUP, parser.STDDEV,
			parser.QUANTILE, parser.TOPK, parser.LIMITK, parser.COUNT_VALUES,
		} {
			b.Run(fmt.Sprintf("%v/%s", op, data), func(b *testing.B) {
				spec, env := Spec{Op: op, Param: param, Text: "v"}, &row.Env{Grid: row.Grid{Step: 1, N: steps}}
				if op == parser.QUANTILE {
					spec.Param = slices.Repeat([]float64{0.9}, steps)
				}
				for b.Loop() {
					acc := New(spec, env)
					for _, r := range in {
						acc.Add(0, r)
					}
					_ = acc.Finish([]labels.Labels{labels.EmptyLabels()}, func(*row.Row) error { return nil })
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*steps*rows), "ns/sample")
			})
		}
	}
}

// BenchmarkGroups is many groups of one step.
func BenchmarkGroups(b *testing.B) {
	const n = 100_000
	r := row.New(1)
	r.SetF(0, 1.5)
	groups := make([]labels.Labels, n)
	for _, op := range []parser.ItemType{parser.SUM, parser.MAX, parser.COUNT, parser.TOPK} {
		b.Run(op.String(), func(b *testing.B) {
			b.ReportAllocs()
			spec, env := Spec{Op: op, Param: []float64{5}}, &row.Env{Grid: row.Grid{Step: 1, N: 1}}
			for b.Loop() {
				acc := New(spec, env)
				for g := range n {
					acc.Add(g, r)
				}
				_ = acc.Finish(groups, func(*row.Row) error { return nil })
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/group")
		})
	}
}
