package wal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// maxPooledBuffer bounds the buffers that Append keeps for the next frames.
const maxPooledBuffer = 1 << 20

// Log is a write-ahead log that is open for writing. Its methods may be called
// by many goroutines at once, but for Replay.
//
// Lock order: releasing, syncing, mu.
type Log struct {
	fs   vfs.FS
	dir  string
	opts Options

	buffers sync.Pool     // of *[]byte, for frames
	number  atomic.Uint64 // of the current segment; changed under mu

	releasing sync.Mutex // held by Release
	syncing   sync.Mutex // held during an fsync, by Rotate and by Close

	mu struct {
		sync.Mutex
		closed   bool
		replayed bool
		failed   error // cause; wraps ErrLogFailed

		nextSeq uint64
		synced  uint64 // numbers up to it are durable, but for those in lost
		prevSeq uint64 // last number that was not given up

		current  *openSegment
		sealed   []sealedSegment
		unsynced []*openSegment // sealed, but neither synced nor closed
		dirDirty bool           // an entry of dir is not durable
		lost     []seqRangeLost // numbers whose fsync failed
	}
}

// openSegment is a segment that was begun by this process.
type openSegment struct {
	number uint64
	file   vfs.File
	size   int64
	// definitions is how many bytes of it only say again what segments before it
	// said, as the callers of AppendFrame tell.
	definitions int64
	dirty       bool // written to since the last fsync began
}

// full tells whether the segment gets no more frames: what is new in it has reached
// the limit, and half of it. A log of very many series would else hold little but
// what each segment repeats.
func (s *openSegment) full(limit int64) bool {
	return s.size-s.definitions >= max(limit, s.definitions)
}

// sealedSegment is a segment that gets no more frames.
type sealedSegment struct {
	number uint64
	size   int64
	last   uint64 // no frame in it has a higher number
	// unsaved says that it is damaged and not yet in the quarantine.
	unsaved bool
}

type seqRangeLost struct{ from, to uint64 }

// Open opens the log in dir, which is made when missing. It reads the headers
// of the segments only; Replay reads what is in them and must be called before
// the first Append when there are any.
func Open(fsys vfs.FS, dir string, opts Options) (*Log, error) {
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	l := &Log{fs: fsys, dir: dir, opts: opts.withDefaults()}
	if err := vfs.MkdirDurable(fsys, dir); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	// What another process removed shall not come back among new segments.
	if err := fsys.SyncDir(dir); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	segments, err := findSegments(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	quarantined, err := l.listQuarantine()
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	number := uint64(1)
	for _, s := range segments {
		number = max(number, s.number+1)
		l.mu.sealed = append(l.mu.sealed, sealedSegment{number: s.number, size: s.size})
	}
	for kept := range quarantined {
		number = max(number, kept+1)
	}
	l.number.Store(number)
	l.mu.replayed = len(segments) == 0
	l.mu.nextSeq = l.opts.NextSeq
	l.mu.synced = l.mu.nextSeq - 1
	return l, nil
}

// Segment returns the number of the segment that the next Append goes to. It takes
// no lock.
func (l *Log) Segment() uint64 { return l.number.Load() }

// LastSeq returns the number of the last frame that was appended or replayed.
func (l *Log) LastSeq() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.nextSeq - 1
}

// Failed tells whether an fsync failed since the last Rotate.
func (l *Log) Failed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.failed != nil
}

// SizeBytes returns the size of the current segment and of all together.
func (l *Log) SizeBytes() (segment, total int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.mu.sealed {
		total += s.size
	}
	if l.mu.current != nil {
		segment = l.mu.current.size
	}
	return segment, total + segment
}

// FrameRoom is the number of bytes that AppendFrame needs before a payload.
const FrameRoom = frameHeaderSize

// Append is AppendFrame for a payload without room before it, which it copies.
func (l *Log) Append(segment uint64, typ, flags uint8, payload []byte) (seq uint64, err error) {
	frame := l.frameBuffer(FrameRoom + len(payload))
	defer l.putFrameBuffer(frame)
	copy((*frame)[FrameRoom:], payload)
	return l.AppendFrame(segment, typ, flags, *frame, 0)
}

