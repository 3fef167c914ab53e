package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// Replay calls fn for every frame with a number above after, and for the older
// ones in the same segments, marked Old; in order. It makes the log ready for
// Append. It is called once, before the first Append;
// after an error it may be called again.
//
// A tail of the newest segment without a sound frame in it is what a crash
// leaves: it is cut off. Damage elsewhere is skipped and reported, and a copy
// of the segment goes to the quarantine. Segments that are known to hold only
// frames up to after are not read. One frame at a time is in memory.
//
// An error of fn ends the replay and is wrapped.
func (l *Log) Replay(after uint64, fn func(Frame) error) (ReplayReport, error) {
	report, err := l.replay(after, func(w *walker, segments []segmentFile) error {
		w.fn = fn
		return w.run(segments)
	})
	if err != nil {
		return report, fmt.Errorf("replay log: %w", err)
	}
	return report, nil
}

// replay makes the log ready after walk, which goes through the segments with w.
func (l *Log) replay(after uint64, walk func(w *walker, segments []segmentFile) error) (ReplayReport, error) {
	if l.begun() {
		return ReplayReport{}, errors.New("frames were appended before")
	}
	segments, err := findSegments(l.fs, l.dir)
	if err != nil {
		return ReplayReport{}, err
	}
	w := walker{fs: l.fs, dir: l.dir, after: after}
	if err := walk(&w, segments); err != nil {
		return w.report, err
	}
	sealed, err := l.settle(&w.report)
	if err != nil {
		return w.report, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.sealed = sealed
	l.mu.prevSeq = max(w.kept, after)
	l.mu.nextSeq = max(w.report.LastSeq+1, after+1, l.opts.NextSeq)
	l.mu.replayed = true
	l.mu.synced = l.mu.nextSeq - 1
	return w.report, nil
}

func (l *Log) begun() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.current != nil || len(l.mu.unsynced) > 0
}

// settle leaves the segments found as sound and durable as can be, and returns
// them.
func (l *Log) settle(report *ReplayReport) ([]sealedSegment, error) {
	var sealed []sealedSegment
	for i := range report.Segments {
		info := &report.Segments[i]
		s := sealedSegment{number: info.Number, size: info.Bytes, last: info.LastSeq}
		if info.Damaged {
			var err error
			info.Quarantined, err = l.saveSegment(s.number)
			report.QuarantineErr = errors.Join(report.QuarantineErr, err)
			s.unsaved = err != nil
		}
		if t := report.Torn; t != nil && t.Segment == s.number {
			s.size = t.Offset
		}
		if i == len(report.Segments)-1 && info.Frames == 0 && !info.Damaged {
			if err := removeIfThere(l.fs, l.segmentPath(s.number)); err != nil {
				return nil, err
			}
			continue
		}
		if !info.Skipped {
			if err := l.settleSegment(s, info.Bytes); err != nil {
				return nil, err
			}
		}
		sealed = append(sealed, s)
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return nil, err
	}
	boundLast(sealed, report)
	return sealed, nil
}

// settleSegment cuts the torn tail off a segment and fsyncs it: the process
// that wrote it may have died before it did.
func (l *Log) settleSegment(s sealedSegment, found int64) (err error) {
	f, err := l.fs.OpenWrite(l.segmentPath(s.number))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if s.size < found {
		if err := f.Truncate(s.size); err != nil {
			return fmt.Errorf("cut torn tail: %w", err)
		}
	}
	return f.Sync()
}

// boundLast makes last of each segment cover the frames that damage hides.
func boundLast(sealed []sealedSegment, report *ReplayReport) {
	base := map[uint64]uint64{}
	for _, info := range report.Segments {
		base[info.Number] = info.BaseSeq
		if info.BaseSeq == 0 {
			base[info.Number] = info.FirstSeq
		}
	}
	bound := report.LastSeq
	for i, s := range slices.Backward(sealed) {
		sealed[i].last = max(s.last, bound)
		if b := base[s.number]; b > 0 {
			bound = b - 1
		}
	}
}

func removeIfThere(fsys vfs.FS, name string) error {
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
