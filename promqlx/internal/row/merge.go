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
	if ascending(rows) {
		return rows, nil
	}
	seen := make(map[uint64]int32, len(rows)) // by hash, the number of the last row that had it, plus 1
	before := make([]int32, 0, len(rows))     // by row, the one before of its hash, plus 1
	out := rows[:0]
next:
	for _, r := range rows {
		h := r.Labels.Hash()
		for k := seen[h]; k > 0; k = before[k-1] {
			if first := out[k-1]; labels.Equal(first.Labels, r.Labels) {
				if err := first.absorb(r); err != nil {
					return nil, err
				}
				continue next
			}
		}
		before = append(before, seen[h])
		out = append(out, r)
		seen[h] = int32(len(out))
	}
	return out, nil
}

// ascending tells whether each row comes behind the one before by its labels: so
// most come from a store, and no two are equal.
func ascending(rows []*Row) bool {
	for i := 1; i < len(rows); i++ {
		if labels.Compare(rows[i-1].Labels, rows[i].Labels) >= 0 {
			return false
		}
	}
	return true
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