// AppendFrame writes one frame and returns its sequence number. When it returns,
// the frame survives the death of the process; SyncTo makes it survive a power
// loss.
//
// The payload begins at frame[FrameRoom]; the bytes before it are overwritten.
// definitions is how many bytes of it every segment repeats: they count for the
// size of a segment only where they are more than the rest. The frame is not kept.
//
// The caller says which segment it made the payload for. When another one is
// current, AppendFrame returns ErrSegmentChanged and writes nothing. After any
// other error the frame is not acknowledged: it is not in the log, or (where a
// failed write could not be undone, and the segment was given up for it) may come
// back from a replay.
func (l *Log) AppendFrame(segment uint64, typ, flags uint8, frame []byte, definitions int) (seq uint64, err error) {
	payload := frame[FrameRoom:]
	if len(payload) > l.opts.MaxFrameBytes {
		return 0, fmt.Errorf("append to log: %w: got %d bytes, limit %d", ErrFrameTooLarge, len(payload), l.opts.MaxFrameBytes)
	}
	payloadCRC := crc32.Checksum(payload, castagnoli())
	h := frameHeader{payloadLen: uint32(len(payload)), typ: typ, flags: flags}

	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.appendableLocked(segment); err != nil {
		return 0, err
	}
	h.seq = l.mu.nextSeq
	h.put(frame, payloadCRC)
	if err := l.writeLocked(frame); err != nil {
		return 0, fmt.Errorf("append to log: %w", err)
	}
	l.mu.nextSeq++
	l.mu.prevSeq = h.seq
	l.mu.current.definitions += int64(definitions)
	if l.mu.current.full(l.opts.SegmentBytes) {
		l.sealLocked()
	}
	return h.seq, nil
}

func (l *Log) frameBuffer(n int) *[]byte {
	b, ok := l.buffers.Get().(*[]byte)
	if !ok || cap(*b) < n {
		b = new(make([]byte, n))
	}
	*b = (*b)[:n]
	return b
}

func (l *Log) putFrameBuffer(b *[]byte) {
	if cap(*b) <= maxPooledBuffer {
		l.buffers.Put(b)
	}
}

// appendableLocked tells why a frame made for segment cannot be appended now.
func (l *Log) appendableLocked(segment uint64) error {
	switch {
	case l.mu.closed:
		return ErrClosed
	case !l.mu.replayed:
		return ErrNotReplayed
	case l.mu.failed != nil:
		return l.mu.failed
	case segment != l.number.Load():
		return ErrSegmentChanged
	}
	return nil
}

// writeLocked writes a frame to the current segment, which it begins when
// needed. After an error the frame is cut off again, or the segment is sealed
// and the frame's number given up.
func (l *Log) writeLocked(frame []byte) error {
	if err := l.beginLocked(); err != nil {
		return err
	}
	s := l.mu.current
	s.dirty = true
	_, err := s.file.Write(frame)
	if err == nil {
		s.size += int64(len(frame))
		return nil
	}
	if cut := s.file.Truncate(s.size); cut != nil {
		l.mu.nextSeq++ // the frame may be there in full
		l.sealLocked()
		return errors.Join(err, fmt.Errorf("give up segment %d: %w", s.number, cut))
	}
	return err
}

// beginLocked makes the current segment unless it exists.
func (l *Log) beginLocked() error {
	if l.mu.current != nil {
		return nil
	}
	name := l.segmentPath(l.number.Load())
	file, err := l.fs.Create(name)
	if err != nil {
		return fmt.Errorf("begin segment: %w", err)
	}
	l.mu.dirDirty = true
	header := segmentHeader{base: l.mu.nextSeq, prev: l.mu.prevSeq}.append(nil)
	if _, err := file.Write(header); err != nil {
		// The next attempt cuts what may be left of it.
		return errors.Join(fmt.Errorf("begin segment %s: %w", name, err), file.Close(), l.fs.Remove(name))
	}
	l.mu.current = &openSegment{number: l.number.Load(), file: file, size: int64(len(header)), dirty: true}
	return nil
}

