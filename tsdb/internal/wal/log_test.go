package wal

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

func mustOpen(t testing.TB, fsys vfs.FS, dir string, opts Options) *Log {
	t.Helper()
	l, err := Open(fsys, dir, opts)
	require.NoError(t, err)
	_, err = l.Replay(0, func(Frame) error { return nil })
	require.NoError(t, err)
	return l
}

func TestAppendContract(t *testing.T) {
	mem := vfs.NewMem()
	l, err := Open(mem, "wal", Options{MaxFrameBytes: 10})
	require.NoError(t, err)
	require.EqualValues(t, 1, l.Segment())
	require.EqualValues(t, 0, l.LastSeq())

	_, err = l.Append(2, 0, 0, nil)
	require.ErrorIs(t, err, ErrSegmentChanged)
	_, err = l.Append(1, 0, 0, make([]byte, 11))
	require.ErrorIs(t, err, ErrFrameTooLarge)
	seq, err := l.Append(1, 0, 0, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, seq)
	require.Error(t, l.SyncTo(2), "no such frame yet")
	segment, total := l.SizeBytes()
	require.EqualValues(t, segmentHeaderSize+frameHeaderSize, segment)
	require.Equal(t, segment, total)

	number, err := l.Rotate()
	require.NoError(t, err)
	require.EqualValues(t, 2, number)
	number, err = l.Rotate()
	require.NoError(t, err)
	require.EqualValues(t, 2, number, "a segment without frames stays the current one")
	segment, total = l.SizeBytes()
	require.Zero(t, segment)
	require.EqualValues(t, segmentHeaderSize+frameHeaderSize, total)
	_, err = l.Replay(0, func(Frame) error { return nil })
	require.NoError(t, err, "nothing was appended to the segment in hand")
	_, err = l.Append(2, 0, 0, nil)
	require.NoError(t, err)
	_, err = l.Replay(0, func(Frame) error { return nil })
	require.Error(t, err)

	require.NoError(t, l.Close())
	require.ErrorIs(t, l.Close(), ErrClosed)
	_, err = l.Append(2, 0, 0, nil)
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, l.Sync(), ErrClosed)
	require.NoError(t, l.SyncTo(2), "it was synced by Close")
	_, err = l.Rotate()
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, l.Release(1), ErrClosed)

	l, err = Open(mem, "wal", Options{})
	require.NoError(t, err)
	_, err = l.Append(l.Segment(), 0, 0, nil)
	require.ErrorIs(t, err, ErrNotReplayed)
	require.ErrorIs(t, l.Release(9), ErrNotReplayed)
	errStop := errors.New("stop")
	_, err = l.Replay(0, func(Frame) error { return errStop })
	require.ErrorIs(t, err, errStop)
	_, err = l.Append(l.Segment(), 0, 0, nil)
	require.ErrorIs(t, err, ErrNotReplayed)
	report, err := l.Replay(1, func(Frame) error { return nil })
	require.NoError(t, err)
	require.EqualValues(t, 1, report.Frames)
	require.EqualValues(t, 2, report.LastSeq)
	seq, err = l.Append(l.Segment(), 0, 0, nil)
	require.NoError(t, err)
	require.EqualValues(t, 3, seq)
	require.NoError(t, l.Close())

	_, err = Open(mem, "wal", Options{SegmentBytes: -1, MaxFrameBytes: -1})
	require.ErrorContains(t, err, "segment bytes")
	require.ErrorContains(t, err, "max frame bytes")
}

