package read_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/read"
	"github.com/varvedb/varve/tsdb/chunks"
)

func floats(tv ...float64) chunks.Span {
	s := chunks.Span{Kind: kindFloat, Count: len(tv) / 2}
	for i := 0; i < len(tv); i += 2 {
		s.Times, s.Floats = append(s.Times, int64(tv[i])), append(s.Floats, tv[i+1])
	}
	return s
}

func pts(tv ...float64) (out []point) {
	for i := 0; i < len(tv); i += 2 {
		out = append(out, point{t: int64(tv[i]), v: math.Float64bits(tv[i+1])})
	}
	return out
}

func both(t *testing.T, f func(t *testing.T, typ prompb.ReadRequest_ResponseType)) {
	for _, typ := range []prompb.ReadRequest_ResponseType{sampled, streamed} {
		t.Run(typ.String(), func(t *testing.T) { f(t, typ) })
	}
}

// Samples that arrived in several batches, out of order, are one series.
func TestOneSeriesInOrder(t *testing.T) {
	m := &model{}
	m.add(labels.FromStrings("__name__", "rrs"), floats(10, 1), floats(30, 3), floats(20, 2), floats(40, 4))
	h := read.New(m, read.Options{})
	both(t, func(t *testing.T, typ prompb.ReadRequest_ResponseType) {
		got := fetch(t, h, typ, ask(0, 100, eq("__name__", "rrs")))
		require.Equal(t, [][]series{{{`{__name__="rrs"}`, pts(10, 1, 20, 2, 30, 3, 40, 4)}}}, got)
		got = fetch(t, h, typ, ask(20, 30, eq("__name__", "rrs")))
		require.Equal(t, [][]series{{{`{__name__="rrs"}`, pts(20, 2, 30, 3)}}}, got)
	})
}

func twoSeries() *model {
	m := &model{}
	m.add(labels.FromStrings("__name__", "rr", "a", "1"), floats(0, 1, 10, 2, 20, 3))
	m.add(labels.FromStrings("__name__", "rr", "a", "2", "b", "x"), floats(10, 5))
	return m
}

func TestNegotiation(t *testing.T) {
	h := read.New(twoSeries(), read.Options{})
	q := ask(0, 100, eq("__name__", "rr"))
	want := [][]series{{{`{__name__="rr", a="1"}`, pts(0, 1, 10, 2, 20, 3)}, {`{__name__="rr", a="2", b="x"}`, pts(10, 5)}}}
	for _, types := range [][]prompb.ReadRequest_ResponseType{{1}, {1, 0}, {7, 1, 0}} {
		require.Equal(t, want, readStreamed(t, post(h, encodeRequest(t, types, q)), 1), types)
	}
	for _, types := range [][]prompb.ReadRequest_ResponseType{nil, {0}, {0, 1}, {7, 0}} {
		require.Equal(t, want, readSampled(t, post(h, encodeRequest(t, types, q))), types)
	}
	rec := post(h, encodeRequest(t, []prompb.ReadRequest_ResponseType{7, 9}, q))
	require.Equal(t, http.StatusBadRequest, rec.Code)
	require.Contains(t, rec.Body.String(), "does not support any of the requested response types: [7 9]")
}

