package transform

import (
	"fmt"
	"math"
	"math/rand"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// each makes a function of a function of one value.
func each(f func(float64) float64) function {
	return func(c *call) ([]*series.Series, error) {
		if err := c.want(1); err != nil {
			return nil, err
		}
		return c.apply(c.Args[0], func(values []float64) {
			for i, v := range values {
				values[i] = f(v)
			}
		}), nil
	}
}

// sign is 0 where there is no value.
func sign(v float64) float64 {
	switch {
	case v < 0:
		return -1
	case v > 0:
		return 1
	}
	return 0
}

func clamp(c *call) ([]*series.Series, error) {
	if err := c.want(3); err != nil {
		return nil, err
	}
	mins, err := c.scalar(1)
	if err != nil {
		return nil, err
	}
	maxs, err := c.scalar(2)
	if err != nil {
		return nil, err
	}
	return c.apply(c.Args[0], func(values []float64) {
		for i, v := range values {
			if v > maxs[i] {
				values[i] = maxs[i]
			} else if v < mins[i] {
				values[i] = mins[i]
			}
		}
	}), nil
}

func clampMax(c *call) ([]*series.Series, error) {
	if err := c.want(2); err != nil {
		return nil, err
	}
	maxs, err := c.scalar(1)
	if err != nil {
		return nil, err
	}
	return c.apply(c.Args[0], func(values []float64) {
		for i, v := range values {
			if v > maxs[i] {
				values[i] = maxs[i]
			}
		}
	}), nil
}

func clampMin(c *call) ([]*series.Series, error) {
	if err := c.want(2); err != nil {
		return nil, err
	}
	mins, err := c.scalar(1)
	if err != nil {
		return nil, err
	}
	return c.apply(c.Args[0], func(values []float64) {
		for i, v := range values {
			if v < mins[i] {
				values[i] = mins[i]
			}
		}
	}), nil
}

// bitmap makes a function of the bits of values that are taken for integers.
func bitmap(f func(a, b uint64) uint64) function {
	return func(c *call) ([]*series.Series, error) {
		if err := c.want(2); err != nil {
			return nil, err
		}
		masks, err := c.scalar(1)
		if err != nil {
			return nil, err
		}
		return c.apply(c.Args[0], func(values []float64) {
			for i, v := range values {
				w := masks[i]
				if math.IsNaN(v) || math.IsNaN(w) {
					values[i] = math.NaN()
					continue
				}
				values[i] = float64(f(uint64(v), uint64(w)))
			}
		}), nil
	}
}

// round rounds to multiples of the second argument, and then cuts what is left behind
// that argument's last decimal digit. (transformRound of VictoriaMetrics'
// promql/transform.go, operation by operation.)
func round(c *call) ([]*series.Series, error) {
	if n := len(c.Args); n != 1 && n != 2 {
		return nil, fmt.Errorf("unexpected number of args: %d; want 1 or 2", n)
	}
	nearest := c.constant(1)
	if len(c.Args) == 2 {
		nearest = c.Args[1]
	}
	to, err := series.Scalar(nearest, 1)
	if err != nil {
		return nil, err
	}
	return c.apply(c.Args[0], func(values []float64) {
		var last, p10 float64
		for i, v := range values {
			n := to[i]
			if n != last {
				last = n
				p10 = math.Pow10(-exponent(n))
			}
			v += 0.5 * math.Copysign(n, v)
			v -= math.Mod(v, n)
			v, _ = math.Modf(v * p10)
			values[i] = v / p10
		}
	}), nil
}

// random makes a function of a source of random numbers. The same seed gives the same
// numbers as in VictoriaMetrics.
func random(f func(*rand.Rand) float64) function {
	return func(c *call) ([]*series.Series, error) {
		if len(c.Args) > 1 {
			return nil, fmt.Errorf("unexpected number of args; got %d; want 0 or 1", len(c.Args))
		}
		var seed int64
		if len(c.Args) == 1 {
			v, err := c.first(0)
			if err != nil {
				return nil, err
			}
			seed = int64(v)
		} else {
			seed = c.now().UnixNano()
		}
		r := rand.New(rand.NewSource(seed))
		all := c.constant(0)
		for i := range all[0].Values {
			all[0].Values[i] = f(r)
		}
		return all, nil
	}
}
