package rollup

// isReset tells whether a counter was reset between two samples by what their
// start times say (isStartTimestampReset of Prometheus' promql/functions.go).
// Start times of zero are unknown, so are those at or after their sample.
func isReset(prevST, prevT, st, t int64) bool {
	if prevST == st || st == 0 || st >= t {
		return false
	}
	if st != prevT {
		return st > prevT
	}
	// The start is the sample before: a reset if this is a series of deltas, none
	// if the start is unknown, which it is if that of the sample before is.
	return prevST < prevT && prevST != 0
}

// isResetAfter tells whether the start time of a sample is a reset after the
// time t (isStartTimestampResetAfter).
func isResetAfter(t, st, sampleT int64) bool {
	if st <= t || sampleT <= t {
		return false
	}
	return isReset(t, t, st, sampleT)
}

// overlaps tells whether a sample's start time lies before the sample before it,
// which has another (checkStartTimeOverlap).
func overlaps(prevST, prevT, st int64) bool {
	return st != 0 && st < prevT && st != prevST
}

// stAt returns the start time of sample i, 0 if none are known.
func stAt(st []int64, i int) int64 {
	if i < len(st) {
		return st[i]
	}
	return 0
}
