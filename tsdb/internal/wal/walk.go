package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// Scan reads the log in dir for tools: it calls fn for every sound frame in
// order, goes on past damage and writes nothing. The log may be in use; a frame
// that is just being written then counts as torn. An error of fn ends the walk
// and is wrapped.
func Scan(fsys vfs.FS, dir string, fn func(Frame) error) (ReplayReport, error) {
	segments, err := findSegments(fsys, dir)
	if err != nil {
		return ReplayReport{}, err
	}
	w := walker{fs: fsys, dir: dir, fn: fn}
	err = w.run(segments)
	return w.report, err
}

// segmentFile is a segment as its name, size and header tell.
type segmentFile struct {
	number        uint64
	size          int64
	segmentHeader // zero when it is damaged
}

// findSegments returns the segments in dir, in order. A newer format version
// is an error that wraps ErrVersion.
func findSegments(fsys vfs.FS, dir string) ([]segmentFile, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	var segments []segmentFile
	for _, name := range names {
		number, ok := ParseSegmentName(name)
		if !ok {
			continue
		}
		s, err := readSegmentHeader(fsys, dir, number)
		if errors.Is(err, fs.ErrNotExist) {
			continue // released meanwhile, by the log whose folder is scanned
		}
		if err != nil {
			return nil, fmt.Errorf("open segment %s: %w", path.Join(dir, name), err)
		}
		segments = append(segments, s)
	}
	slices.SortFunc(segments, func(a, b segmentFile) int { return cmp.Compare(a.number, b.number) })
	return segments, nil
}

func readSegmentHeader(fsys vfs.FS, dir string, number uint64) (s segmentFile, err error) {
	f, err := fsys.Open(path.Join(dir, SegmentName(number)))
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s.number = number
	if s.size, err = f.Size(); err != nil {
		return s, err
	}
	r := segmentReader{f: f, size: s.size}
	header := make([]byte, min(s.size, segmentHeaderSize))
	if err := r.readFull(header, 0); err != nil {
		return s, err
	}
	s.segmentHeader, err = parseSegmentHeader(header)
	return s, err
}

// walker goes through the segments of a log, in order.
type walker struct {
	fs     vfs.FS
	dir    string
	after  uint64
	fn     func(Frame) error
	report ReplayReport

	last uint64 // the highest sequence number that was met, or told of by a header
	kept uint64 // the same without those that were given up
	// explained says that damage just before this place accounts for numbers
	// that are missing.
	explained bool
}

func (w *walker) run(segments []segmentFile) error {
	for i, s := range segments {
		next := nextSound(segments[i+1:])
		newest := i == len(segments)-1
		if next.base > 0 && next.base-1 <= w.after {
			w.skip(s, next.base)
			continue
		}
		w.report.Segments = append(w.report.Segments, SegmentInfo{Number: s.number, Bytes: s.size, BaseSeq: s.base})
		if err := w.segment(s, next, newest); err != nil {
			return err
		}
	}
	w.report.LastSeq = w.last
	return nil
}

// nextSound returns the first sound header, or the zero value.
func nextSound(segments []segmentFile) segmentHeader {
	for _, s := range segments {
		if s.base > 0 {
			return s.segmentHeader
		}
	}
	return segmentHeader{}
}

func (w *walker) skip(s segmentFile, nextBase uint64) {
	w.last = max(w.last, nextBase-1)
	w.kept = max(w.kept, s.prev)
	w.explained = false
	w.report.Segments = append(w.report.Segments,
		SegmentInfo{Number: s.number, Bytes: s.size, BaseSeq: s.base, Skipped: true, LastSeq: nextBase - 1})
}

func (w *walker) info() *SegmentInfo { return &w.report.Segments[len(w.report.Segments)-1] }

