package row

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
)

// MergeSame joins rows with equal labels, which dropping names can leave, into
// the first of them; the order of first appearance stays. Two samples at one
// step are ErrSameLabels. (mergeSeriesWithSameLabelset of Prometheus' engine.)
// The rows are the caller's own and are changed.
func MergeSame(rows []*Row) ([]*Row, error) {
	if len(rows) < 2 {
		return rows, nil
	}
	seen := make(map[uint64][]*Row, len(rows))
	out := rows[:0]
next:
	for _, r := range rows {
		h := r.Labels.Hash()
		for _, first := range seen[h] {
			if labels.Equal(first.Labels, r.Labels) {
				if err := first.absorb(r); err != nil {
					return nil, err
				}
				continue next
			}
		}
		seen[h] = append(seen[h], r)
		out = append(out, r)
	}
	return out, nil
}

// absorb takes the samples of b over into r.
func (r *Row) absorb(b *Row) error {
	for i := range b.F {
		if !b.At(i) {
			continue
		}
		if r.At(i) {
			return ErrSameLabels
		}
		if h := b.HAt(i); h != nil {
			r.SetH(i, h)
		} else {
			r.SetF(i, b.F[i])
		}
	}
	return nil
}

// SetAt puts a sample at step i: the histogram, or the float if that is nil.
func (r *Row) SetAt(i int, f float64, h *histogram.FloatHistogram) {
	if h != nil {
		r.SetH(i, h)
		return
	}
	r.SetF(i, f)
}
