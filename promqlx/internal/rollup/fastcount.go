package rollup

import "github.com/varvedb/varve/promqlx/internal/row"

// floatsChanges is the Floats form of changes.
func floatsChanges(in *Input, out *row.Row) {
	f := in.F
	in.countPairs(out, func(i int) bool { return f[i] != f[i-1] && differs(f[i-1], f[i]) })
}

// floatsResets is the Floats form of resets.
func floatsResets(in *Input, out *row.Row) {
	f := in.F
	if in.ST == nil {
		in.countPairs(out, func(i int) bool { return f[i] < f[i-1] })
		return
	}
	in.countPairs(out, in.resetBefore)
}

// countPairs counts in each window the floats that match with the one before
// them. Each is looked at once: what counts[j] says of float j is how many match
// up to it.
func (in *Input) countPairs(out *row.Row, match func(i int) bool) {
	lo, hi, _ := in.covered()
	counts := grow(&in.scratch().n0, max(hi-lo, 0))
	next, n := lo, int32(0)
	for i, a := range in.Lo {
		b := in.Hi[i]
		if b <= a {
			continue
		}
		// Floats between windows are left out: no window looks at them.
		for j := max(next, int(a)); j < int(b); j++ {
			if j > int(a) && match(j) {
				n++
			}
			counts[j-lo] = n
		}
		next = max(next, int(b))
		out.SetF(i, float64(counts[int(b)-1-lo]-counts[int(a)-lo]))
	}
}