// TestLargeFrames: frames beyond the window of the reader come back, and are
// found behind damage.
func TestLargeFrames(t *testing.T) {
	fsys := vfs.OS{}
	dir := t.TempDir()
	l := mustOpen(t, fsys, dir, Options{})
	sizes := []int{0, 1, windowBytes - frameHeaderSize, windowBytes - frameHeaderSize + 1, 3*windowBytes + 5, 7, 2 << 20, 100}
	var offsets []int64
	for i, size := range sizes {
		segment, _ := l.SizeBytes()
		offsets = append(offsets, max(segment, segmentHeaderSize))
		_, err := l.Append(1, uint8(i), 0, payloadOf(uint64(i+1), size))
		require.NoError(t, err)
	}
	require.NoError(t, l.Close())
	scan := func() (got []int, report ReplayReport) {
		report, err := Scan(fsys, dir, func(f Frame) error {
			require.True(t, bytes.Equal(payloadOf(f.Seq, len(f.Payload)), f.Payload))
			require.Equal(t, offsets[f.Seq-1], f.Offset)
			got = append(got, len(f.Payload))
			return nil
		})
		require.NoError(t, err)
		return got, report
	}
	got, report := scan()
	require.Equal(t, sizes, got)
	require.Zero(t, report.CorruptionCount)

	name := dir + "/" + SegmentName(1)
	data, err := vfs.ReadFile(fsys, name)
	require.NoError(t, err)
	data[offsets[4]+1000] ^= 1
	data[offsets[6]+1<<20] ^= 1
	require.NoError(t, vfs.WriteFileAtomic(fsys, name, data))
	got, report = scan()
	require.Equal(t, []int{0, 1, sizes[2], sizes[3], 7, 100}, got)
	require.Equal(t, 2, report.CorruptionCount)
	require.EqualValues(t, 7, report.Corruptions[1].SeqFrom)
	require.Nil(t, report.Torn)
}

// TestHostilePayload: frames inside the payload of a damaged frame are not
// taken for frames unless their numbers fit, and do not cost quadratic time.
func TestHostilePayload(t *testing.T) {
	var inner []byte
	for seq := range uint64(2000) {
		frame := make([]byte, frameHeaderSize)
		frameHeader{seq: 1_000_000 + seq}.put(frame, 0)
		inner = append(inner, frame...)
	}
	mem := vfs.NewMem()
	l := mustOpen(t, mem, "wal", Options{})
	for _, p := range [][]byte{[]byte("one"), inner, []byte("three")} {
		_, err := l.Append(1, 0, 0, p)
		require.NoError(t, err)
	}
	require.NoError(t, l.Close())
	name := "wal/" + SegmentName(1)
	data, err := vfs.ReadFile(mem, name)
	require.NoError(t, err)
	data[segmentHeaderSize+2*frameHeaderSize+3+5] ^= 1
	require.NoError(t, vfs.WriteFileAtomic(mem, name, data))
	var seqs []uint64
	_, err = Scan(mem, "wal", func(f Frame) error { seqs = append(seqs, f.Seq); return nil })
	require.NoError(t, err)
	require.Equal(t, []uint64{1, 3}, seqs)
}

// TestHostileSegment: a segment full of headers that might be frames is given
// up for lost after bounded work.
func TestHostileSegment(t *testing.T) {
	const size = 4 << 20
	data := make([]byte, 0, size)
	for len(data) < size-frameHeaderSize {
		frame := make([]byte, frameHeaderSize)
		frameHeader{seq: 5, payloadLen: uint32(size-len(data)) / 2}.put(frame, 0)
		data = append(data, frame...)
	}
	r := newSegmentReader(memFile(t, data), int64(len(data)))
	_, found, err := r.resync(0, seqRange{max: math.MaxUint64})
	require.NoError(t, err)
	require.False(t, found)
	require.Negative(t, r.resyncBudget, "the budget ended the search")
}

func memFile(t *testing.T, data []byte) vfs.File {
	f, err := vfs.NewMem().Create("a")
	require.NoError(t, err)
	_, err = f.Write(data)
	require.NoError(t, err)
	return f
}

// TestQuarantineFails: a damaged segment that cannot be copied is not deleted
// until it can.
func TestQuarantineFails(t *testing.T) {
	mem := vfs.NewMem()
	l := mustOpen(t, mem, "wal", Options{})
	for range 3 {
		_, err := l.Append(1, 0, 0, []byte("payload"))
		require.NoError(t, err)
	}
	require.NoError(t, l.Close())
	name := "wal/" + SegmentName(1)
	data, err := vfs.ReadFile(mem, name)
	require.NoError(t, err)
	data[segmentHeaderSize+20] ^= 1
	require.NoError(t, vfs.WriteFileAtomic(mem, name, data))

	fault := vfs.NewFault(mem)
	fault.FailIf(func(op vfs.Op) error {
		if op.Kind == vfs.OpLink || op.Kind == vfs.OpCreate {
			return vfs.ErrNoSpace
		}
		return nil
	})
	l, err = Open(fault, "wal", Options{Quarantine: "bad/wal"})
	require.NoError(t, err)
	report, err := l.Replay(0, func(Frame) error { return nil })
	require.NoError(t, err)
	require.Equal(t, 1, report.CorruptionCount)
	require.ErrorIs(t, report.QuarantineErr, vfs.ErrNoSpace)
	require.ErrorIs(t, l.Release(100), vfs.ErrNoSpace)
	_, err = mem.Stat(name)
	require.NoError(t, err)

	fault.FailIf(func(op vfs.Op) error { // copied where links are not to be had
		if op.Kind == vfs.OpLink {
			return errors.ErrUnsupported
		}
		return nil
	})
	require.NoError(t, l.Release(100))
	_, err = mem.Stat(name)
	require.Error(t, err)
	kept, err := vfs.ReadFile(mem, "bad/wal/"+SegmentName(1))
	require.NoError(t, err)
	require.Equal(t, data, kept)
	require.NoError(t, l.Close())
}