func TestMatchers(t *testing.T) {
	h := read.New(twoSeries(), read.Options{})
	one, two := `{__name__="rr", a="1"}`, `{__name__="rr", a="2", b="x"}`
	m := func(typ prompb.LabelMatcher_Type, name, value string) *prompb.LabelMatcher {
		return &prompb.LabelMatcher{Type: typ, Name: name, Value: value}
	}
	cases := []struct {
		name    string
		matcher *prompb.LabelMatcher
		want    []string
	}{
		{"missing label matches .*", m(prompb.LabelMatcher_RE, "b", ".*"), []string{one, two}},
		{"missing label differs", m(prompb.LabelMatcher_NEQ, "b", "x"), []string{one}},
		{"anchors", m(prompb.LabelMatcher_RE, "a", "^1$"), []string{one}},
		{"empty alternative", m(prompb.LabelMatcher_RE, "b", "x|"), []string{one, two}},
		{"not matching", m(prompb.LabelMatcher_NRE, "b", "x"), []string{one}},
		{"equal to empty", eq("b", ""), []string{one}},
	}
	both(t, func(t *testing.T, typ prompb.ReadRequest_ResponseType) {
		for _, c := range cases {
			var got []string
			for _, s := range fetch(t, h, typ, ask(0, 100, eq("__name__", "rr"), c.matcher))[0] {
				got = append(got, s.labels)
			}
			require.Equal(t, c.want, got, c.name)
		}
		for _, bad := range []*prompb.LabelMatcher{m(prompb.LabelMatcher_RE, "b", "("), m(9, "b", "x")} {
			rec := post(h, encodeRequest(t, []prompb.ReadRequest_ResponseType{typ}, ask(0, 1, bad)))
			require.Equal(t, http.StatusBadRequest, rec.Code)
			require.Contains(t, rec.Body.String(), `"b"`)
		}
	})
}

func TestRanges(t *testing.T) {
	h := read.New(twoSeries(), read.Options{})
	both(t, func(t *testing.T, typ prompb.ReadRequest_ResponseType) {
		name := eq("__name__", "rr")
		got := fetch(t, h, typ,
			ask(10, 10, name), ask(math.MinInt64, math.MaxInt64, name), ask(20, 10, name), ask(50, 60, name), ask(0, 100))
		at10 := []series{{`{__name__="rr", a="1"}`, pts(10, 2)}, {`{__name__="rr", a="2", b="x"}`, pts(10, 5)}}
		all := []series{{`{__name__="rr", a="1"}`, pts(0, 1, 10, 2, 20, 3)}, at10[1]}
		require.Equal(t, [][]series{at10, all, nil, nil, nil}, got)
	})
}

// Everything comes back bit for bit in both forms.
func TestSamplesEqualTheModel(t *testing.T) {
	rnd := rand.New(rand.NewSource(5))
	special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Float64frombits(value.StaleNaN),
		math.Float64frombits(0x7ff0dead00000001), math.Inf(1), math.Inf(-1), 1.1, math.SmallestNonzeroFloat64}
	m := &model{}
	var want []series
	for k := range 30 {
		sp := chunks.Span{Kind: kindFloat}
		s := series{labels: fmt.Sprintf(`{__name__="m", k="%02d"}`, k)}
		for i := range rnd.Intn(500) + 1 {
			v := special[rnd.Intn(len(special))]
			sp.Times, sp.Floats, sp.Count = append(sp.Times, int64(i*1000-200000+rnd.Intn(999))), append(sp.Floats, v), i+1
			s.points = append(s.points, point{t: sp.Times[i], v: math.Float64bits(v)})
		}
		m.add(labels.FromStrings("__name__", "m", "k", fmt.Sprintf("%02d", k)), sp)
		want = append(want, s)
	}
	h := read.New(m, read.Options{MaxFrameBytes: 700})
	both(t, func(t *testing.T, typ prompb.ReadRequest_ResponseType) {
		require.Equal(t, [][]series{want}, fetch(t, h, typ, ask(math.MinInt64, math.MaxInt64, eq("__name__", "m"))))
	})
}

