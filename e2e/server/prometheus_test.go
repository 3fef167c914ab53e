package server

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// scrapeConfig lets Prometheus scrape itself and varve and write everything to
// varve. The samples of a remote write 2.0 sender carry an own label.
const scrapeConfig = `
global:
  scrape_interval: 1s
scrape_configs:
  - job_name: self
    scrape_native_histograms: true
    static_configs: [{targets: ["$ADDR"]}]
  - job_name: varve
    static_configs: [{targets: ["%[1]s"]}]
remote_write:
  - url: "http://%[1]s/api/v1/write"
    protobuf_message: %[2]s
    send_exemplars: true
    send_native_histograms: true
    metadata_config: {send: true, send_interval: 1s}
    queue_config: {batch_send_deadline: 200ms}
`

// readConfig makes a Prometheus that knows nothing but what varve answers.
const readConfig = `
remote_read:
  - url: "http://%s/api/v1/read"
    read_recent: true
`

// A real Prometheus writes to varve by both versions of remote write; what it
// answers, what varve answers and what a Prometheus answers that reads from
// varve is the same JSON, for 200 random series.
func TestPrometheus(t *testing.T) {
	if testing.Short() {
		t.Skip("builds Prometheus")
	}
	for name, message := range map[string]string{"1.0": "prometheus.WriteRequest", "2.0": "io.prometheus.write.v2.Request"} {
		t.Run(name, func(t *testing.T) { prometheusRoundTrip(t, message) })
	}
}

func prometheusRoundTrip(t *testing.T, message string) {
	v := harness.StartVarve(t)
	addr := strings.TrimPrefix(v.URL, "http://")
	writer := harness.StartPrometheus(t, fmt.Sprintf(scrapeConfig, addr, message), "--enable-feature=exemplar-storage,native-histograms,metadata-wal-records,st-storage")
	reader := harness.StartPrometheus(t, fmt.Sprintf(readConfig, addr))
	start := time.Now()
	time.Sleep(5 * time.Second)
	v.Kill() // the sender has to send again what was not acknowledged
	v.Restart(t)
	time.Sleep(10 * time.Second)
	end := time.Now().Add(-time.Second)
	waitUntilSent(t, writer, v, end)

	var all []map[string]string
	writer.Get(t, "/api/v1/series", "match[]", `{__name__!=""}`).Data(t, &all)
	require.Greater(t, len(all), 400)
	rng := rand.New(rand.NewPCG(uint64(start.UnixNano()), 0))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	inEveryState(t, v, func(t *testing.T) {
		compared, points := 0, 0
		for _, metric := range all[:200] {
			args := []string{"query", labels.FromMap(metric).String(), "start", stamp(start), "end", stamp(end), "step", "1"}
			want := writer.Get(t, "/api/v1/query_range", args...)
			for _, c := range []harness.Client{v.Client, reader.Client} {
				got := c.Get(t, "/api/v1/query_range", args...)
				require.Equal(t, string(resultData(t, want)), string(resultData(t, got)), "%s from %s", args[1], c.URL)
			}
			compared++
			if r := harness.ParseResult(t, want); len(r.Series) == 1 {
				points += len(r.Series[0].Points)
			}
		}
		require.Equal(t, 200, compared)
		require.Greater(t, points, 1000)
		t.Logf("%d series with %d points are the same", compared, points)
	})
	waitUntilSent(t, writer, v, time.Now())
	comparePrometheusExtras(t, writer, v)
}

// comparePrometheusExtras compares native histograms, metadata and aggregates.
func comparePrometheusExtras(t *testing.T, writer *harness.Prometheus, v *harness.Varve) {
	var metadata map[string][]map[string]string
	v.Get(t, "/api/v1/metadata").Data(t, &metadata)
	require.Equal(t, "counter", metadata["prometheus_http_requests_total"][0]["type"])
	require.NotEmpty(t, metadata["prometheus_http_requests_total"][0]["help"])
	at := stamp(time.Now().Add(-3 * time.Second))
	for _, expr := range []string{
		`count by (job) (up)`,
		`count({__name__!=""})`,
		`histogram_count(prometheus_http_request_duration_seconds{handler="/metrics"})`,
		`histogram_quantile(0.9, sum by (le) (rate(prometheus_http_response_size_bytes_bucket[10s])))`,
		`count(count by (__name__) ({__name__!=""}))`,
	} {
		want, got := writer.Query(t, expr, at).Values(), v.Query(t, expr, at).Values()
		require.Equal(t, want, got, expr)
		require.NotEmpty(t, got, expr)
	}
}

// waitUntilSent waits until varve has a sample of every scraped job past a time.
func waitUntilSent(t *testing.T, writer *harness.Prometheus, v *harness.Varve, until time.Time) {
	deadline := time.Now().Add(time.Minute)
	for {
		r := v.Query(t, "min(max by (job) (timestamp(up)))", stamp(time.Now().Add(time.Minute)))
		pending := writer.Query(t, "max(prometheus_remote_storage_samples_pending)", stamp(time.Now())).Values()
		if len(r.Series) == 1 {
			var at float64
			_, err := fmt.Sscan(r.Series[0].Points[0].Value, &at)
			require.NoError(t, err)
			if at >= float64(until.Unix()+1) {
				return
			}
		}
		require.True(t, time.Now().Before(deadline), "not sent in time: %v, pending %v", r.Values(), pending)
		time.Sleep(300 * time.Millisecond)
	}
}

func stamp(t time.Time) string { return fmt.Sprintf("%.3f", float64(t.UnixMilli())/1000) }

// resultData is the data of an answer, which has to be a success.
func resultData(t *testing.T, resp harness.Response) json.RawMessage {
	t.Helper()
	resp.Require(t, http.StatusOK)
	return resp.Envelope(t).Data
}
