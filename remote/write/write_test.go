package write

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

func sampleV2(t int64, v float64) writev2.TimeSeries { return writev2.TimeSeries{Samples: one(t, v)} }

// TestBadInputV1: what is refused, in which words, and what is kept.
func TestBadInputV1(t *testing.T) {
	f := func(req *prompb.WriteRequest, code int, text, stored string) {
		t.Helper()
		m := newModel()
		w := postV1(t, newHandler(m.batch, Options{MaxLabelValueBytes: 100_000, MaxLabels: 70, MaxBuckets: 100}), req)
		require.Equal(t, text, body(w))
		require.Equal(t, code, w.Code)
		require.Equal(t, stored, m.dump())
	}
	good := seriesV1("good", 1)
	const goodLine = `{__name__="good"} 1790000000000:1`

	f(v1(labelledV1(pairs("a", "1"), 1, 2), good), 400,
		`refused 2, stored 1: {a="1"}: it has no metric name (2 samples)`, goodLine)
	f(v1(labelledV1(pairs("__name__", "", "a", "1"), 1), good), 400,
		`refused 1, stored 1: {__name__="", a="1"}: it has no metric name`, goodLine)
	f(v1(labelledV1(pairs("__name__", "w10", "a", "1", "a", "2"), 1), good), 400,
		`refused 1, stored 1: {__name__="w10", a="1", a="2"}: label name "a" comes twice`, goodLine)
	f(v1(labelledV1(pairs("a", "", "__name__", "w10", "a", "2"), 1), good), 400,
		`refused 1, stored 1: {__name__="w10", a="", a="2"}: label name "a" comes twice`, goodLine)
	f(v1(labelledV1(pairs("__name__", "w11", "", "x"), 1), good), 400,
		`refused 1, stored 1: {__name__="w11", ""="x"}: a label name is empty`, goodLine)
	f(v1(labelledV1(pairs("__name__", "w22", "a", "x\xff\xfe"), 1), good), 400,
		`refused 1, stored 1: {__name__="w22", a="x\xff\xfe"}: the value of label "a" is not valid UTF-8: "x\xff\xfe"`, goodLine)
	f(v1(labelledV1(pairs("__name__", "w22", "\xff", "x"), 1), good), 400,
		`refused 1, stored 1: {__name__="w22", "\xff"="x"}: label name "\xff" is not valid UTF-8`, goodLine)
	f(v1(labelledV1(pairs("__name__", "big", "zz", strings.Repeat("x", 100_001)), 1), good), 400,
		`refused 1, stored 1: {__name__="big", zz="`+strings.Repeat("x", 64)+`..."}: the value of label "zz" has 100001 bytes (limit: 100000 bytes)`, goodLine)
	f(v1(labelledV1(pairs("__name__", "big", strings.Repeat("n", 5000), "v"), 1), good), 400,
		`refused 1, stored 1: {__name__="big", `+strings.Repeat("n", 64)+`...="v"}: label name "`+strings.Repeat("n", 64)+`..." has 5000 bytes (limit: 4096 bytes)`, goodLine)

	// Times, and the order of neighbours: before and after.
	future := prompb.TimeSeries{Labels: pairs("__name__", "w13"), Samples: []prompb.Sample{
		{Timestamp: modelNow, Value: 1}, {Timestamp: modelNow + 30*24*3600*1000, Value: 2}, {Timestamp: math.MaxInt64, Value: 3},
		{Timestamp: math.MinInt64, Value: 4}, {Timestamp: modelNow + 9*60*1000, Value: 5}}}
	f(v1(good, future, seriesV1("w13c", 1)), 400, `refused 3, stored 4: {__name__="w13"} at 1792592000000: time is too far in the future (limit: now + 48h0m0s)
{__name__="w13"} at 9223372036854775807: time is too far in the future (limit: now + 48h0m0s)
{__name__="w13"} at -9223372036854775808: time is before 1970`,
		goodLine+"\n"+`{__name__="w13"} 1790000000000:1 1790000540000:5`+"\n"+`{__name__="w13c"} 1790000000000:1`)

	// Too many labels, with neighbours.
	var many []string
	for i := range 70 {
		many = append(many, fmt.Sprintf("l%02d", i), "v")
	}
	w := postV1(t, newHandler(newModel().batch, Options{MaxLabels: 70}), v1(labelledV1(pairs(append(many, "__name__", "x")...), 1)))
	require.Equal(t, 400, w.Code)
	require.Contains(t, body(w), "it has too many labels (limit: 70 labels)")

	// Metadata.
	f(&prompb.WriteRequest{Timeseries: []prompb.TimeSeries{good}, Metadata: []prompb.MetricMetadata{{Help: "h"}, {MetricFamilyName: "f", Help: "\xff"},
		{MetricFamilyName: "ok", Type: prompb.MetricMetadata_GAUGE, Help: "h", Unit: "bytes"}}}, 400,
		"refused 2, stored 2: metadata of \"\": the metric family name is empty\nmetadata of \"f\": the help text is not valid UTF-8",
		goodLine+"\n"+`# ok gauge "h" "bytes"`)

	// Exemplars.
	withExemplars := seriesV1("good", 1)
	withExemplars.Exemplars = []prompb.Exemplar{{Labels: pairs("trace_id", "x", "trace_id", "y"), Value: 1, Timestamp: modelNow},
		{Labels: pairs("trace_id", "z"), Value: 2, Timestamp: modelNow}, {Value: 3, Timestamp: -1}}
	f(v1(withExemplars), 400, "refused 2, stored 2: exemplar of {__name__=\"good\"}: {trace_id=\"x\", trace_id=\"y\"}: label name \"trace_id\" comes twice\n"+
		"{__name__=\"good\"} at -1: time is before 1970",
		goodLine+` 1790000000000:exemplar(2 {trace_id="z"})`)
}

