package eval

import (
	"sync"

	"github.com/varvedb/varve/promqlx/internal/metricsql/rollup"
	"github.com/varvedb/varve/promqlx/internal/narrow"
	"github.com/varvedb/varve/tsdb"
)

// Memory keeps what queries work at with for those that follow. The zero value is
// ready; it may be used by many queries at once.
type Memory struct{ benches sync.Pool }

// bench is what series are worked at with, by one goroutine.
type bench struct {
	samples tsdb.Samples
	scratch rollup.Scratch
	values  []float64
	pieces  []tsdb.Narrow
	narrow  narrow.Scratch
}

// maxBench is how many samples of room a bench may have to be kept.
const maxBench = 1 << 18

func (m *Memory) get() *bench {
	if b, ok := m.benches.Get().(*bench); ok {
		return b
	}
	return &bench{}
}

func (m *Memory) put(b *bench) {
	if max(cap(b.samples.T), cap(b.values), b.scratch.Cap()) > maxBench {
		return
	}
	b.samples.Reset()
	b.scratch.Pace, b.scratch.Hold, b.narrow.Over = nil, nil, nil
	clear(b.pieces[:cap(b.pieces)]) // they refer to what the store keeps
	m.benches.Put(b)
}
