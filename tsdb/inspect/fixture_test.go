package inspect

import (
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// day is 2024-02-29T00:00:00Z.
const day = int64(1709164800000)

// buildStore fills a store in fsys with two days of samples in parts, a delete
// that hides some of them, and frames of all kinds in the log. It is left as a
// running one is.
func buildStore(t testing.TB, fsys vfs.FS, dir string) *tsdb.DB {
	t.Helper()
	db, err := tsdb.Open(dir, tsdb.Options{FS: fsys, Sync: tsdb.SyncAlways(), MinFree: -1})
	require.NoError(t, err)
	up := labels.FromStrings("__name__", "up", "job", "a")
	for d := range int64(2) {
		write(t, db, func(b *tsdb.Batch) {
			for i := range int64(4) {
				float(t, b, up, 0, day+d*86400000+i*15000, 1)
				float(t, b, labels.FromStrings("__name__", "requests_total", "job", "a", "path", "/"), day, day+d*86400000+i*15000, float64(i)*1.5)
			}
			if d == 0 {
				s, err := b.Series(labels.FromStrings("__name__", "latency", "job", "b"))
				require.NoError(t, err)
				require.NoError(t, b.Histogram(s, 0, day+1000, testHistogram()))
				require.NoError(t, b.Exemplar(s, exemplar.Exemplar{Labels: labels.FromStrings("trace_id", "abc"), Value: 0.5, Ts: day + 1000, HasTs: true}))
			}
			require.NoError(t, b.Metadata("up", metadata.Metadata{Type: "gauge", Help: "Whether it is up."}))
		})
	}
	require.NoError(t, db.ForceFlush(t.Context()))
	require.NoError(t, db.Delete(t.Context(), day, day+15000, labels.MustNewMatcher(labels.MatchRegexp, "job", "a|c")))
	for i := range int64(3) {
		write(t, db, func(b *tsdb.Batch) {
			float(t, b, up, 0, day+2*86400000+i, float64(i))
			s, err := b.Series(labels.FromStrings("__name__", "latency", "job", "b"))
			require.NoError(t, err)
			require.NoError(t, b.FloatHistogram(s, 0, day+2*86400000+i, testHistogram().ToFloat(nil)))
			require.NoError(t, b.Metadata("latency", metadata.Metadata{Type: "histogram", Unit: "seconds"}))
		})
	}
	return db
}

func testHistogram() *histogram.Histogram {
	return &histogram.Histogram{
		Schema: 1, Count: 4, Sum: 2.5, ZeroThreshold: 0.001, ZeroCount: 1,
		PositiveSpans: []histogram.Span{{Offset: 0, Length: 2}}, PositiveBuckets: []int64{1, 1},
	}
}

func write(t testing.TB, db *tsdb.DB, fill func(*tsdb.Batch)) {
	t.Helper()
	b := db.Batch()
	fill(b)
	require.NoError(t, b.Commit(t.Context()))
}

func float(t testing.TB, b *tsdb.Batch, lset labels.Labels, st, at int64, v float64) {
	t.Helper()
	s, err := b.Series(lset)
	require.NoError(t, err)
	require.NoError(t, b.Float(s, st, at, v))
}

// The fixtures. Released formats stay readable, so they are not made anew once
// they are there.
const (
	fixture1 = "testdata/store"  // as buildStore left it, in the first version of each format
	fixture2 = "testdata/store2" // as buildRich left it: parts of format 2, indexes of version 3, frames of columns
)

// TestRewriteFixture makes the newer fixture anew when INSPECT_FIXTURE is set.
func TestRewriteFixture(t *testing.T) {
	if os.Getenv("INSPECT_FIXTURE") == "" {
		t.Skip("INSPECT_FIXTURE is not set")
	}
	mem := vfs.NewMem()
	db := buildRich(t, mem, "db")
	require.NoError(t, os.RemoveAll(fixture2))
	copyTree(t, mem, "db", vfs.OS{}, fixture2)
	require.NoError(t, db.Close())
}

// buildRich is buildStore and then a day with samples that are coded in many
// ways, enough of them that blocks have checksums of their own.
func buildRich(t testing.TB, fsys vfs.FS, dir string) *tsdb.DB {
	t.Helper()
	db := buildStore(t, fsys, dir)
	r := rand.New(rand.NewPCG(1, 2))
	write(t, db, func(b *tsdb.Batch) {
		for host := range 3 {
			name := func(metric string) labels.Labels {
				return labels.FromStrings("__name__", metric, "host", string(rune('a'+host)), "job", "node")
			}
			total := 0
			for i := range int64(1000) {
				at := day + 3*86400000 + i*15000
				total += r.IntN(50)
				float(t, b, name("build_info"), 0, at, 1)
				float(t, b, name("bytes_total"), 0, at, float64(total))
				float(t, b, name("noise"), 0, at, r.NormFloat64())
				float(t, b, name("temperature"), 0, at+int64(r.IntN(20)), float64(r.IntN(200))/10)
				if i%100 == 99 {
					float(t, b, name("bytes_total"), 0, at+1, math.Float64frombits(value.StaleNaN))
				}
			}
		}
	})
	require.NoError(t, db.ForceFlush(t.Context()))
	write(t, db, func(b *tsdb.Batch) {
		float(t, b, labels.FromStrings("__name__", "up", "job", "a"), 0, day+4*86400000, 1)
		float(t, b, labels.FromStrings("__name__", "up", "job", "b"), 0, day+4*86400000, 0)
	})
	return db
}

func loadFixture(t testing.TB, name string) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	copyTree(t, vfs.OS{}, filepath.ToSlash(name), mem, "db")
	return mem
}

func copyTree(t testing.TB, from vfs.FS, source string, to vfs.FS, target string) {
	t.Helper()
	require.NoError(t, to.MkdirAll(target))
	names, err := from.List(source)
	require.NoError(t, err)
	for _, name := range names {
		info, err := from.Stat(path.Join(source, name))
		require.NoError(t, err)
		switch {
		case info.IsDir():
			copyTree(t, from, path.Join(source, name), to, path.Join(target, name))
		case name != "LOCK":
			data, err := vfs.ReadFile(from, path.Join(source, name))
			require.NoError(t, err)
			writeFile(t, to, path.Join(target, name), data)
		}
	}
}

func writeFile(t testing.TB, fsys vfs.FS, name string, data []byte) {
	t.Helper()
	f, err := fsys.Create(name)
	require.NoError(t, err)
	_, err = f.Write(data)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// tree returns the content of every file below dir.
func tree(t testing.TB, fsys vfs.FS, dir string, into map[string]string) map[string]string {
	t.Helper()
	names, err := fsys.List(dir)
	require.NoError(t, err)
	for _, name := range names {
		name = path.Join(dir, name)
		info, err := fsys.Stat(name)
		require.NoError(t, err)
		if info.IsDir() {
			into[name] = fs.ModeDir.String()
			tree(t, fsys, name, into)
			continue
		}
		data, err := vfs.ReadFile(fsys, name)
		require.NoError(t, err)
		into[name] = string(data)
	}
	return into
}
