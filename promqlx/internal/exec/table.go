package exec

import (
	"github.com/varvedb/varve/promqlx/internal/row"
)

// table keeps rows. Its memory is counted against the query's budget.
type table struct {
	q     *query
	steps int
	rows  []*row.Row
	held  int64 // bytes
	count int64 // samples
	noted bool  // there were annotations when the rows were made

	slab   []row.Row // room for further rows
	floats []float64
	words  []uint64
	shared [][]float64 // slabs of the engine's Memory
}

func (q *query) newTable(g row.Grid) *table { return &table{q: q, steps: g.N} }

// add keeps a copy of r.
func (t *table) add(r *row.Row) error {
	c, err := t.next()
	if err != nil {
		return err
	}
	c.Labels, c.DropName, c.Key = r.Labels, r.DropName, r.Key
	copy(c.F, r.F)
	copy(c.Has, r.Has)
	samples := int64(r.Has.Count())
	for i, h := range r.H {
		if h != nil {
			c.SetH(i, h)
			samples += histogramSamples(h)
		}
	}
	t.rows = append(t.rows, c)
	if bytes := histogramBytes(r.H); bytes > 0 {
		if err := t.q.Meter.Grow(bytes); err != nil {
			return err
		}
		t.held += bytes
	}
	t.count += samples
	return t.q.Meter.Samples(samples)
}

// rowBytes is the memory of a row beside its columns.
const rowBytes = 128

// bytes is the memory of a row.
func (t *table) bytes() int64 { return int64(rowBytes + 8*t.steps + 8*((t.steps+63)/64)) }

// next returns an empty row out of slabs: of its own as long as there are few
// rows, then of those that queries share.
func (t *table) next() (*row.Row, error) {
	if len(t.slab) == 0 {
		if err := t.grow(); err != nil {
			return nil, err
		}
	}
	c := &t.slab[0]
	t.slab = t.slab[1:]
	c.F, t.floats = t.floats[:t.steps:t.steps], t.floats[t.steps:]
	w := (t.steps + 63) / 64
	c.Has, t.words = t.words[:w:w], t.words[w:]
	return c, nil
}

func (t *table) grow() error {
	n := max(4, len(t.rows))
	shared := n*t.steps > smallSlabFloats/8 && t.steps <= slabFloats
	switch {
	case t.steps > slabFloats:
		n = 1
	case shared && n*t.steps <= smallSlabFloats:
		n = smallSlabFloats / t.steps
	case shared:
		n = slabFloats / t.steps
	}
	size := int64(n) * t.bytes()
	if err := t.q.Meter.Grow(size); err != nil {
		return err
	}
	t.held += size
	t.slab, t.words = make([]row.Row, n), make([]uint64, n*((t.steps+63)/64))
	if shared {
		t.floats = t.q.Memory.getFloats(n * t.steps)
		t.shared = append(t.shared, t.floats)
	} else {
		t.floats = make([]float64, n*t.steps)
	}
	return nil
}

// free lets the rows go: nobody may look at them afterwards.
func (t *table) free() {
	t.q.Meter.Shrink(t.held)
	_ = t.q.Meter.Samples(-t.count) // giving back cannot fail
	for _, s := range t.shared {
		t.q.Memory.putFloats(s)
	}
	*t = table{q: t.q, steps: t.steps}
}

// emitAll hands rows on that nobody else holds.
func (q *query) emitAll(rows []*row.Row, emit func(*row.Row) error) error {
	for i, r := range rows {
		if i&63 == 0 {
			if err := q.ended(); err != nil {
				return err
			}
		}
		if r.Empty() {
			continue
		}
		if err := emit(r); err != nil {
			return err
		}
	}
	return nil
}
