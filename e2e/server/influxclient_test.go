package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	influxdb2 "github.com/influxdata/influxdb-client-go/v2"
	"github.com/influxdata/influxdb-client-go/v2/api/write"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// What Influx' own client library writes is read back, by its blocking and by
// its batching writer, compressed and not.
func TestInfluxClient(t *testing.T) {
	v := harness.StartVarve(t)
	start := time.Unix(scriptTime(), 0)
	for _, zipped := range []bool{false, true} {
		base := v.URL
		if zipped {
			base += "/influx/"
		}
		client := influxdb2.NewClientWithOptions(base, "token", influxdb2.DefaultOptions().SetBatchSize(100).SetUseGZip(zipped).SetPrecision(time.Millisecond))
		defer client.Close()
		health, err := client.Health(context.Background())
		require.NoError(t, err)
		require.Equal(t, "pass", string(health.Status))
		if !zipped {
			ok, err := client.Ping(context.Background())
			require.NoError(t, err)
			require.True(t, ok)
		}
		tag := strconv.FormatBool(zipped)
		points := make([]*write.Point, 0, 500)
		for i := range 500 {
			points = append(points, influxdb2.NewPoint("client metric",
				map[string]string{"zipped": tag, "host, name": `a=b \c` + strconv.Itoa(i%5), "sp ace": "é"},
				map[string]any{"float": float64(i) / 3, "int": i, "uint": uint64(i) << 40, "bool": i%2 == 0, "text": `quote " and \`},
				start.Add(time.Duration(i)*time.Second)))
		}
		require.NoError(t, client.WriteAPIBlocking("org", "bucket").WritePoint(context.Background(), points[:250]...))
		batching := client.WriteAPI("org", "bucket")
		failures := batching.Errors()
		go func() {
			for err := range failures {
				t.Errorf("batching writer: %s", err)
			}
		}()
		for _, p := range points[250:] {
			batching.WritePoint(p)
		}
		batching.Flush()
	}
	inEveryState(t, v, func(t *testing.T) {
		for _, tag := range []string{"false", "true"} {
			for field, value := range map[string]func(i int) float64{
				"float": func(i int) float64 { return float64(i) / 3 },
				"int":   func(i int) float64 { return float64(i) },
				"uint":  func(i int) float64 { return float64(uint64(i) << 40) },
				"bool":  func(i int) float64 { return float64(1 - i%2) },
			} {
				got := v.RemoteRead(t, harness.Streamed, start.UnixMilli(), start.UnixMilli()+500_000,
					harness.Eq("__name__", "client metric_"+field), harness.Eq("zipped", tag))
				require.Len(t, got, 5, field)
				for k, s := range got {
					require.Equal(t, fmt.Sprintf(`a=b \c%d`, k), s.Labels.Get("host, name"))
					require.Equal(t, "é", s.Labels.Get("sp ace"))
					require.Len(t, s.Points, 100)
					for n, p := range s.Points {
						i := n*5 + k
						require.Equal(t, harness.RemotePoint{T: start.UnixMilli() + int64(i)*1000, V: value(i)}, p)
					}
				}
			}
			require.Empty(t, v.LabelSets(t, "match[]", `{__name__="client metric_text"}`), "string fields are skipped")
		}
	})
}

// What Telegraf asks before it writes is answered.
func TestTelegrafProbes(t *testing.T) {
	v := harness.StartVarve(t)
	v.Post(t, "/query?q=CREATE+DATABASE+%22telegraf%22", "", nil).Require(t, http.StatusOK)
	v.Get(t, "/query", "q", "SHOW DATABASES").Require(t, http.StatusOK)
	require.NotEmpty(t, v.Get(t, "/ping").Require(t, http.StatusNoContent).Header.Get("X-Influxdb-Version"))
	v.Get(t, "/api/v2/buckets", "name", "telegraf").Require(t, http.StatusOK)
	v.Post(t, "/write?consistency=any&db=telegraf&precision=ns", "text/plain; charset=utf-8", fmt.Appendf(nil, "cpu,cpu=cpu0,host=h usage_idle=99.5 %d\n", time.Now().UnixNano())).Require(t, http.StatusNoContent)
	require.Equal(t, []string{`{__name__="cpu_usage_idle", cpu="cpu0", db="telegraf", host="h"} 99.5`},
		v.Query(t, "cpu_usage_idle", seconds(time.Now().Unix()+1)).Values())
}
