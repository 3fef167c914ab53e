// Package tsdbtest holds a store to a model that is too simple to be wrong: maps
// of samples in memory. It has the model, a seeded workload that drives both,
// and a harness that loses power and fails I/O underneath.
package tsdbtest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb"
)

// Sample is a float or a histogram at a time.
type Sample struct {
	T, ST int64
	V     float64
	H     *histogram.Histogram
	FH    *histogram.FloatHistogram
}

// String shows every bit of the sample.
func (s Sample) String() string {
	switch {
	case s.H != nil:
		return fmt.Sprintf("%d st=%d %s", s.T, s.ST, histogramText(s.H))
	case s.FH != nil:
		return fmt.Sprintf("%d st=%d %s", s.T, s.ST, floatHistogramText(s.FH))
	}
	return fmt.Sprintf("%d st=%d %016x", s.T, s.ST, math.Float64bits(s.V))
}

func histogramText(h *histogram.Histogram) string {
	return fmt.Sprintf("h schema=%d zt=%x zc=%d c=%d sum=%x +%v%v -%v%v %v", h.Schema, math.Float64bits(h.ZeroThreshold),
		h.ZeroCount, h.Count, math.Float64bits(h.Sum), h.PositiveSpans, h.PositiveBuckets, h.NegativeSpans, h.NegativeBuckets, h.CustomValues)
}

func floatHistogramText(h *histogram.FloatHistogram) string {
	return fmt.Sprintf("fh schema=%d zt=%x zc=%x c=%x sum=%x +%v%v -%v%v %v", h.Schema, math.Float64bits(h.ZeroThreshold),
		math.Float64bits(h.ZeroCount), math.Float64bits(h.Count), math.Float64bits(h.Sum),
		h.PositiveSpans, h.PositiveBuckets, h.NegativeSpans, h.NegativeBuckets, h.CustomValues)
}

// Model is a store of maps.
type Model struct {
	series map[string]*modelSeries
}

type modelSeries struct {
	lset      labels.Labels
	samples   map[int64]Sample
	exemplars map[string]exemplar.Exemplar
}

// NewModel returns an empty model.
func NewModel() *Model { return &Model{series: map[string]*modelSeries{}} }

func (m *Model) get(lset labels.Labels) *modelSeries {
	key := lset.String()
	s := m.series[key]
	if s == nil {
		s = &modelSeries{lset: lset, samples: map[int64]Sample{}, exemplars: map[string]exemplar.Exemplar{}}
		m.series[key] = s
	}
	return s
}

// Append adds samples; at an equal time the newer one stands.
func (m *Model) Append(lset labels.Labels, samples ...Sample) {
	s := m.get(lset)
	for _, x := range samples {
		s.samples[x.T] = x
	}
}

// AppendExemplar adds an exemplar once.
func (m *Model) AppendExemplar(lset labels.Labels, x exemplar.Exemplar) {
	m.get(lset).exemplars[exemplarText(x)] = x
}

func exemplarText(x exemplar.Exemplar) string {
	return fmt.Sprintf("%d %016x %s", x.Ts, math.Float64bits(x.Value), x.Labels)
}

// Delete removes what a delete of the store removes.
func (m *Model) Delete(mint, maxt int64, ms ...*labels.Matcher) {
	for _, s := range m.series {
		if !matches(s.lset, ms) {
			continue
		}
		for t := range s.samples {
			if t >= mint && t <= maxt {
				delete(s.samples, t)
			}
		}
		for key, x := range s.exemplars {
			if x.Ts >= mint && x.Ts <= maxt {
				delete(s.exemplars, key)
			}
		}
	}
}

func matches(lset labels.Labels, ms []*labels.Matcher) bool {
	for _, m := range ms {
		if !m.Matches(lset.Get(m.Name)) {
			return false
		}
	}
	return true
}

