package rollup

// Windows that overlap a lot hold the same samples again and again. What is here
// looks at each sample once instead, where that yields the same bits.

// How often a sample has to be looked at for that to pay.
const (
	manySums     = 6
	manyExtremes = 12
)

func (r *Roller) overlaps(width, times int64) bool {
	return int64(r.w.Grid.N) >= times && width/times >= r.w.Grid.Step
}

// extreme appends the greatest value of each window if sign is 1, the least if it is
// -1; of equal ones the first. There is no NaN among the values.
//
// s.ring holds the samples that may still be an extreme: each is more extreme than
// those after it, or equal.
func (r *Roller) extreme(dst []float64, b bounds, values []float64, sign float64, s *Scratch) []float64 {
	ring, head, seen := s.ring[:0], 0, 0
	for n, t := r.w.Grid.N, r.w.Grid.Start; n > 0; n, t = n-1, t+r.w.Grid.Step {
		b.seek(t)
		for seen = max(seen, b.i); seen < b.j; seen++ {
			v := values[seen] * sign
			for len(ring) > head && values[ring[len(ring)-1]]*sign < v {
				ring = ring[:len(ring)-1]
			}
			ring = append(ring, seen)
		}
		for head < len(ring) && ring[head] < b.i {
			head++
		}
		v := nan
		if head < len(ring) {
			v = values[ring[head]]
		}
		dst = append(dst, v)
	}
	s.ring = ring
	return dst
}

// prefixes returns the sums of the first values, none to all, if they are exact in
// any order: whole numbers whose sum is one that a float holds. They are valid until
// the next call.
func (s *Scratch) prefixes(values []float64) ([]float64, bool) {
	const exact = 1 << 53
	sums := append(s.floats[:0], 0)
	var sum, all float64
	for _, v := range values {
		if float64(int64(v)) != v {
			return nil, false
		}
		sum += v
		all += max(v, -v)
		sums = append(sums, sum)
	}
	s.floats = sums
	return sums, all < exact
}
