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
	if err != nil {
		if errors.Is(err, histogram.ErrHistogramsIncompatibleSchema) {
			w.note(annotations.NewMixedExponentialCustomHistogramsWarning(w.Name(), w.firstPos()))
		} else {
			w.fail(err)
		}
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
	sum, c, err := j.add(hs)
	if err != nil || c == nil {
		return sum, err
	}
	_, _, reconciled, err := sum.Add(c)
	j.reconciled = j.reconciled || reconciled
	return sum, err
}

// add returns the sum of the histograms and its compensation, nil if there is
// but one.
func (j *joined) add(hs []*histogram.FloatHistogram) (sum, c *histogram.FloatHistogram, err error) {
	sum = hs[0].Copy()
	j.see(sum)
	for _, h := range hs[1:] {
		var reconciled bool
		j.see(h)
		if c, _, reconciled, err = sum.KahanAdd(h, c); err != nil {
			return nil, nil, err
		}
		j.reconciled = j.reconciled || reconciled
	}
	return sum, c, nil
}

// avgHistograms is the part of funcAvgOverTime of Prometheus'
// promql/functions.go for histograms.
func (w *Window) avgHistograms() (float64, *histogram.FloatHistogram, bool) {
	var j joined
	h, err := j.avg(w.H)
	return j.finish(w, h, err)
}

// avg is the sum over the count, or a mean that goes along once the sum
// overflows. Whether it did is seen in the whole sum: what is infinite stays so,
// or is NaN later.
func (j *joined) avg(hs []*histogram.FloatHistogram) (*histogram.FloatHistogram, error) {
	var whole joined
	sum, c, err := whole.add(hs)
	if err != nil || !finiteHistogram(sum) || c != nil && !finiteHistogram(c) {
		return j.carefulAvg(hs)
	}
	*j = whole
	return sum, divide(sum, c, len(hs))
}

// finiteHistogram tells whether all numbers of a histogram are finite.
func finiteHistogram(h *histogram.FloatHistogram) bool {
	ok := finite(h.Count) && finite(h.Sum) && finite(h.ZeroCount)
	for _, b := range h.PositiveBuckets {
		ok = ok && finite(b)
	}
	for _, b := range h.NegativeBuckets {
		ok = ok && finite(b)
	}
	return ok
}

// divide makes the sum, with its compensation if that is not nil, the mean of n.
func divide(sum, c *histogram.FloatHistogram, n int) error {
	sum.Div(float64(n))
	if c == nil {
		return nil
	}
	_, _, _, err := sum.Add(c.Div(float64(n)))
	return err
}

// carefulAvg is avg with a look after each histogram.
func (j *joined) carefulAvg(hs []*histogram.FloatHistogram) (*histogram.FloatHistogram, error) {
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
	return sum, divide(sum, c, len(hs))
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
