package exec

import (
	"sync"

	"github.com/prometheus/prometheus/promql"

	"github.com/varvedb/varve/promqlx/internal/rollup"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/tsdb"
)

// Slabs come in one size each, but for those of points, of which slabPoints are the
// largest.
const (
	slabFloats      = 1 << 15
	smallSlabFloats = row.SlabFloats
	slabPoints      = 1 << 14
	worthPoints     = 1 << 10 // fewer are made anew
)

// Memory keeps slabs of floats and points between the queries of an engine, so
// that few of them are the garbage collector's business. The zero value is
// ready; it may be used by many queries at once.
type Memory struct {
	floats, small sync.Pool
	points        sync.Pool // of *[slabPoints]promql.FPoint
	fewer         sync.Pool // of *[]promql.FPoint, of less room
	benches       sync.Pool
}

// bench is what a goroutine works at while it reads series: the samples of one,
// what a function over windows needs besides, and a row.
type bench struct {
	samples tsdb.Samples
	scratch rollup.Scratch
	out     row.Row
	reader  reader
	current current
}

// maxBench is how many samples of room a bench may have to be kept.
const maxBench = 1 << 18

func (m *Memory) getBench() *bench {
	if b, ok := m.benches.Get().(*bench); ok {
		return b
	}
	return &bench{}
}

func (m *Memory) putBench(b *bench) {
	if cap(b.samples.T) > maxBench {
		return
	}
	b.samples.Reset()
	b.samples.WithST, b.samples.WithStale = false, false
	b.out.Resize(0)
	b.reader, b.current = reader{}, current{}
	m.benches.Put(b)
}

// getFloats returns at least n numbers of any value: a small slab or a large one.
func (m *Memory) getFloats(n int) []float64 {
	if n <= smallSlabFloats {
		if s, ok := m.small.Get().(*[smallSlabFloats]float64); ok {
			return s[:]
		}
		return make([]float64, smallSlabFloats)
	}
	if s, ok := m.floats.Get().(*[slabFloats]float64); ok {
		return s[:]
	}
	return make([]float64, slabFloats)
}

func (m *Memory) putFloats(s []float64) {
	if len(s) == smallSlabFloats {
		m.small.Put((*[smallSlabFloats]float64)(s))
		return
	}
	m.floats.Put((*[slabFloats]float64)(s))
}

// getPoints returns room for n points, at most slabPoints. Queries that come again
// and again want as many each time: of a piece of another size, that is too small or
// of which a quarter would be left, no use is made.
func (m *Memory) getPoints(n int) []promql.FPoint {
	if n == slabPoints {
		if s, ok := m.points.Get().(*[slabPoints]promql.FPoint); ok {
			return s[:0]
		}
		return make([]promql.FPoint, 0, slabPoints)
	}
	if s, ok := m.fewer.Get().(*[]promql.FPoint); ok && n <= cap(*s) && cap(*s)-n <= n/4 {
		return (*s)[:0]
	}
	return make([]promql.FPoint, 0, n)
}

func (m *Memory) putPoints(s []promql.FPoint) {
	if cap(s) == slabPoints {
		m.points.Put((*[slabPoints]promql.FPoint)(s[:slabPoints]))
		return
	}
	m.fewer.Put(&s)
}

// Answer is what Run returns. Its value is valid until Free.
type Answer struct {
	memory *Memory
	points [][]promql.FPoint
}

// Free gives the memory of the value back. It may be called more than once, and
// on nil.
func (a *Answer) Free() {
	if a == nil {
		return
	}
	for _, s := range a.points {
		a.memory.putPoints(s)
	}
	a.points = nil
}

// Slab implements row.Slabs.
func (m *Memory) Slab() []float64 { return m.getFloats(smallSlabFloats) }

// GiveBack implements row.Slabs.
func (m *Memory) GiveBack(slab []float64) { m.putFloats(slab) }
