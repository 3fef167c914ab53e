package rollup

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// BenchmarkDo rolls up half a day of samples every 10 s. "plain" is the same by
// walk.
func BenchmarkDo(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	values, timestamps := make([]float64, 4320), make([]int64, 4320)
	for i := range values {
		timestamps[i] = int64(i) * 10_000
		values[i] = float64(r.IntN(100))
	}
	f := func(name string, window, step int64) {
		sp := specs[name]
		fn := &Func{name: name, spec: sp, kernel: sp.kernel}
		roller, err := fn.On(Windows{Window: window * 1000, Grid: row.GridOf(3_600_000, 43_190_000, step*1000)}, nil)
		if err != nil {
			b.Fatal(err)
		}
		var s Scratch
		dst := make([]float64, 0, roller.w.Grid.N)
		from := values
		if sp.traits&counter != 0 {
			from = slices.Clone(values)
			for i := range from[1:] {
				from[i+1] += from[i]
			}
		}
		v, t := make([]float64, len(values)), slices.Clone(timestamps)
		id := fmt.Sprintf("%s/%ds/%ds", name, window, step)
		b.Run(id, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				copy(v, from)
				dst = roller.Do(dst[:0], v, t, &s)
			}
		})
		b.Run(id+"/plain", func(b *testing.B) {
			for b.Loop() {
				copy(v, from)
				pv, pt := roller.prepare(v, t)
				dst = roller.walk(dst[:0], sp.kernel, pv, pt, nil, &s)
			}
		})
	}
	for _, name := range []string{"max_over_time", "avg_over_time", "count_over_time", "rate", "default_rollup"} {
		f(name, 60, 60)
		f(name, 3600, 3600)
		f(name, 300, 60)
		f(name, 3600, 60)
	}
}
