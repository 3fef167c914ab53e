package rollup

import (
	"errors"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/util/annotations"
)

// joined is what was met while histograms were added up.
type joined struct{ reset, notReset, reconciled bool }

func (j *joined) see(h *histogram.FloatHistogram) {
	switch h.CounterResetHint {
	case histogram.CounterReset:
		j.reset = true
	case histogram.NotCounterReset:
		j.notReset = true
	}
}

// finish notes what was met, or why there is no value.
func (j *joined) finish(w *Window, h *histogram.FloatHistogram, err error) (float64, *histogram.FloatHistogram, bool) {
	switch {
	case errors.Is(err, histogram.ErrHistogramsIncompatibleSchema):
		w.note(annotations.NewMixedExponentialCustomHistogramsWarning(w.Name(), w.firstPos()))
		return 0, nil, false
	case err != nil:
		w.fail(err)
		return 0, nil, false
	}
	if j.reset && j.notReset {
		w.note(annotations.NewHistogramCounterResetCollisionWarning(w.firstPos(), annotations.HistogramAgg))
	}
	if j.reconciled {
		w.note(annotations.NewMismatchedCustomBucketsHistogramsInfo(w.firstPos(), annotations.HistogramAgg))
	}
	return 0, h, true
}

// sumHistograms is the part of funcSumOverTime of Prometheus'
// promql/functions.go for histograms.
func (w *Window) sumHistograms() (float64, *histogram.FloatHistogram, bool) {
	var j joined
	h, err := j.sum(w.H)
	return j.finish(w, h, err)
}

func (j *joined) sum(hs []*histogram.FloatHistogram) (*histogram.FloatHistogram, error) {
	var (
		sum        = hs[0].Copy()
		c          *histogram.FloatHistogram
		reconciled bool
		err        error
	)
	j.see(sum)
	for _, h := range hs[1:] {
		j.see(h)
		if c, _, reconciled, err = sum.KahanAdd(h, c); err != nil {
			return nil, err
		}
		j.reconciled = j.reconciled || reconciled
	}
	if c != nil {
		if sum, _, reconciled, err = sum.Add(c); err != nil {
			return nil, err
		}
		j.reconciled = j.reconciled || reconciled
	}
	return sum, nil
}

// avgHistograms is the part of funcAvgOverTime of Prometheus'
// promql/functions.go for histograms.
func (w *Window) avgHistograms() (float64, *histogram.FloatHistogram, bool) {
	var j joined
	h, err := j.avg(w.H)
	return j.finish(w, h, err)
}

// avg is the sum over the count, or a mean that goes along once the sum
// overflows.
func (j *joined) avg(hs []*histogram.FloatHistogram) (*histogram.FloatHistogram, error) {
	sum := hs[0].Copy()
	var c *histogram.FloatHistogram
	j.see(sum)
	for i, h := range hs[1:] {
		j.see(h)
		next := sum.Copy()
		var nextC *histogram.FloatHistogram
		if c != nil {
			nextC = c.Copy()
		}
		nextC, _, reconciled, err := next.KahanAdd(h, nextC)
		if err != nil {
			return nil, err
		}
		j.reconciled = j.reconciled || reconciled
		if next.HasOverflow() {
			return j.runningMean(hs, i+1, sum, c)
		}
		sum, c = next, nextC
	}
	n := float64(len(hs))
	sum.Div(n)
	if c != nil {
		if _, _, _, err := sum.Add(c.Div(n)); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// runningMean takes the mean on from the sum of the first n histograms.
func (j *joined) runningMean(hs []*histogram.FloatHistogram, n int, mean, c *histogram.FloatHistogram) (*histogram.FloatHistogram, error) {
	mean.Div(float64(n))
	if c != nil {
		c.Div(float64(n))
	}
	for i := n; i < len(hs); i++ {
		j.see(hs[i])
		count := float64(i + 1)
		q := float64(i) / count
		if c != nil {
			c.Mul(q)
		}
		var (
			reconciled bool
			err        error
		)
		if c, _, reconciled, err = mean.Mul(q).KahanAdd(hs[i].Copy().Div(count), c); err != nil {
			return nil, err
		}
		j.reconciled = j.reconciled || reconciled
	}
	if c != nil {
		if _, _, _, err := mean.Add(c); err != nil {
			return nil, err
		}
	}
	return mean, nil
}
