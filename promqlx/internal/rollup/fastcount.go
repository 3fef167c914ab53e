package rollup

import "github.com/varvedb/varve/promqlx/internal/row"

// floatsChanges is the Floats form of changes.
func floatsChanges(in *Input, out *row.Row) {
	in.countPairs(out, func(counts []int32, n int32, lo, hi int) int32 {
		prev := in.F[lo]
		for j, v := range in.F[lo:hi] {
			if v != prev && (v == v || prev == prev) {
				n++
			}
			prev = v
			counts[j] = n
		}
		return n
	})
}

// floatsResets is the Floats form of resets.
func floatsResets(in *Input, out *row.Row) {
	starts := in.ST != nil
	in.countPairs(out, func(counts []int32, n int32, lo, hi int) int32 {
		prev := in.F[lo]
		for j, v := range in.F[lo:hi] {
			if v < prev || starts && j > 0 && in.resetBefore(lo+j) {
				n++
			}
			prev = v
			counts[j] = n
		}
		return n
	})
}

// countPairs counts in each window the floats that match with the one before
// them. Each is looked at once: counts says for each float how many match up to
// it. count does that for the floats [lo, hi), without the first, where n
// matched before, and returns how many match then.
func (in *Input) countPairs(out *row.Row, count func(counts []int32, n int32, lo, hi int) int32) {
	origin, end, _ := in.covered()
	counts := grow(&in.scratch().n0, max(end-origin, 0))
	next, n := origin, int32(0)
	for i, a := range in.Lo {
		lo, hi := int(a), int(in.Hi[i])
		if hi <= lo {
			continue
		}
		// Floats between windows are left out: no window looks at them. Else the
		// last that was looked at is what the next is compared with.
		if from := max(next-1, lo); from < hi {
			n = count(counts[from-origin:], n, from, hi)
		}
		next = max(next, hi)
		out.SetF(i, float64(counts[hi-1-origin]-counts[lo-origin]))
	}
}
