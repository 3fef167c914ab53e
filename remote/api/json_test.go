package api

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/api/apitest"
	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// FuzzStrings checks that any string becomes a JSON string that means it.
func FuzzStrings(f *testing.F) {
	for _, s := range []string{"", "a", "<&>", "\"\\\n\r\t\b\f\x00\x1f\x7f", "é\u2028\u2029😀", "\xff\xfe", "a\xc3"} {
		f.Add(s)
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, s string) {
		tally.Input()
		want := strings.ToValidUTF8(s, "\ufffd")
		if !utf8.ValidString(s) {
			want = ""
			for _, r := range s { // one U+FFFD per bad byte
				want += string(r)
			}
		}
		var got string
		require.NoError(t, json.Unmarshal(appendString(nil, s), &got))
		require.Equal(t, want, got)
		if utf8.ValidString(s) {
			tally.Accepted()
			require.Equal(t, appendEscaped(nil, s), appendPlainString(nil, s))
			require.NoError(t, json.Unmarshal(appendPlainString(nil, s), &got))
			require.Equal(t, s, got)
		}
	})
}

// TestPlainStrings compares with the slow twin, each byte at each place.
func TestPlainStrings(t *testing.T) {
	for length := range 30 {
		for at := range length {
			for c := range 256 {
				b := []byte(strings.Repeat("a", length))
				b[at] = byte(c)
				s := string(b)
				want := string(appendEscaped([]byte("x"), s))
				if got := string(appendPlainString([]byte("x"), s)); got != want {
					t.Fatalf("got %s, want %s", got, want)
				}
				want = "{" + string(appendEscaped(nil, s)) + `:"1","b":` + string(appendEscaped(nil, s)) + "}"
				if got := string(appendLabels(nil, labels.New(labels.Label{Name: s, Value: "1"}, labels.Label{Name: "b", Value: s}))); s < "b" && got != want {
					t.Fatalf("got %s, want %s", got, want)
				}
			}
		}
	}
	require.Equal(t, "{}", string(appendLabels(nil, labels.EmptyLabels())))
}

// FuzzTimes checks that times and durations from outside never panic and stay
// within what milliseconds can say.
func FuzzTimes(f *testing.F) {
	for _, s := range []string{"0", "1700000000.433", "-1e300", "NaN", "2023-11-14T22:13:20.433Z", "1h30m", "15s", "-292273086-05-16T16:47:06Z"} {
		f.Add(s)
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, s string) {
		tally.Input()
		at, err := parseTime(s)
		if err == nil {
			require.False(t, at.Before(minTime()), s)
			require.False(t, at.After(maxTime()), s)
		}
		_, errDuration := parseDuration(s)
		_, errLimit := parseLimit(s)
		if err == nil || errDuration == nil || errLimit == nil {
			tally.Accepted()
		}
	})
}

func TestHistogramWithoutBuckets(t *testing.T) {
	require.Equal(t, `{"count":"0","sum":"0"}`, string(appendHistogram(nil, &histogram.FloatHistogram{})))
}

func BenchmarkMatrix(b *testing.B) {
	m := promql.Matrix{}
	r := rand.New(rand.NewPCG(1, 2))
	points := 0
	for i := range 100 {
		s := promql.Series{Metric: labels.FromStrings("__name__", "cpu_usage_user", "hostname", "host_"+strconv.Itoa(i), "region", "eu-central-1")}
		for j := range 360 {
			s.Floats = append(s.Floats, promql.FPoint{T: apitest.Base + int64(j)*10_000, F: float64(r.IntN(10000)) / 100})
			points++
		}
		m = append(m, s)
	}
	var pool sinkPool
	var n int
	b.ReportAllocs()
	for b.Loop() {
		s := pool.get(countWriter{&n})
		queryData{value: m}.writeJSON(s)
		_ = s.flush()
		pool.put(s)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(points), "ns/point")
}

type countWriter struct{ n *int }

func (w countWriter) Write(p []byte) (int, error) { *w.n += len(p); return len(p), nil }

func BenchmarkLabels(b *testing.B) {
	lset := labels.FromStrings("__name__", "cpu_usage_user", "arch", "x86", "datacenter", "eu-central-1a", "hostname", "host_7",
		"os", "Ubuntu16.04LTS", "rack", "54", "region", "eu-central-1", "service", "9", "service_environment", "test", "service_version", "0", "team", "LON")
	buf := make([]byte, 0, 1<<10)
	for b.Loop() {
		buf = appendLabels(buf[:0], lset)
	}
	b.SetBytes(int64(len(buf)))
}
