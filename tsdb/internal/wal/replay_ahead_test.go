package wal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// replayed is what a replay handed over and left.
type replayed struct {
	frames []Frame
	report ReplayReport
	err    string
	next   uint64
	files  map[string][]byte
}

type decodedFrame struct {
	sum  uint32
	copy []byte
}

// replayBoth opens copies of a log, replays them one frame at a time and ahead,
// and requires the same of both. apply may fail.
func replayBoth(t *testing.T, segments [][]byte, after uint64, workers int, apply func(Frame) error) replayed {
	t.Helper()
	run := func(replay func(*Log, *replayed) (ReplayReport, error)) replayed {
		mem := vfs.NewMem()
		require.NoError(t, mem.MkdirAll("wal"))
		for i, data := range segments {
			require.NoError(t, vfs.WriteFileAtomic(mem, "wal/"+SegmentName(uint64(i)+1), data))
		}
		l, err := Open(mem, "wal", Options{Quarantine: "quarantine"})
		require.NoError(t, err)
		var out replayed
		out.report, err = replay(l, &out)
		if err != nil {
			out.err = err.Error()
			out.report = ReplayReport{} // may be ahead
		}
		out.next = l.LastSeq()
		out.files = map[string][]byte{}
		names, err := mem.List("wal")
		require.NoError(t, err)
		for _, name := range names {
			out.files[name], err = vfs.ReadFile(mem, "wal/"+name)
			require.NoError(t, err)
		}
		return out
	}
	take := func(f Frame, out *replayed) error {
		if err := apply(f); err != nil {
			return err
		}
		f.Payload = append([]byte{}, f.Payload...)
		out.frames = append(out.frames, f)
		return nil
	}
	want := run(func(l *Log, out *replayed) (ReplayReport, error) {
		return l.Replay(after, func(f Frame) error { return take(f, out) })
	})
	got := run(func(l *Log, out *replayed) (ReplayReport, error) {
		return replayAhead(l, after, workers, func(f Frame, d *decodedFrame) {
			d.copy = append(d.copy[:0], f.Payload...)
			d.sum = crcSlow(f.Payload)
		}, func(f Frame, d *decodedFrame) error {
			require.Equal(t, crcSlow(f.Payload), d.sum)
			require.True(t, bytes.Equal(f.Payload, d.copy))
			return take(f, out)
		})
	})
	require.Equal(t, want, got)
	return got
}

// randomSegments makes three segments of frames of all sizes.
func randomSegments(rng *rand.Rand) [][]byte {
	var segments [][]byte
	base := uint64(1)
	for range 3 {
		var payloads [][]byte
		for range 1 + rng.Intn(150) {
			size := rng.Intn(200)
			if rng.Intn(20) == 0 {
				size = rng.Intn(80 << 10)
			}
			payloads = append(payloads, payloadOf(base+uint64(len(payloads)), size))
		}
		data, _ := encodeSegment(base, payloads...)
		segments = append(segments, data)
		base += uint64(len(payloads))
	}
	return segments
}

func TestReplayAheadTwin(t *testing.T) {
	for seed := range int64(40) {
		rng := rand.New(rand.NewSource(seed))
		segments := randomSegments(rng)
		for range rng.Intn(3) { // damage, a torn end among it
			s := segments[rng.Intn(3)]
			s[segmentHeaderSize+rng.Intn(len(s)-segmentHeaderSize)] ^= 0x10
		}
		after, workers := uint64(rng.Intn(200)), 1+rng.Intn(4)
		got := replayBoth(t, segments, after, workers, func(Frame) error { return nil })
		require.NotEmpty(t, got.frames)
		require.Empty(t, got.err)

		stopAt := got.frames[rng.Intn(len(got.frames))].Seq
		cause := errors.New("no room")
		got = replayBoth(t, segments, after, workers, func(f Frame) error {
			if f.Seq == stopAt {
				return cause
			}
			return nil
		})
		require.Contains(t, got.err, "no room")
		if n := len(got.frames); n > 0 {
			require.Less(t, got.frames[n-1].Seq, stopAt)
		}
	}
}

// A disk that fails in the middle still leaves what was read before applied.
func TestReplayAheadReadError(t *testing.T) {
	mem := vfs.NewMem()
	l := mustOpen(t, mem, "wal", Options{SegmentBytes: 300})
	for seq := uint64(1); seq <= 40; seq++ {
		_, err := l.Append(l.Segment(), 1, 0, payloadOf(seq, 20))
		require.NoError(t, err)
	}
	require.NoError(t, l.Close())
	fault := vfs.NewFault(mem)
	l, err := Open(fault, "wal", Options{})
	require.NoError(t, err)
	most := 0
	for k := 0; ; k++ { // the k-th operation fails
		ops, frames := 0, 0
		fault.FailIf(func(op vfs.Op) error {
			ops++
			if ops == k+1 {
				return fmt.Errorf("%s: %w", op.Name, errBroken)
			}
			return nil
		})
		_, err := replayAhead(l, 0, 3, func(Frame, *int) {}, func(f Frame, _ *int) error {
			frames++
			require.EqualValues(t, frames, f.Seq)
			return nil
		})
		if err == nil {
			require.Equal(t, 40, frames)
			break
		}
		require.ErrorIs(t, err, errBroken)
		if frames < 40 {
			most = max(most, frames)
		}
	}
	require.Positive(t, most, "no failure in the middle")
}
