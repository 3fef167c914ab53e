package series

import (
	"math"
	"slices"
)

// Series is one series on a grid that its holder knows: Values has one for each
// step, NaN where there is none.
//
// Who gets a Series from an operator owns it, and may change it: no two Series
// share a Name's Tags or Values, but where a doc comment says so.
type Series struct {
	Name   Name
	Values []float64
}

// Clone returns a series that shares nothing with s.
func (s *Series) Clone() *Series {
	return &Series{Name: s.Name.Clone(), Values: slices.Clone(s.Values)}
}

// Empty tells whether there is no value at all.
func (s *Series) Empty() bool {
	for _, v := range s.Values {
		if !math.IsNaN(v) {
			return false
		}
	}
	return true
}

// Constant returns a series without labels that has the same value at n steps.
func Constant(v float64, n int) *Series {
	s := &Series{Values: make([]float64, n)}
	for i := range s.Values {
		s.Values[i] = v
	}
	return s
}

// maxOverlap is at how many steps two series may both have values and still be one
// that was interrupted: the values of the first last a little.
const maxOverlap = 2

// Merge puts the values of src into dst, unless these are two series that live at the
// same time. A few steps are too little to tell. (mergeNonOverlappingTimeseries of
// VictoriaMetrics' promql/binary_op.go.)
func Merge(dst, src []float64) bool {
	overlap := 0
	for i, v := range src {
		if !math.IsNaN(v) && !math.IsNaN(dst[i]) {
			overlap++
		}
	}
	if overlap > maxOverlap || len(src) <= 2 {
		return false
	}
	for i, v := range src {
		if !math.IsNaN(v) {
			dst[i] = v
		}
	}
	return true
}

// DropEmpty takes away series without any value, in place.
func DropEmpty(all []*Series) []*Series {
	return slices.DeleteFunc(all, (*Series).Empty)
}

// Sort orders series by Compare of their names; equal ones keep their order.
func Sort(all []*Series) {
	slices.SortStableFunc(all, func(a, b *Series) int { return Compare(&a.Name, &b.Name) })
}
