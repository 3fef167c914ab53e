package api

import (
	"bytes"
	"io"
	"math"
	"net/http/httptest"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/api/apitest"
)

// federated returns an API over series of every kind that /federate meets.
func federated(t *testing.T) *API {
	now := int64(apitest.Base + 1000_000)
	stale := math.Float64frombits(value.StaleNaN)
	native := func(hint histogram.CounterResetHint) *histogram.FloatHistogram {
		return &histogram.FloatHistogram{
			CounterResetHint: hint, Schema: 2, ZeroThreshold: 0.001, ZeroCount: 12, Count: 21, Sum: 20.5,
			PositiveSpans: []histogram.Span{{Offset: 3, Length: 2}, {Offset: 1, Length: 1}}, PositiveBuckets: []float64{1, 2, 3},
			NegativeSpans: []histogram.Span{{Offset: 2, Length: 2}}, NegativeBuckets: []float64{2, 1},
		}
	}
	custom := &histogram.FloatHistogram{
		Schema: histogram.CustomBucketsSchema, Count: 6, Sum: 9, CustomValues: []float64{1, 2.5, 3},
		PositiveSpans: []histogram.Span{{Length: 1}, {Offset: 1, Length: 2}}, PositiveBuckets: []float64{2, 1, 3},
	}
	d := &apitest.Storage{}
	add := func(ss []string, p ...apitest.Point) { d.Add(labels.FromStrings(ss...), p...) }
	add([]string{"__name__", "f", "a", "own", "zone", "z0", "instance", "i"}, apitest.Point{Time: now - 7000, Value: 1e-9}, apitest.Point{Time: now - 6000, Value: 1e21})
	add([]string{"__name__", "f", "a", "old"}, apitest.Point{Time: now - 300_001, Value: 4})
	add([]string{"__name__", "f", "a", "edge"}, apitest.Point{Time: now - 300_000, Value: 4})
	add([]string{"__name__", "f", "a", "later"}, apitest.Point{Time: now, Value: 5}, apitest.Point{Time: now + 1, Value: 6})
	add([]string{"A", "1", "__name__", "f", "esc", "a\"\\\n"}, apitest.Point{Time: now, Value: 5})
	add([]string{"__name__", "my.métric", "host.name", "h"}, apitest.Point{Time: now, Value: 5})
	add([]string{"nameless", "1"}, apitest.Point{Time: now, Value: 5})
	add([]string{"__name__", "h", "a", "1"}, apitest.Point{Time: now, Histogram: native(histogram.UnknownCounterReset)})
	add([]string{"__name__", "h", "a", "2"}, apitest.Point{Time: now, Histogram: native(histogram.GaugeType)})
	add([]string{"__name__", "h", "a", "3"}, apitest.Point{Time: now, Value: 3})
	add([]string{"__name__", "h", "a", "4"}, apitest.Point{Time: now - 1, Value: 3}, apitest.Point{Time: now, Histogram: custom})
	add([]string{"__name__", "h", "a", "5"}, apitest.Point{Time: now, Histogram: &histogram.FloatHistogram{Sum: stale}})
	return newAPI(t, func(o *Options) {
		o.Storage = d
		o.ExternalLabels = labels.FromStrings("zone", "z1", "monitor", "m")
	})
}

const protoDelim = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"

func TestFederateText(t *testing.T) {
	w := do(serve(federated(t)), "GET", `/federate?match[]={__name__=~".%2b"}&match[]={nameless="1"}`)
	require.Equal(t, `200 text/plain; version=0.0.4; charset=utf-8; escaping=underscores
# TYPE f untyped
f{A="1",esc="a\"\\\n",instance="",monitor="m",zone="z1"} 5 1700001000000
f{a="edge",instance="",monitor="m",zone="z1"} 4 1700000700000
f{a="later",instance="",monitor="m",zone="z1"} 5 1700001000000
f{a="own",instance="i",zone="z0",monitor="m"} 1e+21 1700000994000
# TYPE h untyped
h{a="3",instance="",monitor="m",zone="z1"} 3 1700001000000
# TYPE h histogram
h_bucket{a="4",instance="",monitor="m",zone="z1",le="1"} 2 1700001000000
h_bucket{a="4",instance="",monitor="m",zone="z1",le="2.5"} 2 1700001000000
h_bucket{a="4",instance="",monitor="m",zone="z1",le="3"} 3 1700001000000
h_bucket{a="4",instance="",monitor="m",zone="z1",le="+Inf"} 6 1700001000000
h_sum{a="4",instance="",monitor="m",zone="z1"} 9 1700001000000
h_count{a="4",instance="",monitor="m",zone="z1"} 6 1700001000000
# TYPE my_m_tric untyped
my_m_tric{host_name="h",instance="",monitor="m",zone="z1"} 5 1700001000000`, answerOf(w))
}

func TestFederateProtobuf(t *testing.T) {
	w := do(serve(federated(t)), "GET", "/federate?match[]=h", "Accept", protoDelim)
	require.Equal(t, 200, w.Code)
	families := decodeFamilies(t, w)
	var kinds []dto.MetricType
	for _, f := range families {
		require.Equal(t, "h", f.GetName())
		require.Len(t, f.Metric, 1)
		kinds = append(kinds, f.GetType())
	}
	require.Equal(t, []dto.MetricType{
		dto.MetricType_HISTOGRAM, dto.MetricType_GAUGE_HISTOGRAM, dto.MetricType_UNTYPED, dto.MetricType_HISTOGRAM,
	}, kinds, "a family ends where the kind of sample changes")
	h := families[0].Metric[0].Histogram
	require.EqualValues(t, 2, h.GetSchema())
	require.Equal(t, 21.0, h.GetSampleCountFloat())
	require.Equal(t, 12.0, h.GetZeroCountFloat())
	require.Equal(t, []float64{1, 2, 3}, h.PositiveCount)
	require.Equal(t, []float64{2, 1}, h.NegativeCount)
	require.EqualValues(t, 3, h.PositiveSpan[0].GetOffset())
	require.EqualValues(t, 2, h.NegativeSpan[0].GetLength())
	require.Len(t, families[3].Metric[0].Histogram.Bucket, 3)

	w = do(serve(federated(t)), "GET", `/federate?match[]={"my.métric"}`, "Accept", protoDelim+";escaping=allow-utf-8")
	require.Equal(t, "my.métric", decodeFamilies(t, w)[0].GetName())
}

func decodeFamilies(t *testing.T, w *httptest.ResponseRecorder) []*dto.MetricFamily {
	t.Helper()
	dec := expfmt.NewDecoder(bytes.NewReader(w.Body.Bytes()), expfmt.Format(w.Header().Get("Content-Type")))
	var families []*dto.MetricFamily
	for {
		f := &dto.MetricFamily{}
		err := dec.Decode(f)
		if err == io.EOF {
			return families
		}
		require.NoError(t, err)
		families = append(families, f)
	}
}
