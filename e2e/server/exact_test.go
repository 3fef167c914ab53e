package server

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// Floats come back bit for bit, whatever they are, in both forms of remote read
// and from every state of the store.
func TestFloatsAreExact(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime() * 1000
	rng := newRand(t)
	patterns := map[string]func(i int) float64{
		"any_bits":   func(int) float64 { return math.Float64frombits(rng.Uint64()) },
		"nan":        func(i int) float64 { return math.Float64frombits(0x7ff0000000000001 + uint64(i)*0x1_0001) },
		"signs":      func(i int) float64 { return []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1)}[i%4] },
		"subnormal":  func(i int) float64 { return math.Float64frombits(uint64(i)) },
		"percent":    func(i int) float64 { return 100 * float64(i) / 37 },
		"decimals":   func(i int) float64 { return float64(rng.IntN(1e9)) / 1e4 },
		"counter":    func(i int) float64 { return float64(i * 3) },
		"large_ints": func(i int) float64 { return float64(1<<53) + float64(i)*2 },
		"outlier":    func(i int) float64 { return []float64{float64(i % 100), math.MaxFloat64}[i/299%2] },
		"accumulate": func(i int) float64 { return float64(i) * 1e-9 * 7.1 },
		"constant":   func(int) float64 { return math.Pi },
	}
	want := map[string][]harness.RemotePoint{}
	var series []prompb.TimeSeries
	for name, f := range patterns {
		ts := prompb.TimeSeries{Labels: harness.PB("__name__", "exact_"+name)}
		for i := range 700 {
			p := harness.RemotePoint{T: base + int64(i)*15_000 + int64(rng.IntN(50)), V: f(i)}
			want["exact_"+name] = append(want["exact_"+name], p)
			ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: p.T, Value: p.V})
		}
		series = append(series, ts)
	}
	v.WriteV1(t, series...).Require(t, http.StatusNoContent)
	inEveryState(t, v, func(t *testing.T) {
		for _, form := range []prompb.ReadRequest_ResponseType{harness.Sampled, harness.Streamed} {
			got := v.RemoteRead(t, form, 0, base+1e9, harness.Re("__name__", "exact_.*"))
			require.Len(t, got, len(want))
			for _, s := range got {
				requireSameBits(t, s.Labels.Get("__name__"), want[s.Labels.Get("__name__")], s.Points)
			}
		}
	})
}

func requireSameBits(t *testing.T, name string, want, got []harness.RemotePoint) {
	t.Helper()
	require.Len(t, got, len(want), name)
	for i := range want {
		require.Equal(t, want[i].T, got[i].T, "%s %d", name, i)
		require.Equal(t, math.Float64bits(want[i].V), math.Float64bits(got[i].V), "%s %d: %v", name, i, want[i].V)
	}
}

// Native histograms of every kind keep their hints and start times; exemplars
// and metadata are there after any restart.
func TestRichSamplesAreExact(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime() * 1000
	symbols := writev2.NewSymbolTable()
	req, want := &writev2.Request{}, map[string][]writev2.Histogram{}
	add := func(name string, hs ...writev2.Histogram) {
		want[name] = hs
		req.Timeseries = append(req.Timeseries, writev2.TimeSeries{
			LabelsRefs: []uint32{symbols.Symbolize("__name__"), symbols.Symbolize(name)},
			Histograms: hs,
			Metadata:   writev2.Metadata{Type: writev2.Metadata_METRIC_TYPE_HISTOGRAM, HelpRef: symbols.Symbolize("help of " + name), UnitRef: symbols.Symbolize("seconds")},
		})
	}
	hints := []histogram.CounterResetHint{histogram.UnknownCounterReset, histogram.CounterReset, histogram.NotCounterReset, histogram.GaugeType}
	var ints, floats, custom, stale []writev2.Histogram
	for i := range int64(200) {
		at, st := base+i*15_000, base-1000+i/50*700_000
		h := tsdbutil.GenerateTestHistogram(i)
		h.CounterResetHint = hints[i/50]
		ints = append(ints, writev2.FromIntHistogram(st, at, h))
		fh := tsdbutil.GenerateTestFloatHistogram(i * 3 % 70)
		fh.Sum = 1.0 / float64(i+3)
		fh.CounterResetHint = hints[i%4]
		floats = append(floats, writev2.FromFloatHistogram(st, at, fh))
		c := tsdbutil.GenerateTestCustomBucketsHistogram(i)
		custom = append(custom, writev2.FromIntHistogram(0, at, c))
		if i%20 == 19 {
			h = &histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN)}
		}
		stale = append(stale, writev2.FromIntHistogram(0, at, h))
	}
	add("rich_int", ints...)
	add("rich_float", floats...)
	add("rich_custom", custom...)
	add("rich_stale", stale...)
	req.Timeseries = append(req.Timeseries, writev2.TimeSeries{
		LabelsRefs: []uint32{symbols.Symbolize("__name__"), symbols.Symbolize("rich_total")},
		Samples:    []writev2.Sample{{Timestamp: base, Value: 1, StartTimestamp: base - 5000}, {Timestamp: base + 15_000, Value: 2, StartTimestamp: base - 5000}},
		Exemplars:  []writev2.Exemplar{{LabelsRefs: []uint32{symbols.Symbolize("trace_id"), symbols.Symbolize("abc")}, Value: 0.5, Timestamp: base + 14_000}},
		Metadata:   writev2.Metadata{Type: writev2.Metadata_METRIC_TYPE_COUNTER, HelpRef: symbols.Symbolize("a counter")},
	})
	req.Symbols = symbols.Symbols()
	resp := v.PostV2(t, harness.EncodeV2(t, req)).Require(t, http.StatusNoContent)
	require.Equal(t, []string{"2", "800", "1"}, []string{
		resp.Header.Get("X-Prometheus-Remote-Write-Samples-Written"),
		resp.Header.Get("X-Prometheus-Remote-Write-Histograms-Written"),
		resp.Header.Get("X-Prometheus-Remote-Write-Exemplars-Written"),
	})
	inEveryState(t, v, func(t *testing.T) { checkRich(t, v, base, want) })
}

