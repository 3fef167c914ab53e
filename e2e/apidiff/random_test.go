package apidiff

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/stats"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/api"
	"github.com/varvedb/varve/remote/api/apitest"
)

// canned is an engine on both sides that answers every query with one value.
type canned struct {
	api.Engine
	value parser.Value
}

func (c *canned) Instant(context.Context, promqlx.Queryable, string, promqlx.QueryOptions, time.Time) (promqlx.Query, error) {
	return cannedQuery{c.value}, nil
}

func (c *canned) NewInstantQuery(context.Context, storage.Queryable, promql.QueryOpts, string, time.Time) (promql.Query, error) {
	return cannedQuery{c.value}, nil
}

func (c *canned) NewRangeQuery(context.Context, storage.Queryable, promql.QueryOpts, string, time.Time, time.Time, time.Duration) (promql.Query, error) {
	return cannedQuery{c.value}, nil
}

type cannedQuery struct{ value parser.Value }

func (q cannedQuery) Exec(context.Context) *promql.Result { return &promql.Result{Value: q.value} }
func (cannedQuery) Close()                                {}
func (cannedQuery) Cancel()                               {}
func (cannedQuery) String() string                        { return "" }
func (cannedQuery) Statement() parser.Statement           { return nil }
func (cannedQuery) Stats() *stats.Statistics {
	return &stats.Statistics{Timers: stats.NewQueryTimers(), Samples: stats.NewQuerySamples(false)}
}

// TestRandomResults compares the JSON of random results and exemplars. SEED and
// N repeat or prolong it.
func TestRandomResults(t *testing.T) {
	seed, n := number("SEED", uint64(time.Now().UnixNano())), number("N", 20_000)
	r := random{rand.New(rand.NewPCG(seed, 1))}
	engine, err := promqlx.New(promqlx.Options{})
	require.NoError(t, err)
	s, c := apitest.Data(), &canned{Engine: engine}
	prom, varve := prometheusAPI(c, s), varveAPI(t, c, s)
	for i := range n {
		c.value = r.value()
		s.Exemplars = []exemplar.QueryResult{{
			SeriesLabels: labels.NewBuilder(r.labels()).Set("zz", "1").Labels(),
			Exemplars:    []exemplar.Exemplar{{Labels: r.labels(), Value: r.float(), Ts: r.time() / 2}},
		}}
		for _, path := range []string{"/api/v1/query?query=x&time=1", "/api/v1/query_exemplars?query={zz%3D%221%22}"} {
			want, got := httptest.NewRecorder(), httptest.NewRecorder()
			prom.ServeHTTP(want, httptest.NewRequest("GET", path, nil))
			varve.ServeHTTP(got, httptest.NewRequest("GET", path, nil))
			require.Equal(t, 200, want.Code)
			require.Equal(t, want.Body.String(), got.Body.String(), "SEED=%d, result %d, %s", seed, i, path)
		}
	}
}

func number(env string, absent uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(env), 10, 64); err == nil {
		return n
	}
	return absent
}

// random makes values, with a taste for the awkward ones.
type random struct{ *rand.Rand }

func (r random) float() float64 {
	awkward := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1 << 53, 1<<53 + 2, -(1 << 53),
		1e21, 999999999999999868928, 1e-6, 9.999e-7, 5e-324}
	switch r.IntN(9) {
	case 8:
		return float64(r.Int64N(1e15)>>r.IntN(50)) / math.Pow(10, float64(r.IntN(10)))
	case 0:
		return math.Float64frombits(r.Uint64())
	case 1:
		return float64(r.IntN(2000) - 1000)
	case 2:
		return awkward[r.IntN(len(awkward))]
	case 3:
		return float64(r.Int64())
	case 4:
		return math.Pow(10, float64(r.IntN(60)-30))
	}
	return r.NormFloat64() * math.Pow(10, float64(r.IntN(20)-10))
}

func (r random) time() int64 {
	switch r.IntN(4) {
	case 0:
		return r.Int64() - r.Int64()
	case 1:
		return int64(r.IntN(4000) - 2000)
	case 2:
		return apitest.Base + 15_000*r.Int64N(4) // as other series have it too
	}
	return apitest.Base + r.Int64N(1e12)
}

func (r random) text() string {
	const special = "<>&\"\\\n\r\t\b\f\x00\x1f\x7f/'"
	runes := []string{"\u2028", "\u2029", "é", "\U0001F600", "\ufffd"}
	var b []byte
	for range r.IntN(12) {
		switch r.IntN(6) {
		case 0:
			b = append(b, byte(r.IntN(256)))
		case 1:
			b = append(b, special[r.IntN(len(special))])
		case 2:
			b = append(b, runes[r.IntN(len(runes))]...)
		default:
			b = append(b, byte('a'+r.IntN(26)))
		}
	}
	return string(b)
}

func (r random) labels() labels.Labels {
	set := map[string]string{}
	for range r.IntN(5) {
		if name, val := r.text(), r.text(); name != "" && val != "" {
			set[name] = val
		}
	}
	return labels.FromMap(set)
}

func (r random) buckets() (spans []histogram.Span, counts []float64) {
	for i := range r.IntN(4) {
		s := histogram.Span{Offset: int32(r.IntN(5)), Length: uint32(r.IntN(4))}
		if i == 0 {
			s.Offset -= 2
		}
		spans = append(spans, s)
		for range s.Length {
			if f := r.float(); r.IntN(3) > 0 {
				counts = append(counts, f)
			} else {
				counts = append(counts, 0)
			}
		}
	}
	return spans, counts
}

func (r random) histogram() *histogram.FloatHistogram {
	if r.IntN(4) == 0 {
		return &histogram.FloatHistogram{
			Schema: histogram.CustomBucketsSchema, Count: 3, Sum: 1, CustomValues: []float64{-1, 0.5, 2},
			PositiveSpans: []histogram.Span{{Length: 4}}, PositiveBuckets: []float64{r.float(), 0, 1, 2},
		}
	}
	h := &histogram.FloatHistogram{
		Schema: int32(r.IntN(13) - 4), Count: r.float(), Sum: r.float(), ZeroThreshold: 0.001, ZeroCount: float64(r.IntN(3)),
	}
	h.PositiveSpans, h.PositiveBuckets = r.buckets()
	h.NegativeSpans, h.NegativeBuckets = r.buckets()
	return h
}

func (r random) value() parser.Value {
	switch r.IntN(8) {
	case 0:
		return promql.Scalar{T: r.time(), V: r.float()}
	case 1:
		return promql.String{T: r.time(), V: r.text()}
	case 2, 3, 4:
		v := promql.Vector{}
		for range r.IntN(6) {
			s := promql.Sample{T: r.time(), F: r.float(), Metric: r.labels()}
			if r.IntN(4) == 0 {
				s.H = r.histogram()
			}
			v = append(v, s)
		}
		return v
	}
	m := promql.Matrix{}
	for range r.IntN(5) {
		s := promql.Series{Metric: r.labels()}
		for range r.IntN(8) {
			s.Floats = append(s.Floats, promql.FPoint{T: r.time(), F: r.float()})
		}
		for range r.IntN(3) * r.IntN(3) {
			s.Histograms = append(s.Histograms, promql.HPoint{T: r.time(), H: r.histogram()})
		}
		m = append(m, s)
	}
	return m
}