// TestManyRefusals: the first are named, the others counted.
func TestManyRefusals(t *testing.T) {
	req := v1(seriesV1("good", 1))
	for i := range 25 {
		req.Timeseries = append(req.Timeseries, labelledV1(pairs("n", fmt.Sprint(i)), 1))
	}
	w := postV1(t, newHandler(newModel().batch, Options{}), req)
	require.Equal(t, 400, w.Code)
	text := body(w)
	require.True(t, strings.HasPrefix(text, `refused 25, stored 1: {n="0"}: it has no metric name`+"\n"), text)
	require.True(t, strings.HasSuffix(text, `{n="9"}: it has no metric name`+"\nand 15 more"), text)
}

// TestBrokenMessageStoresNothing: R1.
func TestBrokenMessageStoresNothing(t *testing.T) {
	m := newModel()
	h := newHandler(m.batch, Options{})
	msg := append(marshal(t, v1(seriesV1("good", 1), seriesV1("other", 2))), 0x0a, 5, 'x')
	w := post(h, "", "snappy", snappy.Encode(nil, msg))
	require.Equal(t, 400, w.Code)
	require.Empty(t, m.dump())
	require.Zero(t, h.Stats().InFlightBytes)
}

// TestCanonicalLabels: order and empty values make no new series, from request
// to request and inside one, in the cache or not.
func TestCanonicalLabels(t *testing.T) {
	m := newModel()
	h := newHandler(m.batch, Options{})
	for range 3 {
		require.Equal(t, 204, postV1(t, h, v1(labelledV1(pairs("z", "1", "__name__", "w7", "a", "2"), 1))).Code)
		require.Equal(t, 204, postV1(t, h, v1(labelledV1(pairs("__name__", "w7", "a", "2", "z", "1"), 2))).Code)
		require.Equal(t, 204, postV1(t, h, v1(labelledV1(pairs("__name__", "w7", "a", "2", "b", "", "z", "1"), 3))).Code)
	}
	require.Equal(t, 204, postV2(t, h, newV2().series(sampleV2(modelNow, 4), "__name__", "w7", "a", "2", "z", "1").build()).Code)
	require.Equal(t, `{__name__="w7", a="2", z="1"} `+strings.Repeat("1790000000000:1 1790000000000:2 1790000000000:3 ", 3)+`1790000000000:4`, m.dump())
}

