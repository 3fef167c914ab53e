package rollup

import (
	"math"
	"slices"

	"github.com/varvedb/varve/promqlx/internal/metricsql/stat"
)

// window is what a kernel sees of a step.
type window struct {
	values     []float64 // of the samples in (t-width, t]
	timestamps []int64

	// prev is the value of the sample before the window, NaN if there is none or it
	// is too far away; prevT is its time, or how far back it was looked for.
	prev  float64
	prevT int64
	// realPrev is the same but for how far away it is: that counts only against a
	// look-back, from the first sample of the window on.
	realPrev float64
	realNext float64 // value of the sample after the window, NaN if there is none

	t     int64 // time of the step
	step  int   // its number
	width int64

	out *branches // where functions that are labelled put their values
	s   *Scratch
}

// kernel returns the value of a window. There is no NaN among the samples, but
// there may be no samples at all.
type kernel func(w *window) float64

// reach tells the width of windows and how far before a window prev may be.
func (r *Roller) reach(timestamps []int64, s *Scratch) (width, prev int64) {
	w := &r.w
	prev = w.Grid.Step
	if w.Grid.Ranged || w.Grid.N > 1 {
		prev = inflate(scrapeInterval(timestamps, w.Grid.Step, s))
	}
	if w.Lookback > 0 {
		prev = min(prev, w.Lookback)
	}
	if w.Window > 0 {
		return w.Window, prev
	}
	width = w.Grid.Step
	if r.f.has(adjusts) {
		width = max(width, prev)
	}
	if r.byDefault && w.Lookback > 0 {
		width = min(width, w.Lookback)
	}
	return width, prev
}

// scrapeInterval estimates the distance of samples: the 0.6 quantile of the last 20
// distances. (getScrapeInterval of VictoriaMetrics' promql/rollup.go.)
func scrapeInterval(timestamps []int64, otherwise int64, s *Scratch) int64 {
	if len(timestamps) < 2 {
		return otherwise
	}
	last := timestamps[max(0, len(timestamps)-21):]
	gaps := s.floats[:0]
	for i := len(last) - 1; i > 0; i-- {
		gaps = append(gaps, float64(last[i]-last[i-1]))
	}
	s.floats = gaps
	slices.Sort(gaps)
	if interval := int64(stat.Quantile(0.6, gaps)); interval > 0 {
		return interval
	}
	return otherwise
}

// inflate makes room for jitter, more of it for short intervals.
// (getMaxPrevInterval of VictoriaMetrics' promql/rollup.go.)
func inflate(interval int64) int64 {
	switch {
	case interval <= 2000:
		return 5 * interval
	case interval <= 4000:
		return 3 * interval
	case interval <= 8000:
		return 2 * interval
	case interval <= 16000:
		return interval + interval/2
	case interval <= 32000:
		return interval + interval/4
	}
	return interval + interval/8
}

// bounds are the windows of a series, one after the other: samples [i, j).
type bounds struct {
	timestamps []int64
	width      int64
	i, j       int
	di, dj     int // how far they moved last, which they will do again if samples are regular
}

// seek goes to the window that ends at t, which never goes back.
func (b *bounds) seek(t int64) {
	start := t - b.width
	i := b.i + b.di
	if !isAfter(b.timestamps, i, start) {
		i = after(b.timestamps, b.i, start)
		b.di = i - b.i
	}
	b.i = i
	j := b.j + b.dj
	if !isAfter(b.timestamps, j, t) {
		j = after(b.timestamps, max(i, b.j), t)
		b.dj = j - b.j
	}
	b.j = j
}

// isAfter tells whether k is the first index whose time is after t.
func isAfter(timestamps []int64, k int, t int64) bool {
	return k < len(timestamps) && timestamps[k] > t && (k == 0 || timestamps[k-1] <= t)
}

// after returns the first index at or after i whose time is after t, in steps that
// grow: what is near is found at once, what is far away soon.
func after(timestamps []int64, i int, t int64) int {
	lo, hi := i, len(timestamps)
	for n := 1; lo < hi; n *= 2 {
		k := min(lo+n, hi) - 1
		if timestamps[k] > t {
			hi = k
			break
		}
		lo = k + 1
	}
	for lo < hi {
		if k := int(uint(lo+hi) >> 1); timestamps[k] > t {
			hi = k
		} else {
			lo = k + 1
		}
	}
	return lo
}

// walk calls a kernel at each step: the plain form that direct ones are held
// against. (doInternal of VictoriaMetrics' promql/rollup.go.)
func (r *Roller) walk(dst []float64, k kernel, values []float64, timestamps []int64, out *branches, s *Scratch) []float64 {
	width, reach := r.reach(timestamps, s)
	b := bounds{timestamps: timestamps, width: width}
	w := &s.window
	*w = window{width: width, out: out, s: s}
	for n := range r.w.Grid.N {
		w.t, w.step = r.w.Grid.T(n), n
		b.seek(w.t)
		i, j := b.i, b.j
		w.values, w.timestamps = values[i:j], timestamps[i:j]
		w.prev, w.prevT = nan, w.t-width-reach
		if 0 < i && i < len(timestamps) && timestamps[i-1] > w.prevT {
			w.prev, w.prevT = values[i-1], timestamps[i-1]
		}
		w.realPrev, w.realNext = r.realPrev(values, timestamps, i, j, w.t-width), nan
		if j < len(values) {
			w.realNext = values[j]
		}
		dst = append(dst, k(w))
		if s.Pace.Over(1 + len(w.values)) {
			break
		}
	}
	*w = window{}
	return dst
}

// realPrev returns the value before the window [i, j) that begins at start.
func (r *Roller) realPrev(values []float64, timestamps []int64, i, j int, start int64) float64 {
	if i == 0 {
		return nan
	}
	if i < j {
		start = timestamps[i]
	}
	if r.w.Lookback == 0 || start-timestamps[i-1] < r.w.Lookback {
		return values[i-1]
	}
	return nan
}

func isNaN(v float64) bool { return math.IsNaN(v) }
