package exec

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"

	"github.com/varvedb/varve/tsdb"
)

// visits are the times up to which Prometheus' engine reads a series, step by
// step. It matters for histograms of which only count and sum are kept: whether
// the counter was reset is then found out while reading, from the sample read
// before, and forgotten where the engine jumps ahead. (BufferedSeriesIterator and
// MemoizedSeriesIterator of Prometheus' storage, HistogramStatsIterator of its
// promql.)
type visits struct {
	scope
	off   int64 // step i reads up to T(i)-off,
	fixed bool  // or all read what the first does
	// back is how far before that a step wants to look, and window, if it is not
	// 0, how far the later ones do, after the first with samples.
	back, window int64
	dropStale    bool // markers are to be left out of the samples
}

// statsOnly leaves of the histograms what their count, sum and counter reset hint
// tell.
func (v *visits) statsOnly(s *tsdb.Samples) {
	if len(s.H) > 0 {
		v.strip(s)
	}
	if v.dropStale {
		dropStale(s)
	}
}

func (v *visits) strip(s *tsdb.Samples) {
	jumps := v.jumps(merged(s))
	var last *histogram.FloatHistogram
	for i, h := range s.H {
		c := &histogram.FloatHistogram{CounterResetHint: h.CounterResetHint, Schema: h.Schema, Count: h.Count, Sum: h.Sum}
		s.H[i] = c
		if jumps[s.HT[i]] {
			last = nil
		}
		if value.IsStaleNaN(h.Sum) {
			continue
		}
		if c.CounterResetHint == histogram.UnknownCounterReset && last != nil {
			c.CounterResetHint = histogram.NotCounterReset
			if h.DetectReset(last) {
				c.CounterResetHint = histogram.CounterReset
			}
		}
		known := *h
		known.CounterResetHint = c.CounterResetHint
		last = &known
	}
}

// seen is the time of a sample, and whether it is a staleness marker.
type seen struct {
	t     int64
	stale bool
}

// merged returns the times of floats and histograms together.
func merged(s *tsdb.Samples) []seen {
	out := make([]seen, 0, len(s.T)+len(s.HT))
	k := 0
	for i, t := range s.T {
		for k < len(s.HT) && s.HT[k] < t {
			out = append(out, seen{s.HT[k], value.IsStaleNaN(s.H[k].Sum)})
			k++
		}
		out = append(out, seen{t, value.IsStaleNaN(s.F[i])})
	}
	for ; k < len(s.HT); k++ {
		out = append(out, seen{s.HT[k], value.IsStaleNaN(s.H[k].Sum)})
	}
	return out
}

// jumps returns the times of the samples that are reached by a jump.
func (v *visits) jumps(samples []seen) map[int64]bool {
	out := map[int64]bool{}
	at, last, back := 0, int64(math.MinInt64), v.back
	for i := 0; i < v.N && at < len(samples); i++ {
		if v.fixed && i > 0 {
			break
		}
		t := v.T(i) - v.off
		if t-back > last {
			from := at
			for at < len(samples) && samples[at].t < t-back {
				at++
			}
			if at == len(samples) {
				break
			}
			if last = samples[at].t; at > from {
				out[last] = true
			}
		}
		for last < t {
			if at++; at == len(samples) {
				break
			}
			last = samples[at].t
		}
		if v.window > 0 && v.window < back && anyWithin(samples, t-v.back, t) {
			back = v.window
		}
	}
	return out
}

// anyWithin tells whether there is a sample in (mint, maxt] that is no marker.
func anyWithin(samples []seen, mint, maxt int64) bool {
	for _, s := range samples {
		if s.t > mint && s.t <= maxt && !s.stale {
			return true
		}
	}
	return false
}

func dropStale(s *tsdb.Samples) {
	n := 0
	for i, f := range s.F {
		if !value.IsStaleNaN(f) {
			s.T[n], s.F[n] = s.T[i], f
			if s.ST != nil {
				s.ST[n] = s.ST[i]
			}
			n++
		}
	}
	s.T, s.F = s.T[:n], s.F[:n]
	if s.ST != nil {
		s.ST = s.ST[:n]
	}
	n = 0
	for i, h := range s.H {
		if !value.IsStaleNaN(h.Sum) {
			s.HT[n], s.H[n] = s.HT[i], h
			if s.HST != nil {
				s.HST[n] = s.HST[i]
			}
			n++
		}
	}
	s.HT, s.H = s.HT[:n], s.H[:n]
	if s.HST != nil {
		s.HST = s.HST[:n]
	}
}
