// Package rowtest holds what tests of kernels on rows share: random rows, a
// store that gives them to Prometheus' engine, and a text that shows rows as
// bits.
package rowtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// Options says what random rows are like.
type Options struct {
	Steps      int
	Gaps       float64 // share of steps without sample, of some of the rows
	Histograms float64 // share of samples that are histograms, of some of the rows
	Plain      bool    // ordinary numbers alone: no NaN, no Inf, no ties
}

// Fill puts random samples into r, at least one.
func Fill(rng *rand.Rand, r *row.Row, o Options) {
	gaps, hists := 0.0, 0.0
	if rng.IntN(2) == 0 {
		gaps = o.Gaps
	}
	if rng.IntN(2) == 0 {
		hists = o.Histograms
	}
	for i := range r.Steps() {
		switch {
		case rng.Float64() < gaps:
		case rng.Float64() < hists:
			r.SetH(i, Histogram(rng))
		default:
			r.SetF(i, Float(rng, o.Plain))
		}
	}
	if r.Empty() {
		r.SetF(rng.IntN(r.Steps()), Float(rng, o.Plain))
	}
}

// Float returns a random number; if not plain some are odd and many are equal.
func Float(rng *rand.Rand, plain bool) float64 {
	if plain {
		return rng.NormFloat64() * 100
	}
	odd := []float64{
		0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), math.Float64frombits(0x7ff8000000001234),
		1e308, -1e308, math.MaxFloat64, -math.MaxFloat64, 5e-324, 1e16, -1e16, 1e-300,
	}
	switch k := rng.IntN(20); {
	case k < 2:
		return odd[rng.IntN(len(odd))]
	case k < 10:
		return float64(rng.IntN(5) - 2)
	default:
		return rng.NormFloat64() * math.Pow(10, float64(rng.IntN(6)))
	}
}

// Histogram returns a random histogram, of exponential or of custom buckets,
// with any counter reset hint.
func Histogram(rng *rand.Rand) *histogram.FloatHistogram {
	hints := []histogram.CounterResetHint{
		histogram.UnknownCounterReset, histogram.CounterReset, histogram.NotCounterReset, histogram.GaugeType,
	}
	h := &histogram.FloatHistogram{CounterResetHint: hints[rng.IntN(len(hints))]}
	n := 1 + rng.IntN(4)
	h.PositiveSpans = []histogram.Span{{Offset: int32(rng.IntN(3)), Length: uint32(n)}}
	if rng.IntN(5) == 0 {
		h.Schema = histogram.CustomBucketsSchema
		h.PositiveSpans[0].Offset = 0
		h.CustomValues = [][]float64{{1, 2, 4, 8, 16}, {1, 2, 5, 8, 20}}[rng.IntN(2)]
	} else {
		h.Schema = int32(rng.IntN(3))
		h.ZeroThreshold = []float64{0.001, 0.5}[rng.IntN(2)]
		h.ZeroCount = float64(rng.IntN(4))
		h.NegativeSpans = []histogram.Span{{Offset: 1, Length: 1}}
		h.NegativeBuckets = []float64{bucket(rng)}
		h.Count = h.ZeroCount + h.NegativeBuckets[0]
	}
	for range n {
		b := bucket(rng)
		h.PositiveBuckets = append(h.PositiveBuckets, b)
		h.Count += b
	}
	h.Sum = rng.NormFloat64() * 10
	return h
}

func bucket(rng *rand.Rand) float64 {
	if rng.IntN(40) == 0 {
		return 1e308
	}
	return float64(rng.IntN(9)) * 1.1
}

// Store gives the rows, in their order, to whoever selects them. The step of the
// grid must be longer than the look-back: samples have no end.
func Store(rows []*row.Row, grid row.Grid) storage.Queryable {
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
			set := &seriesSet{at: -1}
			for _, r := range rows {
				if matches(r.Labels, ms) {
					set.series = append(set.series, storage.NewListSeries(r.Labels, samplesOf(r, grid)))
				}
			}
			return set
		},
	}}
}

func matches(ls labels.Labels, ms []*labels.Matcher) bool {
	for _, m := range ms {
		if !m.Matches(ls.Get(m.Name)) {
			return false
		}
	}
	return true
}

func samplesOf(r *row.Row, grid row.Grid) []chunks.Sample {
	var out []chunks.Sample
	for i := range r.Steps() {
		if r.At(i) {
			out = append(out, sample{t: grid.T(i), f: r.F[i], h: r.HAt(i)})
		}
	}
	return out
}

// seriesSet is a list of series.
type seriesSet struct {
	storage.SeriesSet
	series []storage.Series
	at     int
}

func (s *seriesSet) Next() bool {
	s.at++
	return s.at < len(s.series)
}

func (s *seriesSet) At() storage.Series { return s.series[s.at] }

func (*seriesSet) Err() error { return nil }

func (*seriesSet) Warnings() annotations.Annotations { return nil }

// sample is a float or a histogram.
type sample struct {
	t int64
	f float64
	h *histogram.FloatHistogram
}

func (s sample) T() int64                      { return s.t }
func (sample) ST() int64                       { return 0 }
func (s sample) F() float64                    { return s.f }
func (sample) H() *histogram.Histogram         { return nil }
func (s sample) FH() *histogram.FloatHistogram { return s.h }
func (s sample) Copy() chunks.Sample           { return s }

func (s sample) Type() chunkenc.ValueType {
	if s.h != nil {
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}

// Text shows rows as bits, one a line; with anyNaN all NaNs look the same.
func Text(rows []*row.Row, anyNaN bool) []string {
	var out []string
	for _, r := range rows {
		var sb strings.Builder
		sb.WriteString(r.Labels.String())
		for i := range r.Steps() {
			if h := r.HAt(i); h != nil {
				fmt.Fprintf(&sb, " %d:%s", i, histogramText(h))
			} else if r.Has.Get(i) {
				fmt.Fprintf(&sb, " %d:%s", i, floatText(r.F[i], anyNaN))
			}
		}
		out = append(out, sb.String())
	}
	return out
}

// SortedText is Text with the lines sorted.
func SortedText(rows []*row.Row, anyNaN bool) []string {
	out := Text(rows, anyNaN)
	slices.Sort(out)
	return out
}

func floatText(f float64, anyNaN bool) string {
	if f != f && anyNaN {
		return "NaN"
	}
	return fmt.Sprintf("%v(%x)", f, math.Float64bits(f))
}

func histogramText(h *histogram.FloatHistogram) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "{hint=%d schema=%d zt=%v %v %v", h.CounterResetHint, h.Schema, h.ZeroThreshold, h.PositiveSpans, h.NegativeSpans)
	for _, fs := range [][]float64{{h.ZeroCount, h.Count, h.Sum}, h.PositiveBuckets, h.NegativeBuckets, h.CustomValues} {
		sb.WriteString(" |")
		for _, f := range fs {
			sb.WriteString(" " + floatText(f, true))
		}
	}
	return sb.String() + "}"
}
