package aggr

import (
	"math"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// kernel is an aggregate that needs no more of the series it has seen than a value
// and a count at each step.
type kernel struct {
	start float64 // what a value is before the first one
	// many is what it is, in Eval, if there are several series.
	many float64
	// counts tells whether there is a count; an aggregate that has none is NaN at a
	// step where it has seen nothing.
	counts bool
	add    func(values []float64, counts []uint32, in []float64)
	finish func(values []float64, counts []uint32)
}

// kernels are the aggregates that can be folded, but for any. Each does the same
// operations in the same order as VictoriaMetrics' promql/aggr.go and
// aggr_incremental.go.
var kernels = map[string]*kernel{
	// Minus zero is what changes no value it is added to.
	"sum":     {start: math.Copysign(0, -1), counts: true, add: addSum, finish: finishSum},
	"avg":     {start: math.Copysign(0, -1), counts: true, add: addSum, finish: finishAvg},
	"sum2":    {counts: true, add: addSum2, finish: finishSum},
	"geomean": {start: 1, many: 1, counts: true, add: addProduct, finish: finishGeomean},
	"count":   {counts: true, add: addCount, finish: finishCount},
	"group":   {counts: true, add: addCount, finish: finishGroup},
	"min":     {start: math.NaN(), many: math.NaN(), add: addMin},
	"max":     {start: math.NaN(), many: math.NaN(), add: addMax},
}

// apply aggregates a group into its first series.
func (k *kernel) apply(group []*series.Series) []*series.Series {
	dst := group[0]
	values := make([]float64, len(dst.Values))
	start := k.start
	if len(group) > 1 {
		start = k.many
	}
	k.begin(values, start)
	var counts []uint32
	if k.counts {
		counts = make([]uint32, len(values))
	}
	for _, s := range group {
		k.add(values, counts, s.Values)
	}
	k.end(values, counts)
	dst.Values = values
	return group[:1]
}

// begin fills values, which are zero, with what they are before the first one.
func (k *kernel) begin(values []float64, start float64) {
	if math.Float64bits(start) == 0 {
		return
	}
	for i := range values {
		values[i] = start
	}
}

// end makes the answer out of values.
func (k *kernel) end(values []float64, counts []uint32) {
	if k.finish != nil {
		k.finish(values, counts)
	}
}

func addSum(values []float64, counts []uint32, in []float64) {
	values, counts = values[:len(in)], counts[:len(in)]
	for i, v := range in {
		if v == v {
			values[i] += v
			counts[i]++
		}
	}
}

func addSum2(values []float64, counts []uint32, in []float64) {
	values, counts = values[:len(in)], counts[:len(in)]
	for i, v := range in {
		if v == v {
			values[i] += v * v
			counts[i]++
		}
	}
}

func addProduct(values []float64, counts []uint32, in []float64) {
	values, counts = values[:len(in)], counts[:len(in)]
	for i, v := range in {
		if v == v {
			values[i] *= v
			counts[i]++
		}
	}
}

func addCount(_ []float64, counts []uint32, in []float64) {
	counts = counts[:len(in)]
	for i, v := range in {
		if v == v {
			counts[i]++
		}
	}
}

func addMin(values []float64, _ []uint32, in []float64) {
	values = values[:len(in)]
	for i, v := range in {
		if d := values[i]; v < d || d != d {
			values[i] = v
		}
	}
}

func addMax(values []float64, _ []uint32, in []float64) {
	values = values[:len(in)]
	for i, v := range in {
		if d := values[i]; v > d || d != d {
			values[i] = v
		}
	}
}

func finishSum(values []float64, counts []uint32) {
	for i, n := range counts {
		if n == 0 {
			values[i] = math.NaN()
		}
	}
}

func finishAvg(values []float64, counts []uint32) {
	for i, n := range counts {
		if n == 0 {
			values[i] = math.NaN()
			continue
		}
		values[i] /= float64(n)
	}
}

func finishGeomean(values []float64, counts []uint32) {
	for i, n := range counts {
		if n == 0 {
			values[i] = math.NaN()
			continue
		}
		values[i] = math.Pow(values[i], 1/float64(n))
	}
}

func finishCount(values []float64, counts []uint32) {
	for i, n := range counts {
		values[i] = math.NaN()
		if n > 0 {
			values[i] = float64(n)
		}
	}
}

func finishGroup(values []float64, counts []uint32) {
	for i, n := range counts {
		values[i] = math.NaN()
		if n > 0 {
			values[i] = 1
		}
	}
}
