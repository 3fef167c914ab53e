package write

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

// These tests write into a real store and read back.

func openStore(t *testing.T, dir string, o tsdb.Options) *tsdb.DB {
	db, err := tsdb.Open(dir, o)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// read prints the series of a metric, with times relative to base.
func read(t *testing.T, db *tsdb.DB, metric string, base int64) string {
	view, err := db.Select(context.Background(), 0, math.MaxInt64, labels.MustNewMatcher(labels.MatchEqual, "__name__", metric))
	require.NoError(t, err)
	defer view.Close()
	var lines []string
	for i := range view.Len() {
		line := view.Labels(i).String()
		c := view.Cursor(i, 0, math.MaxInt64)
		for c.Next() {
			for s, j := c.Span(), 0; j < s.Count; j++ {
				line += fmt.Sprintf(" %d:", s.Time(j)-base)
				switch s.Kind {
				case tsdb.KindFloat:
					line += fmt.Sprint(s.Float(j))
				case tsdb.KindHistogram:
					line += s.Histograms[j].String()
				case tsdb.KindFloatHistogram:
					line += s.FloatHistograms[j].String()
				}
				if st := s.StartTime(j); st != 0 {
					line += fmt.Sprintf("^%d", st-base)
				}
			}
		}
		require.NoError(t, c.Err())
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// at makes a series with samples at base + its times.
func at(base int64, ls []prompb.Label, timesAndValues ...float64) prompb.TimeSeries {
	ts := prompb.TimeSeries{Labels: ls}
	for i := 0; i < len(timesAndValues); i += 2 {
		ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: base + int64(timesAndValues[i]), Value: timesAndValues[i+1]})
	}
	return ts
}

func name(n string) []prompb.Label { return pairs("__name__", n) }

func TestStoreLabels(t *testing.T) {
	db := openStore(t, t.TempDir(), tsdb.Options{})
	h := New(db, Options{})
	now := time.Now().UnixMilli()
	ok := func(ts ...prompb.TimeSeries) {
		t.Helper()
		w := postV1(t, h, v1(ts...))
		require.Equal(t, 204, w.Code, body(w))
	}

	ok(at(now, pairs("z", "1", "__name__", "w7", "a", "2"), 0, 1))
	ok(at(now, pairs("__name__", "w7", "a", "2", "z", "1"), 1, 2))
	require.Equal(t, `{__name__="w7", a="2", z="1"} 0:1 1:2`, read(t, db, "w7", now))

	ok(at(now, pairs("__name__", "w9", "a", ""), 0, 1))
	ok(at(now, name("w9"), 1, 2))
	require.Equal(t, `{__name__="w9"} 0:1 1:2`, read(t, db, "w9", now))

	w := postV1(t, h, v1(at(now, pairs("__name__", "w10", "a", "1", "a", "2"), 0, 1), at(now, name("w10_good"), 0, 1)))
	require.Equal(t, 400, w.Code)
	require.Empty(t, read(t, db, "w10", now))
	require.Equal(t, `{__name__="w10_good"} 0:1`, read(t, db, "w10_good", now))

	ok(at(now, name("w12"), 2, 3, 0, 1, 1, 2))
	require.Equal(t, `{__name__="w12"} 0:1 1:2 2:3`, read(t, db, "w12", now))

	long := strings.Repeat("x", 4999)
	ok(at(now, pairs("__name__", "w20", "a", long+"1"), 0, 1), at(now, pairs("__name__", "w20", "a", long+"2"), 0, 2))
	require.Len(t, strings.Split(read(t, db, "w20", now), "\n"), 2)

	// 1 MiB is stored, or refused by the name of its limit; not cut.
	w = postV1(t, h, v1(at(now, pairs("__name__", "w20b", "a", strings.Repeat("y", 1<<20)), 0, 1)))
	if w.Code == 204 {
		require.Contains(t, read(t, db, "w20b", now), strings.Repeat("y", 1<<20))
	} else {
		require.Equal(t, 400, w.Code)
		require.Contains(t, body(w), "limit")
	}
}

func TestStoreTimes(t *testing.T) {
	db := openStore(t, t.TempDir(), tsdb.Options{})
	h := New(db, Options{})
	now := time.Now().UnixMilli()
	f := func(metric string, at int64, code int) {
		t.Helper()
		w := postV1(t, h, v1(prompb.TimeSeries{Labels: name(metric), Samples: []prompb.Sample{{Timestamp: at, Value: 1}}}))
		text := body(w)
		require.Equal(t, code, w.Code, text)
		if code != 204 {
			require.Contains(t, text, fmt.Sprintf(`{__name__=%q} at %d`, metric, at))
		}
	}
	f("w13", now+30*24*3600*1000, 400)
	f("w13c", now, 204)
	f("w13", now*1000, 400) // microseconds
	f("w13", math.MaxInt64, 400)
	f("w13", math.MinInt64, 400)
	f("w13d", now+9*60*1000, 204)
	f("w13e", now, 204)
	f("w13f", 0, 204)
	require.Equal(t, `{__name__="w13c"} 0:1`, read(t, db, "w13c", now))
	require.Empty(t, read(t, db, "w13", now))
}

// TestStoreRepeats: sending again changes nothing, before and after a restart;
// another value for a stored time replaces it.
func TestStoreRepeats(t *testing.T) {
	dir := t.TempDir()
	db := openStore(t, dir, tsdb.Options{})
	h := New(db, Options{})
	now := time.Now().UnixMilli()
	req := v1(at(now, name("w4r"), 0, 1, 1, 2, 2, 3))
	for range 2 {
		require.Equal(t, 204, postV1(t, h, req).Code)
	}
	require.NoError(t, db.Close())
	db = openStore(t, dir, tsdb.Options{})
	h = New(db, Options{})
	require.Equal(t, 204, postV1(t, h, req).Code)
	require.Equal(t, 204, postV1(t, h, v1(at(now, name("w4r"), 1, 2, 2, 3, 3, 4))).Code)
	require.Equal(t, `{__name__="w4r"} 0:1 1:2 2:3 3:4`, read(t, db, "w4r", now))

	require.Equal(t, 204, postV1(t, h, v1(at(now, name("w4_x"), 0, 1), at(now, name("w4r"), 0, 9), at(now, name("w4_y"), 0, 1))).Code)
	require.Equal(t, `{__name__="w4r"} 0:9 1:2 2:3 3:4`, read(t, db, "w4r", now))
	require.Equal(t, `{__name__="w4_x"} 0:1`, read(t, db, "w4_x", now))
}

func TestStoreMetadata(t *testing.T) {
	dir := t.TempDir()
	db := openStore(t, dir, tsdb.Options{})
	w := postV1(t, New(db, Options{}), &prompb.WriteRequest{Metadata: []prompb.MetricMetadata{
		{MetricFamilyName: "w21_total", Type: prompb.MetricMetadata_COUNTER, Help: "help", Unit: "bytes"}}})
	require.Equal(t, 204, w.Code)
	want := map[string][]metadata.Metadata{"w21_total": {{Type: "counter", Help: "help", Unit: "bytes"}}}
	require.Equal(t, want, db.Metadata("w21_total", 0))
	require.NoError(t, db.Close())
	require.Equal(t, want, openStore(t, dir, tsdb.Options{}).Metadata("w21_total", 0))
}

// TestStoreV2: start times, histograms and exemplars come back.
func TestStoreV2(t *testing.T) {
	db := openStore(t, t.TempDir(), tsdb.Options{})
	h := New(db, Options{})
	now := time.Now().UnixMilli()
	b := newV2()
	ts := writev2.TimeSeries{
		Samples:   []writev2.Sample{{Timestamp: now, Value: 1, StartTimestamp: now - 7}},
		Exemplars: []writev2.Exemplar{{LabelsRefs: []uint32{b.table.Symbolize("trace_id"), b.table.Symbolize("t1")}, Value: 9, Timestamp: now}},
	}
	b.series(ts, "__name__", "v2")
	b.series(writev2.TimeSeries{Histograms: []writev2.Histogram{writev2.FromIntHistogram(0, now, validHistogram()),
		writev2.FromFloatHistogram(now-9, now+1, customHistogram())}}, "__name__", "v2h")
	w := postV2(t, h, b.build())
	require.Equal(t, 204, w.Code, body(w))
	require.Equal(t, [3]string{"1", "2", "1"}, writtenHeaders(w))
	require.Equal(t, `{__name__="v2"} 0:1^-7`, read(t, db, "v2", now))
	require.Equal(t, `{__name__="v2h"} 0:`+validHistogram().String()+` 1:`+customHistogram().String()+`^-9`, read(t, db, "v2h", now))
	found, err := db.Exemplars(context.Background(), 0, math.MaxInt64, []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "__name__", "v2")})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, `{trace_id="t1"}`, found[0].Exemplars[0].Labels.String())
}

// TestStoreSeriesLimit: a 429 for what is new, known series go on.
func TestStoreSeriesLimit(t *testing.T) {
	db := openStore(t, t.TempDir(), tsdb.Options{MaxSeries: 1})
	h := New(db, Options{})
	now := time.Now().UnixMilli()
	w := postV1(t, h, v1(at(now, name("a"), 0, 1), at(now, name("b"), 0, 1)))
	require.Equal(t, 429, w.Code)
	require.NotEmpty(t, w.Header().Get("Retry-After"))
	require.Equal(t, 204, postV1(t, h, v1(at(now, name("a"), 1, 2))).Code)
	require.Equal(t, `{__name__="a"} 0:1 1:2`, read(t, db, "a", now))
}