// TestGroupCommit appends and syncs from many goroutines at once: each number
// is given once and frames of one goroutine keep their order, while segments
// change under them.
func TestGroupCommit(t *testing.T) {
	const writers, frames = 8, 60
	mem := vfs.NewMem()
	fault := vfs.NewFault(mem)
	var syncs atomic.Int64
	fault.FailIf(func(op vfs.Op) error {
		if op.Kind == vfs.OpSync {
			syncs.Add(1)
		}
		return nil
	})
	l := mustOpen(t, fault, "wal", Options{SegmentBytes: 4000})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range frames {
				seq, err := appendRetry(l, uint8(w), fmt.Appendf(nil, "%d", i))
				if err == nil {
					err = l.SyncTo(seq)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	stop := make(chan struct{})
	var rotator sync.WaitGroup
	rotator.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := l.Rotate(); err != nil {
				t.Error(err)
			}
			l.SizeBytes()
			if err := l.Sync(); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	close(stop)
	rotator.Wait()
	require.NoError(t, l.Close())

	next := map[uint8]int{}
	want := uint64(1)
	_, err := Scan(mem, "wal", func(f Frame) error {
		require.Equal(t, want, f.Seq)
		want++
		require.Equal(t, fmt.Sprint(next[f.Type]), string(f.Payload))
		next[f.Type]++
		return nil
	})
	require.NoError(t, err)
	require.EqualValues(t, writers*frames, want-1)
	t.Logf("%d fsyncs for %d frames", syncs.Load(), writers*frames)
}

func appendRetry(l *Log, typ uint8, payload []byte) (uint64, error) {
	for {
		seq, err := l.Append(l.Segment(), typ, 0, payload)
		if !errors.Is(err, ErrSegmentChanged) {
			return seq, err
		}
	}
}

// slowSync is a file system whose fsync waits until it is told to go on.
type slowSync struct {
	vfs.FS
	entered, leave chan struct{}
}

type slowFile struct {
	vfs.File
	fs *slowSync
}

func (s *slowSync) Create(name string) (vfs.File, error) {
	f, err := s.FS.Create(name)
	return slowFile{f, s}, err
}

func (f slowFile) Sync() error {
	f.fs.entered <- struct{}{}
	<-f.fs.leave
	return f.File.Sync()
}

// TestAppendDuringSync: appends go on while an fsync runs, a frame appended
// after it began waits for the next one, and that one serves all.
func TestAppendDuringSync(t *testing.T) {
	fsys := &slowSync{FS: vfs.NewMem(), entered: make(chan struct{}), leave: make(chan struct{})}
	l := mustOpen(t, fsys, "wal", Options{})
	appendOne := func() uint64 {
		seq, err := l.Append(1, 0, 0, []byte("x"))
		require.NoError(t, err)
		return seq
	}
	done := make(chan error, 10)
	first := appendOne()
	go func() { done <- l.SyncTo(first) }()
	<-fsys.entered
	for range 5 {
		seq := appendOne() // not held up by the fsync that runs
		go func() { done <- l.SyncTo(seq) }()
	}
	select {
	case <-done:
		t.Fatal("no fsync has ended yet")
	default:
	}
	fsys.leave <- struct{}{}
	require.NoError(t, <-done)
	<-fsys.entered
	fsys.leave <- struct{}{}
	for range 5 { // a third fsync would block for ever
		require.NoError(t, <-done)
	}
}

// TestFailedSync: an fsync that failed is not tried again on that file, and
// what it was about is never called durable.
func TestFailedSync(t *testing.T) {
	mem := vfs.NewMem()
	fault := vfs.NewFault(mem)
	l := mustOpen(t, fault, "wal", Options{})
	_, err := l.Append(1, 0, 0, []byte("one"))
	require.NoError(t, err)
	require.NoError(t, l.SyncTo(1))
	_, err = l.Append(1, 0, 0, []byte("two"))
	require.NoError(t, err)

	synced := map[string]int{}
	broken := true
	fault.FailIf(func(op vfs.Op) error {
		if op.Kind != vfs.OpSync {
			return nil
		}
		synced[op.Name]++
		if broken {
			return errBroken
		}
		return nil
	})
	err = l.SyncTo(2)
	require.ErrorIs(t, err, ErrLogFailed)
	require.ErrorIs(t, err, errBroken)
	broken = false
	require.NoError(t, l.SyncTo(1), "it was synced before")
	require.ErrorIs(t, l.SyncTo(2), ErrLogFailed)
	require.ErrorIs(t, l.Sync(), errBroken)
	_, err = l.Append(1, 0, 0, []byte("refused"))
	require.ErrorIs(t, err, ErrLogFailed)

	segment, err := l.Rotate()
	require.NoError(t, err)
	require.EqualValues(t, 2, segment)
	require.ErrorIs(t, l.SyncTo(2), ErrLogFailed)
	seq, err := l.Append(2, 0, 0, []byte("three"))
	require.NoError(t, err)
	require.NoError(t, l.SyncTo(seq))
	require.NoError(t, l.Release(2))
	require.NoError(t, l.Close())
	require.Equal(t, map[string]int{"wal/" + SegmentName(1): 1, "wal/" + SegmentName(2): 2}, synced)
}

// Definitions are repeated in each segment; they must not fill it.
func TestDefinitionsDoNotFillASegment(t *testing.T) {
	l := mustOpen(t, vfs.NewMem(), "wal", Options{SegmentBytes: 1000})
	frame := func(size, definitions int) uint64 {
		_, err := l.AppendFrame(l.Segment(), 1, 0, make([]byte, FrameRoom+size), definitions)
		require.NoError(t, err)
		return l.Segment()
	}
	require.EqualValues(t, 1, frame(5000, 5000), "all of it definitions")
	require.EqualValues(t, 1, frame(3000, 0), "less than the definitions")
	require.EqualValues(t, 2, frame(2000, 0), "as much as the definitions")
	require.EqualValues(t, 2, frame(700, 100))
	require.EqualValues(t, 3, frame(400, 0), "the limit without the definitions")
}

func TestAppendFrameOverwritesTheRoom(t *testing.T) {
	mem := vfs.NewMem()
	l := mustOpen(t, mem, "wal", Options{})
	frame := append(bytes.Repeat([]byte{0xff}, FrameRoom), payloadOf(1, 50)...)
	_, err := l.AppendFrame(1, 1, 0, frame, 10)
	require.NoError(t, err)
	_, err = l.AppendFrame(1, 2, 0, frame[:FrameRoom], 0)
	require.NoError(t, err)
	require.NoError(t, l.Close())
	var seqs []uint64
	_, err = Scan(mem, "wal", func(f Frame) error {
		seqs = append(seqs, f.Seq)
		require.Equal(t, payloadOf(1, len(f.Payload)), f.Payload)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []uint64{1, 2}, seqs)
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{200, 4 << 10, 16 << 10, 64 << 10} {
		payload := payloadOf(1, size)
		frame := append(make([]byte, FrameRoom), payload...)
		run := func(name string, fsys vfs.FS, dir string, syncEach, inPlace bool) {
			b.Run(fmt.Sprintf("%s/size=%d", name, size), func(b *testing.B) {
				l := mustOpen(b, fsys, dir, Options{})
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					var seq uint64
					var err error
					if inPlace {
						seq, err = l.AppendFrame(l.Segment(), 0, 0, frame, 0)
					} else {
						seq, err = appendRetry(l, 0, payload)
					}
					if err == nil && syncEach {
						err = l.SyncTo(seq)
					}
					if err != nil {
						b.Fatal(err)
					}
					if _, total := l.SizeBytes(); total > 256<<20 {
						require.NoError(b, l.Release(seq))
					}
				}
				require.NoError(b, l.Close())
			})
		}
		run("os", vfs.OS{}, b.TempDir(), false, false)
		run("os-frame", vfs.OS{}, b.TempDir(), false, true)
		run("os-sync", vfs.OS{}, b.TempDir(), true, true)
	}
}
