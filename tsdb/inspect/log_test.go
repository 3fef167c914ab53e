package inspect

import (
	"math"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/record"
	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/internal/wal"
)

func TestFramesOfColumns(t *testing.T) {
	mem := vfs.NewMem()
	l, err := wal.Open(mem, "db/wal", wal.Options{})
	require.NoError(t, err)
	var e record.ColumnEncoder
	e.Series(1, labels.FromStrings("__name__", "up", "job", "a"))
	e.Float(1, 0, day, 1)
	e.Float(1, day-5, day+1000, 0.25)
	e.Float(1, 0, day+1500, math.Float64frombits(value.StaleNaN))
	e.Float(1, 0, day+1600, math.NaN())
	e.Histogram(1, 0, day+2000, testHistogram())
	e.FloatHistogram(1, 0, day+3000, testHistogram().ToFloat(nil))
	e.Exemplar(1, exemplar.Exemplar{Labels: labels.FromStrings("trace_id", "abc"), Value: 0.5, Ts: day, HasTs: true})
	e.Metadata("up", metadata.Metadata{Type: "gauge", Help: "Whether it is up."})
	_, err = l.Append(1, record.TypeColumns, 0, e.Bytes())
	require.NoError(t, err)
	e.Reset()
	e.Float(2, 0, day, 1)
	_, err = l.Append(1, record.TypeColumns, 0, e.Bytes())
	require.NoError(t, err)
	_, err = l.Append(1, record.TypeColumns, 0, e.Bytes()[1:])
	require.NoError(t, err)
	require.NoError(t, l.Close())

	store, err := open(mem, "db")
	require.NoError(t, err)
	var out strings.Builder
	require.ErrorIs(t, store.DumpLog(&out, true, 0), ErrDamage)
	require.Equal(t, `segment 1 offset 36 frame 1: 225 bytes: 1 definitions, 4 floats, 2 histograms, 1 exemplars, 1 metadata, 0 deletes
  series 1 {__name__="up", job="a"}
  float 1 1709164800000 1
  float 1 1709164801000 since 1709164799995 0.25
  float 1 1709164801500 stale
  float 1 1709164801600 NaN 7ff8000000000001
  histogram 1 1709164802000 {count:4, sum:2.5, [-0.001,0.001]:1, (0.7071067811865475,1]:1, (1,1.414213562373095]:2} hint 0
  float histogram 1 1709164803000 {count:4, sum:2.5, [-0.001,0.001]:1, (0.7071067811865475,1]:1, (1,1.414213562373095]:2} hint 0
  exemplar 1 1709164800000 0.5 {trace_id="abc"}
  metadata up type "gauge" unit "" help "Whether it is up."
segment 1 offset 279 frame 2: 13 bytes: 0 definitions, 1 floats, 0 histograms, 0 exemplars, 0 metadata, 0 deletes
  float 2 1709164800000 1
segment 1 offset 310 frame 3: 12 bytes: 0 definitions, 0 floats, 0 histograms, 0 exemplars, 0 metadata, 0 deletes
DAMAGE log: segment 1 at offset 310: frame 3: corrupt log record: bytes after the sections
`, out.String())

	out.Reset()
	require.ErrorIs(t, store.VerifyLog(&out), ErrDamage)
	require.Equal(t, `DAMAGE log: segment 1 at offset 310: frame 3: corrupt log record: bytes after the sections
DAMAGE log: 1 items of series that no frame before them defines, the first at segment 1 offset 279
`, out.String())
}
