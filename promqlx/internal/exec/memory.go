package exec

import (
	"sync"

	"github.com/prometheus/prometheus/promql"
)

// Slabs come in one size each.
const (
	slabFloats = 1 << 15
	slabPoints = 1 << 14
)

// Memory keeps slabs of floats and points between the queries of an engine, so
// that few of them are the garbage collector's business. The zero value is
// ready; it may be used by many queries at once.
type Memory struct {
	floats, points sync.Pool
}

// getFloats returns slabFloats numbers of any value.
func (m *Memory) getFloats() []float64 {
	if s, ok := m.floats.Get().(*[slabFloats]float64); ok {
		return s[:]
	}
	return make([]float64, slabFloats)
}

func (m *Memory) putFloats(s []float64) { m.floats.Put((*[slabFloats]float64)(s)) }

// getPoints returns room for slabPoints points.
func (m *Memory) getPoints() []promql.FPoint {
	if s, ok := m.points.Get().(*[slabPoints]promql.FPoint); ok {
		return s[:0]
	}
	return make([]promql.FPoint, 0, slabPoints)
}

func (m *Memory) putPoints(s []promql.FPoint) {
	m.points.Put((*[slabPoints]promql.FPoint)(s[:slabPoints]))
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
