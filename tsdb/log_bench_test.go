package tsdb

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/record"
	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/internal/wal"
)

// BenchmarkReadLog reads and decodes a log of small integers of 1000 series, in
// frames of many samples and of few: what a replay costs before the head.
func BenchmarkReadLog(b *testing.B) {
	const samples = 2_000_000
	for _, perFrame := range []int{100, 10_000} {
		dir := b.TempDir()
		b.Run(fmt.Sprintf("frame=%d", perFrame), func(b *testing.B) {
			var e record.ColumnEncoder
			var frame []byte
			writeLog(b, dir, samples, perFrame, func(ref uint32, t int64, v float64) { e.Float(ref, 0, t, v) }, func(l *wal.Log) error {
				frame = e.AppendTo(append(frame[:0], make([]byte, wal.FrameRoom)...))
				_, err := l.AppendFrame(l.Segment(), record.TypeColumns, 0, frame, e.DefinitionBytes())
				e.Reset()
				return err
			})
			type decoded struct {
				record.Columns
				err error
			}
			readLog(b, dir, samples, func(l *wal.Log) (n int, err error) {
				_, err = wal.ReplayAhead(l, 0, func(f wal.Frame, d *decoded) {
					d.err = record.DecodeColumns(f.Payload, &d.Columns)
				}, func(_ wal.Frame, d *decoded) error {
					n += len(d.Values)
					return d.err
				})
				return n, err
			})
		})
	}
}

func writeLog(b *testing.B, dir string, samples, perFrame int, add func(ref uint32, t int64, v float64), end func(*wal.Log) error) {
	l, err := wal.Open(vfs.OS{}, dir, wal.Options{})
	require.NoError(b, err)
	_, err = l.Replay(0, func(wal.Frame) error { return nil })
	require.NoError(b, err)
	if l.LastSeq() == 0 {
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range samples {
			add(uint32(i%1000), 1700000000000+int64(i/1000)*10000, float64(rng.IntN(101)))
			if (i+1)%perFrame == 0 {
				require.NoError(b, end(l))
			}
		}
	}
	require.NoError(b, l.Close())
}

func readLog(b *testing.B, dir string, samples int, read func(*wal.Log) (int, error)) {
	for b.Loop() {
		l, err := wal.Open(vfs.OS{}, dir, wal.Options{})
		require.NoError(b, err)
		n, err := read(l)
		require.NoError(b, err)
		require.Equal(b, samples, n)
		require.NoError(b, l.Close())
	}
	b.ReportMetric(float64(samples)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msamples/s")
}
