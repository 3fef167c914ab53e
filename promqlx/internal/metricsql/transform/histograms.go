package transform

import (
	"fmt"
	"math"
	"strconv"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// boundsLabel returns the label that argument i names for the bounds of an answer;
// empty if there is no such argument.
func (c *call) boundsLabel(i int) (string, error) {
	if len(c.Args) <= i {
		return "", nil
	}
	s, err := c.text(i)
	if err != nil {
		return "", fmt.Errorf("cannot parse boundsLabel (arg #%d): %w", i+1, err)
	}
	return s, nil
}

// estimate is what a histogram tells of a number: a guess, and what it lies between.
type estimate struct{ v, lower, upper float64 }

func exactly(v float64) estimate { return estimate{v, v, v} }

// estimates answers for all histograms and steps. With a label for bounds every series
// is followed by its lower and its upper bounds.
func (c *call) estimates(all [][]bucket, bounds string, at func(h []bucket, i int) estimate) []*series.Series {
	answer := make([]*series.Series, 0, len(all))
	for _, h := range all {
		h = mergeSame(h)
		s := h[0].s // read by at as well, but never behind the step it is asked for
		answer = append(answer, s)
		var lower, upper *series.Series
		if bounds != "" {
			lower, upper = labelled(s.Clone(), bounds, "lower"), labelled(s.Clone(), bounds, "upper")
			answer = append(answer, lower, upper)
		}
		for i := range s.Values {
			if c.Pace.Over(len(h)) {
				return nil
			}
			e := at(h, i)
			s.Values[i] = e.v
			if bounds != "" {
				lower.Values[i], upper.Values[i] = e.lower, e.upper
			}
		}
	}
	return answer
}

// labelled gives a series a label, which comes last even if there was one.
func labelled(s *series.Series, key, value string) *series.Series {
	s.Name.Put(key, value)
	return s
}

func histogramQuantile(c *call) ([]*series.Series, error) {
	if n := len(c.Args); n < 2 || n > 3 {
		return nil, fmt.Errorf("unexpected number of args; got %d; want 2...3", n)
	}
	phis, err := c.scalar(0)
	if err != nil {
		return nil, fmt.Errorf("cannot parse phi: %w", err)
	}
	bounds, err := c.boundsLabel(2)
	if err != nil {
		return nil, err
	}
	return c.quantiles(phis, c.Args[1], bounds), nil
}

func (c *call) quantiles(phis []float64, all []*series.Series, bounds string) []*series.Series {
	return c.estimates(histograms(all), bounds, func(h []bucket, i int) estimate {
		return bucketQuantile(phis[i], h, i)
	})
}

// histogramQuantiles is histogram_quantile for several phis, which are values of a
// label.
func histogramQuantiles(c *call) ([]*series.Series, error) {
	n := len(c.Args)
	if n < 3 {
		return nil, fmt.Errorf("unexpected number of args: %d; expecting at least 3 args", n)
	}
	label, err := c.text(0)
	if err != nil {
		return nil, fmt.Errorf("cannot obtain dstLabel: %w", err)
	}
	var answer []*series.Series
	for i, arg := range c.Args[1 : n-1] {
		phis, err := series.Scalar(arg, i)
		if err != nil {
			return nil, fmt.Errorf("cannot parse phi: %w", err)
		}
		if err := c.hold(len(c.Args[n-1])); err != nil {
			return nil, err
		}
		buckets := make([]*series.Series, len(c.Args[n-1]))
		for k, s := range c.Args[n-1] {
			buckets[k] = s.Clone()
		}
		text := strconv.FormatFloat(phis[0], 'g', -1, 64)
		before := len(answer)
		for _, s := range c.quantiles(phis, buckets, "") {
			answer = append(answer, labelled(s, label, text))
		}
		if err := c.hold(len(answer) - before - len(buckets)); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// bucketQuantile follows transformHistogramQuantile of VictoriaMetrics'
// promql/transform.go.
func bucketQuantile(phi float64, h []bucket, i int) estimate {
	if math.IsNaN(phi) {
		return exactly(math.NaN())
	}
	mend(h, i)
	total := h[len(h)-1].s.Values[i]
	switch {
	case total == 0:
		return exactly(math.NaN())
	case phi < 0:
		return estimate{math.Inf(-1), math.Inf(-1), h[0].s.Values[i]}
	case phi > 1:
		return estimate{math.Inf(1), total, math.Inf(1)}
	}
	want := total * phi
	var below, from float64
	for _, b := range h {
		v := b.s.Values[i]
		if v <= 0 {
			from = b.le
			continue
		}
		if v < want {
			below, from = v, b.le
			continue
		}
		if math.IsInf(b.le, 0) {
			break
		}
		if v == below {
			return estimate{from, from, v}
		}
		return estimate{from + (b.le-from)*(want-below)/(v-below), from, b.le}
	}
	last := lastFinite(h)
	return estimate{last, last, math.Inf(1)}
}

func lastFinite(h []bucket) float64 {
	for k := len(h) - 1; k >= 0; k-- {
		if !math.IsInf(h[k].le, 0) {
			return h[k].le
		}
	}
	return math.NaN()
}

func histogramShare(c *call) ([]*series.Series, error) {
	if n := len(c.Args); n < 2 || n > 3 {
		return nil, fmt.Errorf("unexpected number of args; got %d; want 2...3", n)
	}
	les, err := c.scalar(0)
	if err != nil {
		return nil, fmt.Errorf("cannot parse le: %w", err)
	}
	bounds, err := c.boundsLabel(2)
	if err != nil {
		return nil, err
	}
	return c.estimates(histograms(c.Args[1]), bounds, func(h []bucket, i int) estimate {
		return bucketShare(les[i], h, i)
	}), nil
}

// histogramFraction is the share below its second argument without the one below its
// first.
func histogramFraction(c *call) ([]*series.Series, error) {
	if err := c.want(3); err != nil {
		return nil, err
	}
	lower, err := c.scalar(0)
	if err != nil {
		return nil, fmt.Errorf("cannot parse lower le: %w", err)
	}
	upper, err := c.scalar(1)
	if err != nil {
		return nil, fmt.Errorf("cannot parse upper le: %w", err)
	}
	if lower[0] >= upper[0] {
		return nil, fmt.Errorf("lower le cannot be greater than upper le; got lower le: %f, upper le: %f", lower[0], upper[0])
	}
	return c.estimates(histograms(c.Args[2]), "", func(h []bucket, i int) estimate {
		return exactly(bucketShare(upper[i], h, i).v - bucketShare(lower[i], h, i).v)
	}), nil
}

// bucketShare follows transformHistogramShare of VictoriaMetrics' promql/transform.go.
func bucketShare(le float64, h []bucket, i int) estimate {
	switch {
	case math.IsNaN(le):
		return exactly(math.NaN())
	case le < 0:
		return exactly(0)
	case math.IsInf(le, 1):
		return exactly(1)
	}
	mend(h, i)
	total := h[len(h)-1].s.Values[i]
	var below, from float64
	for _, b := range h {
		v := b.s.Values[i]
		if le >= b.le {
			below, from = v, b.le
			continue
		}
		lower := below / total
		switch {
		case math.IsInf(b.le, 1):
			return estimate{lower, lower, 1}
		case from == le:
			return exactly(lower)
		}
		return estimate{lower + (v-below)/total*(le-from)/(b.le-from), lower, v / total}
	}
	return exactly(1)
}

// histogramMoment makes a function of one of the finite buckets of a histogram. Buckets
// of the same bound are not merged, and counts that fall are not mended.
func histogramMoment(f func(h []bucket, i int) float64) function {
	return func(c *call) ([]*series.Series, error) {
		if err := c.want(1); err != nil {
			return nil, err
		}
		all := histograms(c.Args[0])
		answer := make([]*series.Series, 0, len(all))
		for _, h := range all {
			s := h[0].s
			for i := range s.Values {
				if c.Pace.Over(len(h)) {
					return nil, nil // Eval tells why
				}
				s.Values[i] = f(h, i)
			}
			answer = append(answer, s)
		}
		return answer, nil
	}
}

// moments adds up what is in the buckets, and the middles of the buckets and their
// squares as often. (stdvarForLeTimeseries of VictoriaMetrics' promql/transform.go.)
func moments(h []bucket, i int) (n, sum, sum2 float64) {
	var from, below float64
	for _, b := range h {
		if math.IsInf(b.le, 0) {
			continue
		}
		middle := (b.le + from) / 2
		v := b.s.Values[i]
		weight := v - below
		sum += middle * weight
		sum2 += middle * middle * weight
		n += weight
		from, below = b.le, v
	}
	return n, sum, sum2
}

func bucketAvg(h []bucket, i int) float64 {
	n, sum, _ := moments(h, i)
	if n == 0 {
		return math.NaN()
	}
	return sum / n
}

func bucketStdvar(h []bucket, i int) float64 {
	n, sum, sum2 := moments(h, i)
	if n == 0 {
		return math.NaN()
	}
	avg := sum / n
	v := sum2/n - avg*avg
	if v < 0 { // it was computed inexactly
		return 0
	}
	return v
}

func bucketStddev(h []bucket, i int) float64 { return math.Sqrt(bucketStdvar(h, i)) }