func checkRich(t *testing.T, v *harness.Varve, base int64, want map[string][]writev2.Histogram) {
	for name, hs := range want {
		got := v.RemoteRead(t, harness.Streamed, 0, base+1e9, harness.Eq("__name__", name))
		require.Len(t, got, 1, name)
		require.Len(t, got[0].Points, len(hs), name)
		for i, p := range got[0].Points {
			w := floatHistogram(hs[i])
			require.Equal(t, hs[i].Timestamp, p.T, "%s %d", name, i)
			require.Equal(t, hs[i].StartTimestamp, p.ST, "%s %d", name, i)
			require.Equal(t, math.Float64bits(w.Sum), math.Float64bits(p.H.Sum), "%s %d", name, i)
			if !value.IsStaleNaN(w.Sum) {
				require.True(t, w.Copy().Compact(0).Equals(p.H.Copy().Compact(0)), "%s %d: got %s, want %s", name, i, p.H, w)
			}
			if w.CounterResetHint == histogram.GaugeType {
				require.Equal(t, w.CounterResetHint, p.H.CounterResetHint, "%s %d", name, i)
			}
		}
	}
	counter := v.RemoteRead(t, harness.Streamed, 0, base+1e9, harness.Eq("__name__", "rich_total"))
	require.Equal(t, []harness.RemotePoint{{T: base, V: 1, ST: base - 5000}, {T: base + 15_000, V: 2, ST: base - 5000}}, counter[0].Points)
	require.Contains(t, v.Get(t, "/api/v1/query_exemplars", "query", "rich_total", "start", seconds(base/1000), "end", seconds(base/1000+60)).String(),
		fmt.Sprintf(`"exemplars":[{"labels":{"trace_id":"abc"},"value":"0.5","timestamp":%d}]`, base/1000+14))
	var metadata map[string][]map[string]string
	v.Get(t, "/api/v1/metadata").Data(t, &metadata)
	require.Equal(t, []map[string]string{{"type": "counter", "help": "a counter", "unit": ""}}, metadata["rich_total"])
	require.Equal(t, []map[string]string{{"type": "histogram", "help": "help of rich_int", "unit": "seconds"}}, metadata["rich_int"])
}

func floatHistogram(h writev2.Histogram) *histogram.FloatHistogram {
	if h.IsFloatHistogram() {
		return h.ToFloatHistogram()
	}
	return h.ToIntHistogram().ToFloat(nil)
}

// Hints of the sampled form are those that were sent.
func TestSampledHints(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime() * 1000
	ts := prompb.TimeSeries{Labels: harness.PB("__name__", "hints")}
	hints := []histogram.CounterResetHint{histogram.CounterReset, histogram.NotCounterReset, histogram.GaugeType, histogram.CounterReset}
	for i, hint := range hints {
		h := tsdbutil.GenerateTestHistogram(int64(i))
		h.CounterResetHint = hint
		ts.Histograms = append(ts.Histograms, prompb.FromIntHistogram(base+int64(i)*1000, h))
	}
	v.WriteV1(t, ts).Require(t, http.StatusNoContent)
	inEveryState(t, v, func(t *testing.T) {
		var got []histogram.CounterResetHint
		for _, p := range v.RemoteRead(t, harness.Sampled, 0, base+1e9, harness.Eq("__name__", "hints"))[0].Points {
			got = append(got, p.H.CounterResetHint)
		}
		require.True(t, slices.Equal(hints, got), "got %v, want %v", got, hints)
	})
}
