package rollup

import (
	"math"

	"github.com/prometheus/prometheus/model/value"
)

// dropNaNs takes NaNs away, in place: those that are no staleness markers, which
// VictoriaMetrics does not store at all, and the markers unless they are kept.
func dropNaNs(values []float64, timestamps []int64, keepStale bool) ([]float64, []int64) {
	n := 0
	for n < len(values) && values[n] == values[n] {
		n++
	}
	if n == len(values) {
		return values, timestamps
	}
	for i := n; i < len(values); i++ {
		if v := values[i]; v == v || keepStale && value.IsStaleNaN(v) {
			values[n], timestamps[n] = v, timestamps[i]
			n++
		}
	}
	return values[:n], timestamps[:n]
}

// removeResets makes of a counter one that never falls, in place. A fall by less
// than an eighth is taken for one that is no reset to zero. If staleness is not 0,
// a gap longer than that begins anew. (removeCounterResets of VictoriaMetrics'
// promql/rollup.go; the stretch before the first fall goes faster.)
func removeResets(values []float64, timestamps []int64, staleness int64) {
	first := 0
	if staleness <= 0 {
		first = rising(values)
	}
	if first == len(values) {
		return
	}
	var correction float64
	prev := values[max(first-1, 0)]
	for i := first; i < len(values); i++ {
		v := values[i]
		if d := v - prev; d < 0 {
			if -d*8 < prev {
				correction += prev - v
			} else {
				correction += prev
			}
		}
		prev = v
		if i > 0 && staleness > 0 && timestamps[i]-timestamps[i-1] > staleness {
			correction = 0
			continue
		}
		values[i] = v + correction
		if i > 0 && values[i] < values[i-1] { // floats do not add up exactly
			values[i] = values[i-1]
		}
	}
}

// rising returns where values fall first, or where the first NaN is. Up to there it
// makes zeros positive, as adding a correction of 0 would.
func rising(values []float64) int {
	prev := math.Inf(-1)
	for i, v := range values {
		if !(v >= prev) {
			return i
		}
		if v == 0 {
			values[i] = 0
		}
		prev = v
	}
	return len(values)
}

// deltas makes of each value the difference to the next, of the last one that to
// the one before, in place. (deltaValues of VictoriaMetrics' promql/rollup.go.)
func deltas(values []float64, _ []int64) {
	if len(values) == 0 {
		return
	}
	var d float64
	for i := range len(values) - 1 {
		d = values[i+1] - values[i]
		values[i] = d
	}
	values[len(values)-1] = d
}

// derivs makes of each value the change per second up to the next, in place; of
// samples of one time the first counts. (derivValues of VictoriaMetrics'
// promql/rollup.go.)
func derivs(values []float64, timestamps []int64) {
	if len(values) == 0 {
		return
	}
	var d float64
	prev, prevT := values[0], timestamps[0]
	for i := range len(values) - 1 {
		v, t := values[i+1], timestamps[i+1]
		if t != prevT {
			d = (v - prev) / (float64(t-prevT) / 1e3)
			prev, prevT = v, t
		}
		values[i] = d
	}
	values[len(values)-1] = d
}

// intervals makes of each value the seconds since the sample before; of the first
// one the same as of the second.
func intervals(values []float64, timestamps []int64) {
	prev := nan
	for i, t := range timestamps {
		sec := float64(t) / 1000
		values[i] = sec - prev
		prev = sec
	}
	if len(values) > 1 {
		values[0] = values[1]
	}
}