// TestLongLabels: values that differ at their end, or in one of sixty labels,
// are different series.
func TestLongLabels(t *testing.T) {
	m := newModel()
	h := newHandler(m.batch, Options{})
	sixty := func(last string) prompb.TimeSeries {
		ls := pairs("__name__", "w19")
		for i := range 58 {
			ls = append(ls, pairs(fmt.Sprintf("l%02d", i), "v")...)
		}
		return labelledV1(append(ls, pairs("zz", last)...), 1)
	}
	long := strings.Repeat("x", 4999)
	req := v1(sixty("1"), sixty("2"), labelledV1(pairs("__name__", "w20", "a", long+"1"), 1), labelledV1(pairs("__name__", "w20", "a", long+"2"), 1),
		labelledV1(pairs("__name__", "w20b", "a", strings.Repeat("y", 1<<20)), 1))
	for range 2 {
		w := postV1(t, h, req)
		require.Equal(t, 204, w.Code, body(w))
	}
	require.Len(t, m.lines, 5)
	for name, items := range m.lines {
		require.Len(t, items, 2, name)
	}
	require.EqualValues(t, 5, h.Stats().CacheHits)
	require.EqualValues(t, 5, h.Stats().CacheMisses)
}

// TestTenMegabyteLabel is refused by name, and its neighbour stored.
func TestTenMegabyteLabel(t *testing.T) {
	m := newModel()
	w := postV1(t, newHandler(m.batch, Options{}), v1(labelledV1(pairs("__name__", "x", "a", strings.Repeat("y", 10<<20)), 1), seriesV1("good", 1)))
	require.Equal(t, 400, w.Code)
	text := body(w)
	require.Contains(t, text, `the value of label "a" has 10485760 bytes (limit: 1048576 bytes)`)
	require.Less(t, len(text), 500)
	require.Equal(t, `{__name__="good"} 1790000000000:1`, m.dump())
}

// TestValues: every bit of a float arrives, samples stay in the order sent.
func TestValues(t *testing.T) {
	m := newModel()
	stale := math.Float64frombits(value.StaleNaN)
	w := postV1(t, newHandler(m.batch, Options{}), v1(prompb.TimeSeries{Labels: pairs("__name__", "v"), Samples: []prompb.Sample{
		{Timestamp: 2, Value: stale}, {Timestamp: 0, Value: math.Inf(-1)}, {Timestamp: 1, Value: math.Float64frombits(0x7ff80000deadbeef)}}}))
	require.Equal(t, 204, w.Code)
	require.Equal(t, `{__name__="v"} 2:7ff0000000000002 0:-Inf 1:7ff80000deadbeef`, m.dump())
}

func validHistogram() *histogram.Histogram {
	return &histogram.Histogram{Schema: 1, Count: 3, Sum: 2.5, CounterResetHint: histogram.NotCounterReset,
		PositiveSpans: []histogram.Span{{Offset: 0, Length: 2}}, PositiveBuckets: []int64{1, 1}}
}

func customHistogram() *histogram.FloatHistogram {
	return &histogram.FloatHistogram{Schema: histogram.CustomBucketsSchema, Count: 3, Sum: 2.5,
		PositiveSpans: []histogram.Span{{Offset: 0, Length: 2}}, PositiveBuckets: []float64{1, 2}, CustomValues: []float64{0.5}}
}