func TestHistograms(t *testing.T) {
	hs, fhs := tsdbutil.GenerateTestHistograms(10), tsdbutil.GenerateTestFloatHistograms(10)
	custom := tsdbutil.GenerateTestCustomBucketsHistograms(10)
	hs[3].Sum = math.Copysign(0, -1)
	m := &model{}
	want := series{labels: `{__name__="h"}`}
	for i := range 10 {
		want.points = append(want.points, point{t: int64(i), v: math.Float64bits(hs[i].Sum), h: hs[i].String()})
	}
	for i := range 10 {
		want.points = append(want.points, point{t: int64(100 + i), v: math.Float64bits(fhs[i].Sum), h: fhs[i].String()})
	}
	for i := range 10 {
		want.points = append(want.points, point{t: int64(200 + i), v: math.Float64bits(custom[i].Sum), h: custom[i].String()})
	}
	m.add(labels.FromStrings("__name__", "h"),
		chunks.Span{Kind: kindHistogram, Count: 10, Start: 0, Step: 1, Histograms: hs},
		chunks.Span{Kind: kindFloatHistogram, Count: 10, Start: 100, Step: 1, FloatHistograms: fhs},
		chunks.Span{Kind: kindHistogram, Count: 10, Start: 200, Step: 1, Histograms: custom},
	)
	h := read.New(m, read.Options{})
	both(t, func(t *testing.T, typ prompb.ReadRequest_ResponseType) {
		require.Equal(t, [][]series{{want}}, fetch(t, h, typ, ask(0, 1000, eq("__name__", "h"))))
	})

	// The sampled form keeps hints and may mix floats in.
	m.add(labels.FromStrings("__name__", "mixed"), floats(5, 5),
		chunks.Span{Kind: kindHistogram, Count: 2, Start: 10, Step: 1, Histograms: tsdbutil.GenerateTestGaugeHistograms(2)})
	got := fetch(t, h, sampled, ask(0, 1000, eq("__name__", "mixed")))
	require.Len(t, got[0][0].points, 3)
}

func TestStartTimestamps(t *testing.T) {
	m := &model{}
	sp := floats(1000, 1, 2000, 2, 3000, 3)
	sp.StartTimes = []int64{0, 1500, 1500}
	m.add(labels.FromStrings("__name__", "c"), sp)
	q := ask(0, 5000, eq("__name__", "c"))
	want := pts(1000, 1, 2000, 2, 3000, 3)
	require.Equal(t, want, fetch(t, read.New(m, read.Options{DropStartTimes: true}), streamed, q)[0][0].points)
	want[1].st, want[2].st = 1500, 1500
	require.Equal(t, want, fetch(t, read.New(m, read.Options{}), streamed, q)[0][0].points)
}

func TestFrameSize(t *testing.T) {
	m := &model{}
	rnd := rand.New(rand.NewSource(1))
	sp := chunks.Span{Kind: kindFloat, Count: 20_000, Step: 1000}
	for range sp.Count {
		sp.Floats = append(sp.Floats, rnd.NormFloat64())
	}
	m.add(labels.FromStrings("__name__", "big"), sp)
	m.add(labels.FromStrings("__name__", "big", "l", strings.Repeat("x", 10_000)), sp)
	for _, limit := range []int{1, 5_000, 50_000, 1 << 20} {
		h := read.New(m, read.Options{MaxFrameBytes: limit})
		rec := post(h, encodeRequest(t, []prompb.ReadRequest_ResponseType{streamed}, ask(0, math.MaxInt64, eq("__name__", "big"))))
		frames := readFrames(t, rec.Body.Bytes())
		for _, f := range frames {
			if len(f.ChunkedSeries[0].Chunks) > 1 && limit > 20_000 {
				require.LessOrEqual(t, f.size, limit)
			}
		}
		switch limit {
		case 1:
			require.Len(t, frames, 2*167)
		case 1 << 20:
			require.Len(t, frames, 2)
		}
		require.Len(t, readStreamed(t, rec, 1)[0], 2)
	}
}

