package inspect

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
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
	e.Histogram(1, 0, day+2000, testHistogram())
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
	require.Equal(t, `segment 1 offset 36 frame 1: 88 bytes: 1 definitions, 2 floats, 1 histograms, 0 exemplars, 0 metadata, 0 deletes
  series 1 {__name__="up", job="a"}
  float 1 1709164800000 1
  float 1 1709164801000 since 1709164799995 0.25
  histogram 1 1709164802000 {count:4, sum:2.5, [-0.001,0.001]:1, (0.7071067811865475,1]:1, (1,1.414213562373095]:2} hint 0
segment 1 offset 142 frame 2: 13 bytes: 0 definitions, 1 floats, 0 histograms, 0 exemplars, 0 metadata, 0 deletes
  float 2 1709164800000 1
segment 1 offset 173 frame 3: 12 bytes: 0 definitions, 0 floats, 0 histograms, 0 exemplars, 0 metadata, 0 deletes
DAMAGE log: segment 1 at offset 173: frame 3: corrupt log record: bytes after the sections
`, out.String())

	out.Reset()
	require.ErrorIs(t, store.VerifyLog(&out), ErrDamage)
	require.Equal(t, `DAMAGE log: segment 1 at offset 173: frame 3: corrupt log record: bytes after the sections
DAMAGE log: 1 items of series that no frame before them defines, the first at segment 1 offset 142
`, out.String())
}
