package transform

import (
	"math"
	"sort"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/metricsql/stat"
)

// eachSeriesBy makes a function of one that changes the values of a series in place,
// by what its first argument is at the first step.
func eachSeriesBy(change func(by float64, values []float64)) function {
	return func(c *call) ([]*series.Series, error) {
		if err := c.want(2); err != nil {
			return nil, err
		}
		by, err := c.first(0)
		if err != nil {
			return nil, err
		}
		for _, s := range c.Args[1] {
			change(by, s.Values)
			if c.Pace.Over(sortWork * len(s.Values)) {
				break
			}
		}
		return c.Args[1], nil
	}
}

func fill(values []float64, v float64) {
	for i := range values {
		values[i] = v
	}
}

func rangeFirst(values []float64) {
	if rest := fromFirst(values); len(rest) > 0 {
		fill(values, rest[0])
	}
}

// spreadLast puts the last value at all steps.
func spreadLast(values []float64) {
	if rest := toLast(values); len(rest) > 0 {
		fill(values, rest[len(rest)-1])
	}
}

func rangeMAD(values []float64)    { fill(values, mad(values)) }
func rangeStddev(values []float64) { fill(values, stddev(values)) }
func rangeStdvar(values []float64) { fill(values, stat.Variance(values)) }

// rangeQuantile puts the quantile in place of the last value. One that is none, as of a
// phi that is none, leaves the value before as the last.
func rangeQuantile(phi float64, values []float64) {
	last := len(toLast(values)) - 1
	if last < 0 {
		return
	}
	values[last] = quantile(phi, values)
	spreadLast(values)
}

func rangeZscore(values []float64) {
	sd, avg := stddev(values), mean(values)
	for i, v := range values {
		values[i] = (v - avg) / sd
	}
}

func trimZscore(z float64, values []float64) {
	z = math.Abs(z)
	sd, avg := stddev(values), mean(values)
	for i, v := range values {
		if math.Abs(v-avg)/sd > z {
			values[i] = math.NaN()
		}
	}
}

func trimOutliers(k float64, values []float64) {
	most := k * mad(values)
	median := quantile(0.5, values)
	for i, v := range values {
		if math.Abs(v-median) > most {
			values[i] = math.NaN()
		}
	}
}

// trimSpikes takes the share phi away, half of it above and half below.
func trimSpikes(phi float64, values []float64) {
	phi /= 2
	there := stat.AppendPresent(nil, values)
	sort.Float64s(there)
	high := stat.Quantile(1-phi, there)
	low := stat.Quantile(phi, there)
	for i, v := range values {
		if v > high || v < low {
			values[i] = math.NaN()
		}
	}
}

// rangeNormalize takes any number of arguments. Series without a finite range, such as
// those without values, are dropped.
func rangeNormalize(c *call) ([]*series.Series, error) {
	var all []*series.Series
	for _, arg := range c.Args {
		for _, s := range arg {
			if normalize(s.Values) {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

func normalize(values []float64) bool {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	d := high - low
	if math.IsInf(d, 0) {
		return false
	}
	for i, v := range values {
		values[i] = (v - low) / d
	}
	return true
}

func rangeLinearRegression(c *call) ([]*series.Series, error) {
	if err := c.want(1); err != nil {
		return nil, err
	}
	times := make([]int64, c.Grid.N) // since the first step
	for i := range times {
		times[i] = int64(i) * c.Grid.Step
	}
	for _, s := range c.Args[0] {
		v, k := stat.Line(s.Values, times, 0)
		for i := range s.Values {
			s.Values[i] = v + k*float64(times[i])/1e3 // in this order, for the last bit
		}
	}
	return c.Args[0], nil
}