func TestSampleAndSizeLimits(t *testing.T) {
	m := twoSeries()
	q := ask(0, 100, eq("__name__", "rr"))
	require.Len(t, fetch(t, read.New(m, read.Options{MaxSamples: 4}), sampled, q, q)[1], 2)
	rec := post(read.New(m, read.Options{MaxSamples: 3}), encodeRequest(t, nil, q))
	require.Equal(t, http.StatusBadRequest, rec.Code)
	require.Equal(t, "exceeded sample limit (3)\n", rec.Body.String())
	require.Empty(t, rec.Header().Get("Content-Encoding"))
	require.Len(t, fetch(t, read.New(m, read.Options{MaxSamples: 3}), streamed, q)[0], 2, "the limit is for the sampled form")
	rec = post(read.New(m, read.Options{MaxResponseBytes: 20}), encodeRequest(t, nil, q))
	require.Equal(t, http.StatusBadRequest, rec.Code)
	require.Contains(t, rec.Body.String(), "exceeded response size limit (20 bytes)")
}

func TestBadBodies(t *testing.T) {
	h := read.New(twoSeries(), read.Options{})
	good := encodeRequest(t, nil, ask(0, 100, eq("__name__", "rr")))
	claim := func(n uint64) []byte { return append(binary.AppendUvarint(nil, n), make([]byte, 40)...) }
	many := func(n int, raw string) []byte { return snappy.Encode(nil, []byte(strings.Repeat(raw, n))) }
	cases := map[string]struct {
		body []byte
		want string
	}{
		"empty":                   {nil, "malformed input: snappy block"},
		"cut short":               {good[:len(good)-3], "malformed input"},
		"not a message":           {snappy.Encode(nil, []byte("\x0a\xff")), "decode remote read request"},
		"wrong wire type":         {snappy.Encode(nil, []byte("\x08\x01")), "decode remote read request"},
		"claims 2.7 GB":           {claim(2_700_000_000), "2700000000 is over the limit of 33554432"},
		"claims 2^32":             {claim(1 << 32), "at most 33554432 bytes"},
		"claims what cannot be":   {claim(30 << 20), "more than its 44 bytes can hold"},
		"a million empty queries": {many(1_000_000, "\x0a\x00"), "more than 1000 queries"},
		"a million matchers":      {many(1000, "\x0a\x28"+strings.Repeat("\x1a\x00", 20)), "more than 10000 matchers"},
		"a million types":         {many(1_000_000, "\x10\x01"), "more than 1000 accepted response types"},
		"a million packed types":  {snappy.Encode(nil, append([]byte("\x12\xc0\x84\x3d"), make([]byte, 1_000_000)...)), "more than 1000 accepted response types"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rec := post(h, c.body)
			require.Equal(t, http.StatusBadRequest, rec.Code)
			require.Contains(t, rec.Body.String(), c.want)
		})
	}
	small := read.New(twoSeries(), read.Options{MaxRequestBytes: 10})
	require.Contains(t, post(small, make([]byte, 100)).Body.String(), "limit of 10 bytes")
	require.Len(t, fetch(t, h, sampled, ask(0, 100, eq("__name__", "rr")))[0], 2, "the next request is fine")
}

func TestClaimsCostNoMemory(t *testing.T) {
	h := read.New(twoSeries(), read.Options{})
	body := append(binary.AppendUvarint(nil, 32<<20), make([]byte, 40)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		require.Equal(t, http.StatusBadRequest, post(h, body).Code)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}

func TestErrorsBeforeTheFirstByte(t *testing.T) {
	m := twoSeries()
	m.err = errors.New("manifest is gone")
	both(t, func(t *testing.T, typ prompb.ReadRequest_ResponseType) {
		body := encodeRequest(t, []prompb.ReadRequest_ResponseType{typ}, ask(0, 100, eq("__name__", "rr")))
		rec := post(read.New(m, read.Options{}), body)
		require.Equal(t, http.StatusInternalServerError, rec.Code)
		require.Equal(t, "manifest is gone\n", rec.Body.String())
		require.Equal(t, "text/plain; charset=utf-8", rec.Header().Get("Content-Type"))

		var seen error
		rec = post(read.New(m, read.Options{WriteError: func(w http.ResponseWriter, err error) {
			seen = err
			w.WriteHeader(http.StatusServiceUnavailable)
		}}), body)
		require.Equal(t, http.StatusServiceUnavailable, rec.Code)
		require.ErrorIs(t, seen, m.err)
	})
}

// A stream that cannot be finished must not look finished.
func TestErrorAfterTheFirstByteAborts(t *testing.T) {
	m := &model{}
	m.add(labels.FromStrings("__name__", "rr", "a", "1"), chunks.Span{Kind: kindFloat, Count: 500_000, Step: 1, Floats: make([]float64, 500_000)})
	m.series = append(m.series, modelSeries{lset: labels.FromStrings("__name__", "rr", "a", "2"), err: errors.New("torn page")})
	h := read.New(m, read.Options{MaxFrameBytes: 1000})
	body := encodeRequest(t, []prompb.ReadRequest_ResponseType{streamed}, ask(0, math.MaxInt64, eq("__name__", "rr")))
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { post(h, body) })
}

