package transform

import (
	"math"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// eachSeries makes a function of one that changes the values of a series in place. It
// keeps the name of the metric.
func eachSeries(change func(values []float64)) function {
	return func(c *call) ([]*series.Series, error) {
		if err := c.want(1); err != nil {
			return nil, err
		}
		for _, s := range c.Args[0] {
			change(s.Values)
			if c.Pace.Over(sortWork * len(s.Values)) {
				break
			}
		}
		return c.Args[0], nil
	}
}

// running makes a function of one that adds the i-th value (from 0) to what those
// before it came to. The name of the metric is always dropped. Steps without a value
// count as steps, and get what came before; those before the first value get none.
func running(add func(sofar, v float64, i int) float64) function {
	return func(c *call) ([]*series.Series, error) {
		if err := c.want(1); err != nil {
			return nil, err
		}
		for _, s := range c.Args[0] {
			s.Name.Group = ""
			run(s.Values, add)
			if c.Pace.Over(len(s.Values)) {
				break
			}
		}
		return c.Args[0], nil
	}
}

// over makes a function of the last step of running.
func over(add func(sofar, v float64, i int) float64) function {
	f := running(add)
	return func(c *call) ([]*series.Series, error) {
		all, err := f(c)
		for _, s := range all {
			spreadLast(s.Values)
		}
		return all, err
	}
}

func run(values []float64, add func(sofar, v float64, i int) float64) {
	values = fromFirst(values)
	if len(values) == 0 {
		return
	}
	sofar := values[0]
	for i := 1; i < len(values); i++ {
		if v := values[i]; !math.IsNaN(v) {
			sofar = add(sofar, v, i)
		}
		values[i] = sofar
	}
}

func runningSum(sofar, v float64, _ int) float64 { return sofar + v }

func runningMax(sofar, v float64, _ int) float64 {
	if sofar > v {
		return sofar
	}
	return v
}

func runningMin(sofar, v float64, _ int) float64 {
	if sofar < v {
		return sofar
	}
	return v
}

func runningAvg(sofar, v float64, i int) float64 { return sofar + (v-sofar)/float64(i+1) }

// fromFirst returns the values from the first that is there.
func fromFirst(values []float64) []float64 {
	for len(values) > 0 && math.IsNaN(values[0]) {
		values = values[1:]
	}
	return values
}

// toLast returns the values up to the last that is there.
func toLast(values []float64) []float64 {
	for len(values) > 0 && math.IsNaN(values[len(values)-1]) {
		values = values[:len(values)-1]
	}
	return values
}

func keepLast(values []float64) {
	last := math.NaN()
	for i, v := range values {
		if math.IsNaN(v) {
			values[i] = last
		} else {
			last = v
		}
	}
}

func keepNext(values []float64) {
	next := math.NaN()
	for i := len(values) - 1; i >= 0; i-- {
		if v := values[i]; math.IsNaN(v) {
			values[i] = next
		} else {
			next = v
		}
	}
}

// interpolate draws straight lines through gaps. Where a line from an infinite value
// gives none, a new one starts at the next step. (transformInterpolate of
// VictoriaMetrics' promql/transform.go.)
func interpolate(values []float64) {
	values = toLast(fromFirst(values)) // so there are values on both sides of a gap
	for i := range values {
		if !math.IsNaN(values[i]) {
			continue
		}
		end := i + 1
		for math.IsNaN(values[end]) {
			end++
		}
		v, next := values[i-1], values[end]
		if math.IsNaN(v) {
			v = next
		}
		delta := (next - v) / float64(end-i+1)
		for k := i; k < end; k++ {
			v += delta
			values[k] = v
		}
	}
}

// removeResets makes a counter one that never falls. A fall by less than an eighth is
// taken for one that was no full reset. (removeCounterResetsMaybeNaNs of
// VictoriaMetrics' promql/transform.go.)
func removeResets(values []float64) {
	values = fromFirst(values)
	if len(values) == 0 {
		return
	}
	correction, prev := 0.0, values[0]
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		if d := v - prev; d < 0 {
			if -d*8 < prev {
				correction += prev - v
			} else {
				correction += prev
			}
		}
		prev = v
		values[i] = v + correction
	}
}

func smoothExponential(c *call) ([]*series.Series, error) {
	if err := c.want(2); err != nil {
		return nil, err
	}
	factors, err := c.scalar(1)
	if err != nil {
		return nil, err
	}
	for _, s := range c.Args[0] {
		smooth(s.Values, factors)
	}
	return c.Args[0], nil
}

// smooth starts at the first finite value and passes infinite ones over.
// (transformSmoothExponential of VictoriaMetrics' promql/transform.go.)
func smooth(values, factors []float64) {
	rest := fromFirst(values)
	for i, v := range rest {
		if !math.IsInf(v, 0) {
			rest = rest[i:]
			break
		}
	}
	if len(rest) == 0 {
		return
	}
	factors = factors[len(values)-len(rest):]
	avg := rest[0]
	for i := 1; i < len(rest); i++ {
		v := rest[i]
		if math.IsNaN(v) {
			continue
		}
		if !math.IsInf(v, 0) {
			f := factors[i]
			switch {
			case math.IsNaN(f), f > 1:
				f = 1
			case f < 0:
				f = 0
			}
			avg = avg*(1-f) + v*f
		}
		rest[i] = avg
	}
}