// Clone returns a copy that later changes leave alone.
func (m *Model) Clone() *Model {
	out := NewModel()
	for _, s := range m.series {
		c := out.get(s.lset)
		for t, x := range s.samples {
			c.samples[t] = x
		}
		for k, x := range s.exemplars {
			c.exemplars[k] = x
		}
	}
	return out
}

// Dump returns the samples inside [mint, maxt] of the matching series as text,
// a line each, in label and time order.
func (m *Model) Dump(mint, maxt int64, ms ...*labels.Matcher) []string {
	var list []*modelSeries
	for _, s := range m.series {
		if matches(s.lset, ms) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *modelSeries) int { return labels.Compare(a.lset, b.lset) })
	var out []string
	for _, s := range list {
		var samples []Sample
		for t, x := range s.samples {
			if t >= mint && t <= maxt {
				samples = append(samples, x)
			}
		}
		slices.SortFunc(samples, func(a, b Sample) int { return cmp.Compare(a.T, b.T) })
		for _, x := range samples {
			out = append(out, s.lset.String()+" "+x.String())
		}
	}
	return out
}

// DumpExemplars is Dump for exemplars, sorted as text.
func (m *Model) DumpExemplars(mint, maxt int64, ms ...*labels.Matcher) []string {
	var out []string
	for _, s := range m.series {
		if !matches(s.lset, ms) {
			continue
		}
		for _, x := range s.exemplars {
			if x.Ts >= mint && x.Ts <= maxt {
				out = append(out, s.lset.String()+" "+exemplarText(x))
			}
		}
	}
	slices.Sort(out)
	return out
}

// LabelNames returns the names of the series with samples in the range.
func (m *Model) LabelNames(mint, maxt int64, ms ...*labels.Matcher) []string {
	names := map[string]struct{}{}
	for _, s := range m.series {
		if matches(s.lset, ms) && s.has(mint, maxt) {
			s.lset.Range(func(l labels.Label) { names[l.Name] = struct{}{} })
		}
	}
	return sortedKeys(names)
}

func (s *modelSeries) has(mint, maxt int64) bool {
	for t := range s.samples {
		if t >= mint && t <= maxt {
			return true
		}
	}
	return false
}

func sortedKeys(m map[string]struct{}) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Dump is Model.Dump for a store.
func Dump(ctx context.Context, db *tsdb.DB, mint, maxt int64, ms ...*labels.Matcher) ([]string, error) {
	v, err := db.Select(ctx, mint, maxt, ms...)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	var out []string
	for i := range v.Len() {
		if i > 0 && labels.Compare(v.Labels(i-1), v.Labels(i)) >= 0 {
			return nil, fmt.Errorf("series %s after %s", v.Labels(i), v.Labels(i-1))
		}
		last := int64(math.MinInt64)
		c := v.Cursor(i, mint, maxt)
		for c.Next() {
			s := c.Span()
			for k := range s.Count {
				if s.Time(k) <= last {
					return nil, fmt.Errorf("series %s: time %d after %d", v.Labels(i), s.Time(k), last)
				}
				last = s.Time(k)
				out = append(out, v.Labels(i).String()+" "+sampleOf(s, k).String())
			}
		}
		if err := c.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func sampleOf(s *tsdb.Span, k int) Sample {
	x := Sample{T: s.Time(k), ST: s.StartTime(k)}
	switch s.Kind {
	case tsdb.KindHistogram:
		x.H = s.Histograms[k]
	case tsdb.KindFloatHistogram:
		x.FH = s.FloatHistograms[k]
	default:
		x.V = s.Float(k)
	}
	return x
}

// DumpExemplars is Model.DumpExemplars for a store.
func DumpExemplars(ctx context.Context, db *tsdb.DB, mint, maxt int64, ms ...*labels.Matcher) ([]string, error) {
	found, err := db.Exemplars(ctx, mint, maxt, ms)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range found {
		for _, x := range r.Exemplars {
			out = append(out, r.SeriesLabels.String()+" "+exemplarText(x))
		}
	}
	slices.Sort(out)
	return out, nil
}
