package aggr

import (
	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/metricsql/stat"
)

// histogram makes a group the buckets of a histogram with labels le: those that hold
// something, and what is needed to tell where they begin and end. What is in smaller
// buckets is counted in all greater ones.
func histogram(_ *Call, group []*series.Series) []*series.Series {
	n := len(group[0].Values)
	var counts [stat.Buckets][]float64
	for _, s := range group {
		for i, v := range s.Values {
			b, ok := stat.Bucket(v)
			if !ok {
				continue
			}
			if counts[b] == nil {
				counts[b] = make([]float64, n)
			}
			counts[b][i]++
		}
	}
	name := &group[0].Name
	name.Remove("vmrange")
	name.Remove("le")
	var out []*series.Series
	add := func(le string, values []float64) {
		s := &series.Series{Name: name.Clone(), Values: values}
		s.Name.Add("le", le)
		if len(out) > 0 {
			for i, v := range out[len(out)-1].Values {
				values[i] += v
			}
		}
		out = append(out, s)
	}
	last := -1
	for b, values := range counts {
		if values == nil {
			continue
		}
		if b != last+1 {
			add(stat.Bound(b-1), make([]float64, n))
		}
		add(stat.Bound(b), values)
		last = b
	}
	if last >= 0 && last < stat.Buckets-1 {
		add("+Inf", make([]float64, n))
	}
	return out
}