func (w *walker) segment(s segmentFile, next segmentHeader, newest bool) (err error) {
	name := path.Join(w.dir, SegmentName(s.number))
	f, err := w.fs.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // released meanwhile
	}
	if err != nil {
		return fmt.Errorf("open segment: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sw := segmentWalk{walker: w, segmentFile: s, r: newSegmentReader(f, s.size), next: next, newest: newest}
	if err := sw.run(); err != nil {
		return w.readError(s.number, err)
	}
	return nil
}

func (w *walker) readError(number uint64, err error) error {
	return fmt.Errorf("read segment %s: %w", path.Join(w.dir, SegmentName(number)), err)
}

// segmentWalk goes through one segment.
type segmentWalk struct {
	*walker
	segmentFile
	r      *segmentReader
	next   segmentHeader // of the next segment where it is sound, else zero
	newest bool
	off    int64
}

func (w *segmentWalk) run() error {
	if ok, err := w.header(); !ok || err != nil {
		return err
	}
	for w.off < w.size {
		h, cause, err := w.r.check(w.off)
		if err != nil {
			return err
		}
		if cause == nil {
			err = w.frame(h)
		} else {
			err = w.damage(cause)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// header moves behind the segment's header; ok is false when nothing follows
// it that could be a frame.
func (w *segmentWalk) header() (ok bool, err error) {
	w.off = segmentHeaderSize
	if w.base > 0 {
		if w.last > 0 || w.after > 0 {
			w.gap(w.prev, 0)
		}
		w.last = max(w.last, w.base-1)
		w.kept = max(w.kept, w.prev)
		return true, nil
	}
	cause := errBadHeader
	if w.size < segmentHeaderSize {
		cause = errCutHeader
	}
	if w.size > segmentHeaderSize {
		_, found, err := w.r.resync(segmentHeaderSize-1, w.expect())
		if err != nil {
			return false, err
		}
		if found {
			w.corrupt(Corruption{Offset: 0, Bytes: segmentHeaderSize, Cause: cause})
			w.explained = true // which frame comes first cannot be told
			return true, nil
		}
	}
	w.off = 0
	w.tail(cause)
	return false, nil
}

// expect returns which sequence numbers the next frame may carry.
func (w *segmentWalk) expect() seqRange {
	want := seqRange{last: w.last, max: math.MaxUint64, dense: w.base > 0 || w.info().Frames > 0}
	if w.next.base > w.last {
		want.max = w.next.base - 1
	}
	return want
}

// frame hands on the sound frame at w.off.
func (w *segmentWalk) frame(h frameHeader) error {
	off := w.off
	w.off += frameHeaderSize + int64(h.payloadLen)
	if h.seq <= w.last && (h.seq > w.after || h.seq == 0) {
		w.corrupt(Corruption{Offset: off, Bytes: w.off - off, Cause: fmt.Errorf("%w: got %d, want %d", errSequence, h.seq, w.last+1)})
		return nil
	}
	if h.seq > w.last+1 {
		w.gap(h.seq-1, off)
	}
	w.last = max(w.last, h.seq)
	w.kept = max(w.kept, h.seq)
	w.explained = false
	info := w.info()
	info.Frames++
	if info.FirstSeq == 0 {
		info.FirstSeq = h.seq
	}
	info.LastSeq = max(info.LastSeq, h.seq)
	old := h.seq <= w.after
	payload, err := w.r.payload(off, h)
	if err != nil {
		return err
	}
	if old {
		w.report.Skipped++
	} else {
		w.report.Frames++
	}
	return w.fn(Frame{Old: old, Seq: h.seq, Type: h.typ, Flags: h.flags, Payload: payload, Segment: w.number, Offset: off})
}

// damage skips to the next sound frame behind w.off.
func (w *segmentWalk) damage(cause error) error {
	next, found, err := w.r.resync(w.off, w.expect())
	if err != nil {
		return err
	}
	if !found {
		w.tail(cause)
		return nil
	}
	h, _, err := w.r.check(next)
	if err != nil {
		return err
	}
	c := Corruption{Offset: w.off, Bytes: next - w.off, Cause: cause}
	if w.expect().dense {
		c.SeqFrom, c.SeqTo = missing(w.last, h.seq-1)
	}
	w.corrupt(c)
	w.explained = true
	w.off = next
	return nil
}

// tail ends the segment at w.off: torn if it is the newest, else damaged.
func (w *segmentWalk) tail(cause error) {
	c := Corruption{Segment: w.number, Offset: w.off, Bytes: w.size - w.off, Cause: cause}
	w.off = w.size
	if w.newest {
		w.report.Torn = &c
		return
	}
	c.SeqFrom, c.SeqTo = missing(w.last, w.next.prev)
	w.corrupt(c)
	w.explained = true
}

// gap reports that the numbers up to to are missing without a damage that
// explains it.
func (w *segmentWalk) gap(to uint64, off int64) {
	if from := max(w.last, w.after); to > from && !w.explained {
		c := Corruption{Offset: off, Cause: errSeqMissing}
		c.SeqFrom, c.SeqTo = missing(from, to)
		w.corrupt(c)
	}
}

// missing returns the numbers after last up to to; zeros when there are none.
func missing(last, to uint64) (from, upto uint64) {
	if to <= last {
		return 0, 0
	}
	return last + 1, to
}

func (w *segmentWalk) corrupt(c Corruption) {
	c.Segment = w.number
	w.info().Damaged = true
	w.report.add(c)
}
