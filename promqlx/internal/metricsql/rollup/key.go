package rollup

import "math"

// key maps floats to whole numbers in their order, so that the greatest of a few is
// found without a branch, which would be guessed wrongly every other time. Unlike
// floats, a negative zero comes before a positive one, and NaNs lie outside of all.
func key(v float64) int64 {
	b := int64(math.Float64bits(v))
	return b ^ int64(uint64(b>>63)>>1)
}

func unkey(k int64) float64 {
	return math.Float64frombits(uint64(k ^ int64(uint64(k>>63)>>1)))
}

// greatest is highest, the fast way.
func greatest(values []float64) float64 {
	first := values[0]
	k := key(first)
	for _, v := range values[1:] {
		k = max(k, key(v))
	}
	m := unkey(k)
	if m == 0 || isNaN(m) || isNaN(first) {
		return highest(values)
	}
	return m
}

// least is lowest, the fast way.
func least(values []float64) float64 {
	first := values[0]
	k := key(first)
	for _, v := range values[1:] {
		k = min(k, key(v))
	}
	m := unkey(k)
	if m == 0 || isNaN(m) || isNaN(first) {
		return lowest(values)
	}
	return m
}