// fullWriter fails like a connection whose client left.
type fullWriter struct {
	httptest.ResponseRecorder
	writes int
}

func (w *fullWriter) Write([]byte) (int, error) { w.writes++; return 0, errors.New("broken pipe") }

func TestClientGone(t *testing.T) {
	m := &model{}
	for i := range 100 {
		m.add(labels.FromStrings("__name__", "rr", "a", fmt.Sprint(i)), chunks.Span{Kind: kindFloat, Count: 50_000, Step: 1, Floats: make([]float64, 50_000)})
	}
	h := read.New(m, read.Options{})
	body := encodeRequest(t, []prompb.ReadRequest_ResponseType{streamed}, ask(0, math.MaxInt64, eq("__name__", "rr")))
	w := &fullWriter{}
	req := httptest.NewRequest(http.MethodPost, "/api/v1/read", strings.NewReader(string(body)))
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { h.ServeHTTP(w, req) })
	require.Equal(t, 1, w.writes, "nothing more is written")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body))).WithContext(ctx))
	require.NotEqual(t, http.StatusOK, rec.Code)
}

func TestFramesArriveWhileTheStreamRuns(t *testing.T) {
	m := &model{}
	m.add(labels.FromStrings("__name__", "rr"), chunks.Span{Kind: kindFloat, Count: 500_000, Step: 1, Floats: make([]float64, 500_000)})
	h := read.New(m, read.Options{MaxFrameBytes: 10_000})
	rec := &flushCounter{ResponseRecorder: httptest.NewRecorder()}
	body := encodeRequest(t, []prompb.ReadRequest_ResponseType{streamed}, ask(0, math.MaxInt64, eq("__name__", "rr")))
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body))))
	require.Greater(t, rec.flushes, 3)
	require.Len(t, readStreamed(t, rec.ResponseRecorder, 1)[0][0].points, 500_000)
}

type flushCounter struct {
	*httptest.ResponseRecorder
	flushes int
}

func (f *flushCounter) Flush() { f.flushes++ }

func TestConcurrencyGate(t *testing.T) {
	entered, release := make(chan struct{}, 2), make(chan struct{})
	h := read.New(blockingStore{entered, release}, read.Options{MaxConcurrent: 1})
	body := encodeRequest(t, nil, ask(0, 1, eq("a", "b")))
	done := make(chan int, 1)
	go func() { done <- post(h, body).Code }()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body))).WithContext(ctx))
	require.Equal(t, http.StatusInternalServerError, rec.Code)
	require.Empty(t, entered, "the second request waits outside")
	close(release)
	require.Equal(t, http.StatusOK, <-done)
}

type blockingStore struct{ entered, release chan struct{} }

func (s blockingStore) Select(context.Context, int64, int64, ...*labels.Matcher) (read.View, error) {
	s.entered <- struct{}{}
	<-s.release
	return &modelView{}, nil
}
