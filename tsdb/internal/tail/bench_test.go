package tail

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/varvedb/varve/tsdb/internal/mem"
)

// benchShapes are the pairs of value and time shapes that are measured.
var benchShapes = [][2]string{
	{"walk", "grid"}, {"walk", "jitter"}, {"walk", "wide"}, {"counter", "grid"}, {"counter", "jitter"},
	{"decimals", "grid"}, {"free decimals", "grid"}, {"steps", "grid"}, {"constant", "grid"},
	{"sum of tenths", "grid"}, {"doubles", "grid"}, {"doubles", "jitter"}, {"doubles", "wide"},
}

// TestSize holds the bytes of a sample, idle ends of blocks included, to what
// this coding is for: on average while the second half of so many arrives.
func TestSize(t *testing.T) {
	limits := map[[2]string]float64{
		{"walk", "grid"}: 1.3, {"walk", "jitter"}: 2.3, {"counter", "grid"}: 2.3, {"counter", "jitter"}: 3.3, {"decimals", "grid"}: 1.5,
		{"free decimals", "grid"}: 2.6, {"steps", "grid"}: 0.5, {"constant", "grid"}: 0.1,
		{"doubles", "grid"}: 9.4, {"doubles", "jitter"}: 10, {"doubles", "wide"}: 12,
	}
	a := mem.New(mem.Options{})
	defer a.Release()
	for _, n := range []int{60, 480, 4320} {
		for _, shape := range benchShapes {
			r := rand.New(rand.NewPCG(1, 1))
			values, times := shapes[shape[0]](r, n), timeShapes[shape[1]](r, n)
			var tail Tail
			got := 0.0
			for i, v := range values {
				tail.Append(a, 0, times[i], v)
				if i >= n/2 {
					got += float64(tail.Bytes()) / float64(i+1) / float64(n-n/2)
				}
			}
			t.Logf("%-14s %-7s %5d samples: %6.3f bytes a sample", shape[0], shape[1], n, got)
			if limit, ok := limits[shape]; ok && n > 1000 && got > limit {
				t.Errorf("%s at %s: got %.3f bytes a sample, want at most %g", shape[0], shape[1], got, limit)
			}
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, shape := range benchShapes {
		b.Run(fmt.Sprintf("%s/%s", shape[0], shape[1]), func(b *testing.B) {
			const n = 4320
			r := rand.New(rand.NewPCG(1, 1))
			values, times := shapes[shape[0]](r, n), timeShapes[shape[1]](r, n)
			a := mem.New(mem.Options{})
			defer a.Release()
			var tail Tail
			for i := 0; i < b.N; i += n {
				tail.Free(a)
				for k, v := range values {
					tail.Append(a, 0, times[k], v)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, shape := range benchShapes {
		b.Run(fmt.Sprintf("%s/%s", shape[0], shape[1]), func(b *testing.B) {
			const n = 4320
			r := rand.New(rand.NewPCG(1, 1))
			values, times := shapes[shape[0]](r, n), timeShapes[shape[1]](r, n)
			a := mem.New(mem.Options{})
			defer a.Release()
			var tail Tail
			for i, v := range values {
				tail.Append(a, 0, times[i], v)
			}
			var s Snapshot
			var c Cursor
			for i := 0; i < b.N; i += n {
				tail.Snapshot(a, &s)
				c.Reset(&s, times[0], times[n-1], maxSpan)
				for c.Next() {
				}
			}
		})
	}
}

// BenchmarkLastHour reads 240 samples of 4320, as most queries do.
func BenchmarkLastHour(b *testing.B) {
	const n = 4320
	r := rand.New(rand.NewPCG(1, 1))
	values, times := shapes["walk"](r, n), timeShapes["grid"](r, n)
	a := mem.New(mem.Options{})
	defer a.Release()
	var tail Tail
	for i, v := range values {
		tail.Append(a, 0, times[i], v)
	}
	var s Snapshot
	var c Cursor
	for b.Loop() {
		tail.Snapshot(a, &s)
		c.Reset(&s, times[n-241], times[n-1], maxSpan)
		for c.Next() {
		}
	}
}

// BenchmarkAppendMany appends a scrape of many series, one sample each, which
// are not in the cache of the processor.
func BenchmarkAppendMany(b *testing.B) {
	const series = 100_000
	r := rand.New(rand.NewPCG(1, 1))
	values := shapes["walk"](r, 1<<16)
	a := mem.New(mem.Options{})
	defer a.Release()
	tails := mem.NewRecords[Tail](mem.Options{})
	defer tails.Release()
	for range series {
		tails.Add()
	}
	for i := 0; i < b.N; i++ {
		tails.At(uint32(i%series)).Append(a, 0, int64(i/series)*10_000, values[(i/series*7+i%series)&(1<<16-1)])
	}
}