func (l *Log) segmentPath(number uint64) string { return path.Join(l.dir, SegmentName(number)) }

// sealLocked ends the current segment; the next Append begins another one.
func (l *Log) sealLocked() {
	s := l.mu.current
	if s == nil {
		return
	}
	l.mu.sealed = append(l.mu.sealed, sealedSegment{number: s.number, size: s.size, last: l.mu.nextSeq - 1})
	l.mu.unsynced = append(l.mu.unsynced, s)
	l.mu.current = nil
	l.number.Add(1)
}

// Rotate seals the current segment: it is fsynced, and the next Append begins a
// new one, whose number is returned. When the current segment has no frames it
// stays the current one.
//
// After a failed fsync Rotate is the way on: it leaves the files concerned
// alone and clears the failed state. The caller must have stored what they hold
// elsewhere before. An error says that the fsync failed now; the log then needs
// another Rotate.
func (l *Log) Rotate() (segment uint64, err error) {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	if l.mu.closed {
		l.mu.Unlock()
		return 0, ErrClosed
	}
	l.sealLocked()
	segment = l.number.Load()
	failed := l.mu.failed != nil
	if failed {
		l.forsakeLocked()
		l.mu.failed = nil
		l.mu.synced = l.mu.nextSeq - 1
	}
	l.mu.Unlock()
	if failed {
		return segment, nil
	}
	return segment, l.syncStep()
}

// forsakeLocked closes the sealed segments that were not synced. An error to
// close a file that has failed already says nothing new.
func (l *Log) forsakeLocked() {
	for _, s := range l.mu.unsynced {
		_ = s.file.Close()
	}
	l.mu.unsynced = nil
}

// Release deletes the sealed segments that hold no frame with a number above
// upto. A damaged segment is copied to the quarantine first, if that was not
// possible before. After an error what is left can be released again.
func (l *Log) Release(upto uint64) error {
	l.releasing.Lock()
	defer l.releasing.Unlock()
	victims, err := l.takeReleasable(upto)
	if err != nil {
		return err
	}
	for i, s := range victims {
		if err := l.deleteSegment(s); err != nil {
			l.mu.Lock()
			l.mu.sealed = append(slices.Clone(victims[i:]), l.mu.sealed...)
			l.mu.Unlock()
			return fmt.Errorf("release log: %w", err)
		}
	}
	if len(victims) == 0 {
		return nil
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return fmt.Errorf("release log: %w", err)
	}
	return nil
}

// takeReleasable takes the segments that may be deleted out of the log's sight.
func (l *Log) takeReleasable(upto uint64) ([]sealedSegment, error) {
	l.syncing.Lock() // no fsync may run on a file that is closed here
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return nil, ErrClosed
	}
	if !l.mu.replayed {
		return nil, ErrNotReplayed
	}
	n := 0
	for n < len(l.mu.sealed) && l.mu.sealed[n].last <= upto {
		n++
	}
	victims := slices.Clone(l.mu.sealed[:n])
	l.mu.sealed = slices.Clone(l.mu.sealed[n:])
	if n == 0 {
		return nil, nil
	}
	newest := victims[n-1].number
	l.mu.unsynced = slices.DeleteFunc(l.mu.unsynced, func(s *openSegment) bool {
		if s.number > newest {
			return false
		}
		_ = s.file.Close() // its frames are needed no more
		return true
	})
	return victims, nil
}

func (l *Log) deleteSegment(s sealedSegment) error {
	if s.unsaved {
		if _, err := l.saveSegment(s.number); err != nil {
			return fmt.Errorf("keep damaged segment %d: %w", s.number, err)
		}
	}
	return removeIfThere(l.fs, l.segmentPath(s.number))
}

// Close fsyncs what was appended and closes the log. It returns ErrLogFailed
// when frames are at risk.
func (l *Log) Close() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	if l.mu.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.mu.closed = true
	l.sealLocked()
	l.mu.Unlock()
	err := l.syncStep()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forsakeLocked()
	return err
}