// TestHistograms: good ones are stored beside bad ones, in both protocols.
func TestHistograms(t *testing.T) {
	mismatch := validHistogram()
	mismatch.Count = 99
	fine := validHistogram()
	fine.Schema = 9 // reduced to 8
	wide := validHistogram()
	wide.PositiveBuckets = make([]int64, 200)
	staleHistogram := &histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN)}

	ts := prompb.TimeSeries{Labels: pairs("__name__", "h")}
	for i, h := range []*histogram.Histogram{validHistogram(), mismatch, wide, fine, staleHistogram} {
		ts.Histograms = append(ts.Histograms, prompb.FromIntHistogram(modelNow+int64(i), h))
	}
	ts.Histograms = append(ts.Histograms, prompb.FromFloatHistogram(modelNow+9, customHistogram()))
	const stored = `{__name__="h"} 1790000000000:hist(schema=1 hint=2 count=3 sum=4004000000000000 spans=[{0 2}] buckets=[1 1] custom=[])` +
		` 1790000000003:hist(schema=8 hint=2 count=3 sum=4004000000000000 spans=[{0 2}] buckets=[1 1] custom=[])` +
		` 1790000000004:hist(schema=0 hint=0 count=0 sum=7ff0000000000002 spans=[] buckets=[] custom=[])` +
		` 1790000000009:floathist(schema=-53 hint=0 count=3 sum=4004000000000000 spans=[{0 2}] buckets=[1 2] custom=[0.5])`
	const refused = `refused 2, stored 4: histogram of {__name__="h"} at 1790000000001: 3 observations found in buckets, but the Count field is 99: histogram's observation count should equal the number of observations found in the buckets (in absence of NaN)
histogram of {__name__="h"}: spans, buckets and bounds per histogram is over the limit of 100`
	m := newModel()
	w := postV1(t, newHandler(m.batch, Options{MaxBuckets: 100}), v1(ts))
	require.Equal(t, refused, body(w))
	require.Equal(t, 400, w.Code)
	require.Equal(t, stored, m.dump())

	tsV2 := writev2.TimeSeries{}
	for i, h := range []*histogram.Histogram{validHistogram(), mismatch, wide, fine, staleHistogram} {
		tsV2.Histograms = append(tsV2.Histograms, writev2.FromIntHistogram(0, modelNow+int64(i), h))
	}
	tsV2.Histograms = append(tsV2.Histograms, writev2.FromFloatHistogram(0, modelNow+9, customHistogram()))
	m = newModel()
	w = postV2(t, newHandler(m.batch, Options{MaxBuckets: 100}), newV2().series(tsV2, "__name__", "h").build())
	require.Equal(t, refused, body(w))
	require.Equal(t, stored, m.dump())
	require.Equal(t, [3]string{"0", "4", "0"}, writtenHeaders(w))
}

