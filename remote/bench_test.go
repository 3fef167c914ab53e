package remote_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote"
	"github.com/varvedb/varve/tsdb"
)

// discarded is a ResponseWriter of an answer that nobody reads.
type discarded struct {
	header http.Header
	code   int
}

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) Write(p []byte) (int, error) { return len(p), nil }
func (d *discarded) WriteHeader(code int)        { d.code = code }

// BenchmarkLightQueries shows what a query costs that costs little, without what
// net/http does.
func BenchmarkLightQueries(b *testing.B) {
	engine, err := promqlx.New(promqlx.Options{})
	require.NoError(b, err)
	door, err := remote.New(remote.Options{Engine: engine})
	require.NoError(b, err)
	db, err := tsdb.Open(b.TempDir(), tsdb.Options{Sync: tsdb.SyncOff()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	const start, step = 1_700_006_400_000, 10_000
	for host := range 100 {
		batch := db.Batch()
		s, err := batch.Series(labels.FromStrings("__name__", "cpu", "hostname", "host_"+strconv.Itoa(host), "region", "region_"+strconv.Itoa(host%9)))
		require.NoError(b, err)
		for i := range int64(2000) {
			require.NoError(b, batch.Add(s, start+i*step, float64(i%101)))
		}
		require.NoError(b, batch.Commit(b.Context()))
	}
	require.NoError(b, db.ForceFlush(b.Context()))
	door.Open(db)
	for name, path := range map[string]string{
		"number": "query?query=1&time=1700010000",
		"nobody": "query?query=up&time=1700010000",
		"host":   "query_range?query=max+by+(hostname)+(max_over_time(cpu{hostname%3D%22host_7%22}[1m]))&start=1700010000&end=1700013600&step=60",
		"sum":    "query?query=sum+by+(region)+(cpu)&time=1700010000",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := &discarded{header: http.Header{}}
				door.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/"+path, http.NoBody))
				if w.code != 0 && w.code != http.StatusOK {
					b.Fatal(w.code)
				}
			}
		})
	}
}
