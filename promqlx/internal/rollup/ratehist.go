package rollup

import (
	"errors"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"
)

// histograms is the part of extrapolatedRate of Prometheus'
// promql/functions.go for histograms.
func (k rateKind) histograms(w *Window) (float64, *histogram.FloatHistogram, bool) {
	var h *histogram.FloatHistogram
	last := len(w.H) - 1
	c := w.combiner(w.firstPos())
	if last > 0 {
		if h = k.difference(w, c); h == nil {
			return 0, nil, false
		}
	}
	s := spanOf(w.HT[0], w.HT[last], last, w.rangeStart(), w.rangeEnd())
	switch {
	case k.counter && s.startsInside(w.HST):
		s.startAt(w.HST[0])
		if h == nil {
			h = w.H[0].Copy()
		} else if !c.add(h, w.H[0]) {
			c.done()
			return 0, nil, false
		}
	case last == 0:
		return 0, nil, false
	default:
		s.clampStart(k.counter, w.H[0].Count, h.Count)
	}
	c.done()
	if w.err != nil {
		return 0, nil, false
	}
	factor := s.factor()
	if k.perSecond {
		factor /= w.rangeSeconds()
	}
	return 0, h.Mul(factor), true
}

// difference is what a histogram grew by over the window, nil if the histograms
// do not go together (histogramRate of Prometheus' promql/functions.go).
func (k rateKind) difference(w *Window, c *combiner) *histogram.FloatHistogram {
	first, last := w.H[0], w.H[len(w.H)-1]
	if k.counter {
		if first.CounterResetHint == histogram.GaugeType || last.CounterResetHint == histogram.GaugeType {
			c.annos.Add(annotations.NewNativeHistogramNotCounterWarning(w.Name(), w.firstPos()))
		}
		// If there is a reset right after the first histogram, then that is not
		// looked at and its buckets do not matter.
		if second := w.H[1]; w.histReset(1) || w.detects(1) {
			first = &histogram.FloatHistogram{Schema: second.Schema, CustomValues: second.CustomValues}
		}
	}
	custom := first.UsesCustomBuckets()
	if last.UsesCustomBuckets() != custom {
		c.mixed()
		c.done()
		return nil
	}
	schema := min(last.Schema, first.Schema)
	if k.counter {
		for _, h := range w.H[1 : len(w.H)-1] {
			if h.CounterResetHint == histogram.GaugeType {
				c.annos.Add(annotations.NewNativeHistogramNotCounterWarning(w.Name(), w.firstPos()))
			}
			schema = min(schema, h.Schema)
			if h.UsesCustomBuckets() != custom {
				return c.onlyMixed()
			}
		}
	}
	h, err := last.CopyToSchema(schema)
	if err != nil {
		w.fail(err)
		return nil
	}
	if !c.sub(h, first) {
		return c.onlyMixed()
	}
	if !k.counter {
		if w.H[0].CounterResetHint != histogram.GaugeType || last.CounterResetHint != histogram.GaugeType {
			c.annos.Add(annotations.NewNativeHistogramNotGaugeWarning(w.Name(), w.firstPos()))
		}
	} else if !c.addResets(h, first) {
		return c.onlyMixed()
	}
	h.CounterResetHint = histogram.GaugeType
	return h.Compact(0)
}

// addResets adds to h the histograms before each reset of the window. prev
// stands for the first.
func (c *combiner) addResets(h, prev *histogram.FloatHistogram) bool {
	w := c.w
	overlap := false
	for i := 1; i < len(w.H); i++ {
		if w.HST != nil && !overlap && overlaps(w.HST[i-1], w.HT[i-1], w.HST[i]) {
			c.annos.Add(annotations.NewStartTimeOverlapWarning(w.Name(), w.firstPos()))
			overlap = true
		}
		reset := w.histReset(i)
		if !reset && prev == w.H[i-1] {
			reset = w.detects(i)
		} else if !reset {
			reset = w.H[i].DetectReset(prev)
		}
		if reset && !c.add(h, prev) {
			return false
		}
		prev = w.H[i]
	}
	return true
}

// histReset tells whether start times say that there was a reset before
// histogram i.
func (w *Window) histReset(i int) bool {
	return w.HST != nil && isReset(w.HST[i-1], w.HT[i-1], w.HST[i], w.HT[i])
}

// detects tells whether histogram i looks as if there was a reset between it and
// the one before. It is looked at once, however many windows hold both.
func (w *Window) detects(i int) bool {
	known := &w.histResets[i]
	if *known == 0 {
		*known = 1
		if w.H[i].DetectReset(w.H[i-1]) {
			*known = 2
		}
	}
	return *known == 2
}

// combiner adds and subtracts histograms and keeps the annotations of that.
type combiner struct {
	w     *Window
	pos   posrange.PositionRange
	annos annotations.Annotations
}

func (w *Window) combiner(pos posrange.PositionRange) *combiner {
	w.c = combiner{w: w, pos: pos}
	return &w.c
}

// done hands the annotations to the evaluation.
func (c *combiner) done() {
	if len(c.annos) > 0 {
		c.w.Env.Annos.Merge(c.annos)
	}
}

// mixed notes that exponential and custom buckets met.
func (c *combiner) mixed() {
	c.annos.Add(annotations.NewMixedExponentialCustomHistogramsWarning(c.w.Name(), c.pos))
}

// onlyMixed notes it and forgets what was noted before, as histogramRate does.
// Nothing is noted if the evaluation failed.
func (c *combiner) onlyMixed() *histogram.FloatHistogram {
	if c.w.err == nil {
		c.annos = nil
		c.mixed()
		c.done()
	}
	return nil
}

// add adds b to a (addHistogramWithAnnotations, but that the caller notes what
// it is that failed: it is false if the kinds of buckets differ, or after an
// error).
func (c *combiner) add(a, b *histogram.FloatHistogram) bool {
	_, _, reconciled, err := a.Add(b)
	return c.judge(annotations.HistogramAdd, reconciled, err)
}

// sub subtracts b from a, as add (subHistogramWithAnnotations).
func (c *combiner) sub(a, b *histogram.FloatHistogram) bool {
	_, _, reconciled, err := a.Sub(b)
	return c.judge(annotations.HistogramSub, reconciled, err)
}

func (c *combiner) judge(op annotations.HistogramOperation, reconciled bool, err error) bool {
	switch {
	case err == nil: // first, as what errors.Is takes is allocated
		if reconciled {
			c.annos.Add(annotations.NewMismatchedCustomBucketsHistogramsInfo(c.pos, op))
		}
		return true
	case errors.Is(err, histogram.ErrHistogramsIncompatibleSchema):
		c.mixed()
	default:
		c.w.fail(err)
	}
	return false
}