// TestV2: start times, metadata by series, exemplars, and the written headers.
func TestV2(t *testing.T) {
	m := newModel()
	h := newHandler(m.batch, Options{})
	b := newV2()
	meta := func(typ writev2.Metadata_MetricType, help, unit string) writev2.Metadata {
		return writev2.Metadata{Type: typ, HelpRef: b.table.Symbolize(help), UnitRef: b.table.Symbolize(unit)}
	}
	b.series(writev2.TimeSeries{
		Samples:   []writev2.Sample{{Timestamp: modelNow, Value: 1, StartTimestamp: 77}, {Timestamp: modelNow + 1, Value: 2}},
		Exemplars: []writev2.Exemplar{{LabelsRefs: []uint32{b.table.Symbolize("trace_id"), b.table.Symbolize("t1")}, Value: 9, Timestamp: modelNow}},
		Metadata:  meta(writev2.Metadata_METRIC_TYPE_COUNTER, "requests", ""),
	}, "__name__", "req_total", "job", "a")
	b.series(writev2.TimeSeries{Samples: one(modelNow, 3), Metadata: meta(writev2.Metadata_METRIC_TYPE_HISTOGRAM, "latency", "seconds")}, "__name__", "lat_bucket", "le", "1")
	b.series(writev2.TimeSeries{Samples: one(modelNow, 4), Metadata: meta(writev2.Metadata_METRIC_TYPE_HISTOGRAM, "latency", "seconds")}, "__name__", "lat_count")
	b.series(writev2.TimeSeries{Histograms: []writev2.Histogram{writev2.FromIntHistogram(5, modelNow, validHistogram())}}, "__name__", "nh")
	w := postV2(t, h, b.build())
	require.Equal(t, 204, w.Code, body(w))
	require.Equal(t, [3]string{"4", "1", "1"}, writtenHeaders(w))
	require.Equal(t, `{__name__="lat_bucket", le="1"} 1790000000000:3
{__name__="lat_count"} 1790000000000:4
{__name__="nh"} 1790000000000:hist(schema=1 hint=2 count=3 sum=4004000000000000 spans=[{0 2}] buckets=[1 1] custom=[])^5
{__name__="req_total", job="a"} 1790000000000:1^77 1790000000001:2 1790000000000:exemplar(9 {trace_id="t1"})
# req_total counter "requests" ""
# lat histogram "latency" "seconds"
# lat histogram "latency" "seconds"`, m.dump())

	// Known series, known metadata.
	require.Equal(t, 204, postV2(t, h, b.build()).Code)
	require.EqualValues(t, 4, h.Stats().CacheHits)
	require.Len(t, m.metadata, 3)
}

// TestBadInputV2: partial writes say what was written.
func TestBadInputV2(t *testing.T) {
	f := func(change func(req *writev2.Request), text string, headers [3]string) {
		t.Helper()
		b := newV2().series(sampleV2(modelNow, 1), "__name__", "bad", "a", "b").series(sampleV2(modelNow, 2), "__name__", "good")
		b.build()
		change(&b.req)
		m := newModel()
		h := newHandler(m.batch, Options{})
		for range 2 { // the second time the good one is known
			w := postV2(t, h, &b.req)
			require.Equal(t, text, body(w))
			require.Equal(t, 400, w.Code)
			require.Equal(t, headers, writtenHeaders(w))
		}
		if headers[0] == "1" {
			require.Equal(t, `{__name__="good"} 1790000000000:2 1790000000000:2`, m.dump())
		}
	}
	f(func(r *writev2.Request) { r.Timeseries[0].LabelsRefs[3] = 99 },
		`refused 1, stored 1: {__name__="bad"}: label references 3 and 99 are not both in the table of 6 symbols`, [3]string{"1", "0", "0"})
	f(func(r *writev2.Request) { r.Timeseries[0].LabelsRefs = r.Timeseries[0].LabelsRefs[:3] },
		`refused 1, stored 1: {__name__="bad"}: the number of label references is odd`, [3]string{"1", "0", "0"})
	f(func(r *writev2.Request) { r.Timeseries[0].LabelsRefs = nil },
		`refused 1, stored 1: {}: it has no metric name`, [3]string{"1", "0", "0"})
	f(func(r *writev2.Request) { r.Timeseries[0].LabelsRefs = r.Timeseries[0].LabelsRefs[2:] },
		`refused 1, stored 1: {a="b"}: it has no metric name`, [3]string{"1", "0", "0"})
	f(func(r *writev2.Request) { r.Timeseries[0].Metadata.HelpRef = 77 },
		`refused 1, stored 1: {__name__="bad", a="b"}: metadata references 77 and 0 are not both in the table of 6 symbols`, [3]string{"1", "0", "0"})
	f(func(r *writev2.Request) { r.Timeseries[0].Samples = nil },
		`refused 0, stored 1: {__name__="bad", a="b"}: it has no sample and no histogram`, [3]string{"1", "0", "0"})
	f(func(r *writev2.Request) { r.Timeseries[0].Samples[0].Timestamp = -1 },
		`refused 1, stored 1: {__name__="bad", a="b"} at -1: time is before 1970`, [3]string{"1", "0", "0"})
	f(func(r *writev2.Request) { r.Symbols[1] = "\xfe" },
		`refused 2, stored 0: {"\xfe"="bad"}: label name "\xfe" is not valid UTF-8`+"\n"+`{"\xfe"="good"}: label name "\xfe" is not valid UTF-8`, [3]string{"0", "0", "0"})
}

