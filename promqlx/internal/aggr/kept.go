package aggr

import "github.com/varvedb/varve/promqlx/internal/row"

// kept holds copies of the values of rows, by number.
type kept struct {
	f   column[float64]
	has column[uint64]
	n   int
}

func newKept(b *base) kept {
	return kept{f: newFloats(b.env, b.n), has: newColumn[uint64](b.words)}
}

// add keeps the values f at the steps of has and returns the row's number.
func (k *kept) add(f []float64, has row.Bits) int {
	copy(k.f.at(k.n), f)
	copy(k.has.at(k.n), has)
	k.n++
	return k.n - 1
}

func (k *kept) floats(i int) []float64 { return k.f.at(i) }
func (k *kept) bits(i int) row.Bits    { return k.has.at(i) }

func (k *kept) bytes() int64 { return int64(8 * (k.f.held + k.has.held)) }
