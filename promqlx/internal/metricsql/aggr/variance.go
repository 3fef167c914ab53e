package aggr

import (
	"math"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// variance returns of each step of a group the count of values, their mean, and the
// sum of squared distances from it, as Welford's method has it: as aggrFuncStdvar of
// VictoriaMetrics' promql/aggr.go.
func variance(group []*series.Series) (count, mean, q []float64) {
	n := len(group[0].Values)
	room := make([]float64, 3*n)
	count, mean, q = room[:n:n], room[n:2*n:2*n], room[2*n:]
	for _, s := range group {
		for i, v := range s.Values {
			if math.IsNaN(v) {
				continue
			}
			count[i]++
			avg := mean[i] + (v-mean[i])/count[i]
			q[i] += float64((v - mean[i]) * (v - avg))
			mean[i] = avg
		}
	}
	return count, mean, q
}

func stdvar(_ *Call, group []*series.Series) []*series.Series {
	if len(group) == 1 {
		return zeroed(group)
	}
	count, _, q := variance(group)
	for i := range q {
		if count[i] == 0 {
			q[i] = math.NaN()
			continue
		}
		q[i] /= count[i]
	}
	group[0].Values = q
	return group[:1]
}

func stddev(c *Call, group []*series.Series) []*series.Series {
	if len(group) == 1 {
		return zeroed(group)
	}
	group = stdvar(c, group)
	for i, v := range group[0].Values {
		group[0].Values[i] = math.Sqrt(v)
	}
	return group
}

// zeroed makes all values zero.
func zeroed(group []*series.Series) []*series.Series {
	for _, s := range group {
		for i, v := range s.Values {
			if !math.IsNaN(v) {
				s.Values[i] = 0
			}
		}
	}
	return group
}

// zscore makes values their distance from the mean, in standard deviations.
func zscore(_ *Call, group []*series.Series) []*series.Series {
	count, mean, q := variance(group)
	for i := range q {
		q[i] = math.Sqrt(q[i] / count[i])
	}
	for _, s := range group {
		for i, v := range s.Values {
			if !math.IsNaN(v) {
				s.Values[i] = (v - mean[i]) / q[i]
			}
		}
	}
	return group
}

// share makes values their part of the sum of all; negative ones go.
func share(_ *Call, group []*series.Series) []*series.Series {
	sum := make([]float64, len(group[0].Values))
	for _, s := range group {
		for i, v := range s.Values {
			if v >= 0 {
				sum[i] += v
			}
		}
	}
	for _, s := range group {
		for i, v := range s.Values {
			if v >= 0 {
				s.Values[i] = v / sum[i]
			} else {
				s.Values[i] = math.NaN()
			}
		}
	}
	return group
}