// TestHeadersOnErrors: a 2.0 sender learns that nothing was written.
func TestHeadersOnErrors(t *testing.T) {
	m := newModel()
	m.commitErr = errors.New("broken")
	h := newHandler(m.batch, Options{})
	w := postV2(t, h, newV2().series(sampleV2(modelNow, 1), "__name__", "m").build())
	require.Equal(t, 500, w.Code)
	require.Equal(t, [3]string{"0", "0", "0"}, writtenHeaders(w))
	require.Equal(t, [3]string{"0", "0", "0"}, writtenHeaders(post(h, typeV2, "snappy", nil)))
	require.Equal(t, [3]string{}, writtenHeaders(postV1(t, h, v1(seriesV1("m", 1)))))
}

// TestStoreErrors: what the store says becomes the status, and what it did not
// keep is not remembered as kept.
func TestStoreErrors(t *testing.T) {
	f := func(err error, code int, retryAfter string) {
		t.Helper()
		m := newModel()
		h := newHandler(m.batch, Options{})
		req := &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{seriesV1("m", 1)}, Metadata: []prompb.MetricMetadata{{MetricFamilyName: "m", Help: "h"}}}
		m.commitErr = err
		w := postV1(t, h, req)
		require.Equal(t, code, w.Code)
		require.Equal(t, retryAfter, w.Header().Get("Retry-After"))
		require.Contains(t, body(w), err.Error())
		require.Empty(t, m.dump())
		require.Zero(t, h.Stats().Samples)

		m.commitErr = nil
		require.Equal(t, 204, postV1(t, h, req).Code)
		require.Equal(t, "{__name__=\"m\"} 1790000000000:1\n# m unknown \"h\" \"\"", m.dump())
		require.EqualValues(t, 1, h.Stats().Samples)
	}
	f(&tsdb.OverloadError{Limit: "1 byte", Reason: "full", RetryAfter: 2e9}, 503, "2")
	f(&fs.PathError{Op: "write", Path: "wal", Err: syscall.ENOSPC}, 503, "10")
	f(errors.New("the log is broken"), 500, "")
	f(tsdb.ErrClosed, 503, "10")

	m := newModel()
	m.seriesErr = &tsdb.OverloadError{Limit: "1 byte", Reason: "full", RetryAfter: 2e9}
	w := postV1(t, newHandler(m.batch, Options{}), v1(seriesV1("m", 1)))
	require.Equal(t, 503, w.Code)
	require.Zero(t, m.commits)
}

// TestSeriesLimit: at the limit of series the known ones are still written.
func TestSeriesLimit(t *testing.T) {
	m := newModel()
	m.maxSeries = 2
	h := newHandler(m.batch, Options{})
	w := postV2(t, h, newV2().series(sampleV2(modelNow, 1), "__name__", "a").series(sampleV2(modelNow, 2), "__name__", "b").
		series(sampleV2(modelNow, 3), "__name__", "c").build())
	require.Equal(t, 429, w.Code)
	require.Equal(t, "10", w.Header().Get("Retry-After"))
	require.Equal(t, `refused 1, stored 2: too many active series (limit: 2 active series)`, body(w))
	require.Equal(t, [3]string{"2", "0", "0"}, writtenHeaders(w))
	require.Equal(t, "{__name__=\"a\"} 1790000000000:1\n{__name__=\"b\"} 1790000000000:2", m.dump())
}

