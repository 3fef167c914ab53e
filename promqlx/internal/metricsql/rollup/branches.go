package rollup

import (
	"fmt"
	"strconv"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/metricsql/stat"
)

// branches are the series that a labelled function makes of one series, in the
// order in which they came up.
type branches struct {
	origin series.Name
	steps  int
	all    []*series.Series
	by     map[string]*series.Series // by value of the label

	scratch *Scratch
	spill   *series.Series // where values go once there is no room for more series
}

// at returns the branch whose label has that value; a new one is empty.
func (b *branches) at(label, value string) *series.Series {
	if s := b.by[value]; s != nil {
		return s
	}
	return b.grow(label, value)
}

// atBytes is at for a value that the caller goes on to change.
func (b *branches) atBytes(label string, value []byte) *series.Series {
	if s := b.by[string(value)]; s != nil {
		return s
	}
	return b.grow(label, string(value))
}

func (b *branches) grow(label, value string) *series.Series {
	if !b.room() {
		return b.spill
	}
	s := &series.Series{Name: b.origin.Clone(), Values: make([]float64, b.steps)}
	for i := range s.Values {
		s.Values[i] = nan
	}
	s.Name.Put(label, value)
	if b.by == nil {
		b.by = make(map[string]*series.Series)
	}
	b.by[value] = s
	b.all = append(b.all, s)
	return s
}

// room tells whether there is room for one more series. If there is none, the work is
// to end.
func (b *branches) room() bool {
	if b.spill == nil && !b.scratch.room() {
		b.spill = &series.Series{Values: make([]float64, b.steps)}
	}
	return b.spill == nil
}

func labelledSpecs() map[string]*spec {
	return map[string]*spec{
		"count_values_over_time": {build: newCountValues, traits: labelled},
		"histogram_over_time":    {kernel: histogram, traits: labelled},
		"quantiles_over_time":    {build: newQuantiles, traits: labelled | keeps},
	}
}

// newCountValues is newRollupCountValues of VictoriaMetrics' promql/rollup.go.
func newCountValues(a args) (kernel, error) {
	if err := a.count(2); err != nil {
		return nil, err
	}
	label, err := a.text(0)
	if err != nil {
		return nil, fmt.Errorf("cannot get labelName: %w", err)
	}
	return func(w *window) float64 {
		for _, v := range w.values {
			if w.out.spill != nil {
				break
			}
			w.s.text = strconv.AppendFloat(w.s.text[:0], v, 'g', -1, 64)
			count := &w.out.atBytes(label, w.s.text).Values[w.step]
			if isNaN(*count) {
				*count = 0
			}
			*count++
		}
		return nan
	}, nil
}

// newQuantiles is newRollupQuantiles of VictoriaMetrics' promql/rollup.go.
func newQuantiles(a args) (kernel, error) {
	if len(a) < 3 {
		return nil, fmt.Errorf("unexpected number of args: %d; want at least 3 args", len(a))
	}
	label, err := a.text(0)
	if err != nil {
		return nil, err
	}
	phis := make([]float64, len(a)-2)
	texts := make([]string, len(phis))
	for i := range phis {
		values, err := a.scalar(i + 1)
		if err != nil {
			return nil, fmt.Errorf("cannot obtain phi from arg #%d: %w", i+1, err)
		}
		phis[i] = values[0]
		texts[i] = fmt.Sprintf("%g", values[0])
	}
	return func(w *window) float64 {
		if len(w.values) == 0 {
			return nan
		}
		sorted := w.s.sort(w.values)
		for i, phi := range phis {
			w.out.at(label, texts[i]).Values[w.step] = stat.Quantile(phi, sorted)
		}
		return nan
	}, nil
}

// histogram counts by vmrange, as VictoriaMetrics' own client library does.
func histogram(w *window) float64 {
	if w.s.counts == nil {
		w.s.counts = new([stat.Buckets]uint32)
	}
	counts := w.s.counts
	first, last := len(counts), -1
	for _, v := range w.values {
		if b, ok := stat.Bucket(v); ok {
			counts[b]++
			first, last = min(first, b), max(last, b)
		}
	}
	for b := first; b <= last; b++ {
		if counts[b] > 0 {
			w.out.at("vmrange", stat.Range(b)).Values[w.step] = float64(counts[b])
			counts[b] = 0
		}
	}
	return nan
}