// TestInFlight: past the budget requests are sent away, one alone never is.
func TestInFlight(t *testing.T) {
	m := newModel()
	m.block = make(chan struct{})
	h := newHandler(m.batch, Options{MaxInFlightBytes: 1})
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- postV1(t, h, v1(seriesV1("a", 1))) }()
	require.Eventually(t, func() bool { m.mu.Lock(); defer m.mu.Unlock(); return m.calls > 0 }, time.Minute, time.Millisecond)
	w := postV1(t, h, v1(seriesV1("b", 1)))
	require.Equal(t, 503, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Equal(t, "too many writes at once (limit: 1 bytes of requests in flight)", body(w))
	close(m.block)
	require.Equal(t, 204, (<-first).Code)
	require.Zero(t, h.Stats().InFlightBytes)
	require.Equal(t, 204, postV1(t, h, v1(seriesV1("b", 1))).Code)
}

func TestCancelled(t *testing.T) {
	m := newModel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(snappy.Encode(nil, marshal(t, v1(seriesV1("a", 1))))))).WithContext(ctx)
	w := httptest.NewRecorder()
	newHandler(m.batch, Options{}).ServeHTTP(w, r)
	require.Equal(t, 499, w.Code)
	require.Empty(t, m.dump())
}

// TestRepeatedRequest: the same again is a success, as after a sender's restart.
func TestRepeatedRequest(t *testing.T) {
	m := newModel()
	h := newHandler(m.batch, Options{})
	for range 3 {
		require.Equal(t, 204, postV1(t, h, v1(seriesV1("w4r", 1, 2, 3))).Code)
	}
	// Another value for a stored time is taken, too: the last write wins.
	require.Equal(t, 204, postV1(t, h, v1(seriesV1("w4_x", 1), seriesV1("w4r", 9), seriesV1("w4_y", 1))).Code)
	require.Len(t, m.lines, 3)
}

// TestMetadataOnly: metadata comes in requests of its own.
func TestMetadataOnly(t *testing.T) {
	m := newModel()
	h := newHandler(m.batch, Options{})
	req := &prompb.WriteRequest{Metadata: []prompb.MetricMetadata{{MetricFamilyName: "w21_total", Type: prompb.MetricMetadata_COUNTER, Help: "help", Unit: "bytes"}}}
	require.Equal(t, 204, postV1(t, h, req).Code)
	require.Equal(t, 204, postV1(t, h, req).Code)
	require.Equal(t, `# w21_total counter "help" "bytes"`, m.dump())
	req.Metadata[0].Type = prompb.MetricMetadata_GAUGE
	require.Equal(t, 204, postV1(t, h, req).Code)
	require.Len(t, m.metadata, 2)
	require.EqualValues(t, 3, h.Stats().Metadata)
}

// TestTurns: senders that wait for the disk do not keep others from being
// decoded, and one whose client went away does not wait for its turn.
func TestTurns(t *testing.T) {
	m := newModel()
	m.block = make(chan struct{})
	h := newHandler(m.batch, Options{})
	var wg sync.WaitGroup
	n := 2*cap(h.turns) + 1
	for i := range n {
		wg.Go(func() {
			if w := postV1(t, h, v1(seriesV1(fmt.Sprint("m", i), 1))); w.Code != 204 {
				t.Error(body(w))
			}
		})
	}
	require.Eventually(t, func() bool { return h.Stats().CacheMisses == int64(n) && len(h.turns) == 0 }, time.Minute, time.Millisecond)
	require.Empty(t, m.dump())
	close(m.block)
	wg.Wait()
	require.Len(t, m.lines, n)

	for range cap(h.turns) {
		require.NoError(t, h.turns.take(context.Background()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	block := snappy.Encode(nil, marshal(t, v1(seriesV1("late", 1))))
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(block)).WithContext(ctx)
	r.Header.Set("Content-Type", typeV1)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.NotEqual(t, 204, w.Code)
	require.Len(t, m.lines, n)
	require.Zero(t, h.Stats().InFlightBytes)
}
