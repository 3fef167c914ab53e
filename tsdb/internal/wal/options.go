package wal

import (
	"errors"
	"fmt"
	"math"
)

// Options of a log. The zero value is ready to use.
type Options struct {
	// SegmentBytes is the size from which on a segment is full: the next Append
	// begins another one. It may be passed by one frame. The bytes that AppendFrame
	// is told to be definitions do not count, unless they are more than the others.
	// Default 64 MiB.
	SegmentBytes int64
	// MaxFrameBytes is the longest payload that Append takes. Frames that were
	// written under a larger limit are still read. Default 256 MiB.
	MaxFrameBytes int
	// NextSeq is the least sequence number that the first Append may get. The
	// caller sets it above every number it has stored elsewhere, since the log
	// may have lost or released those frames. Default 1.
	NextSeq uint64
	// Quarantine is the folder that keeps a copy of each damaged segment, made
	// when needed. Empty: no copies.
	Quarantine string
}

func (o Options) withDefaults() Options {
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 64 << 20
	}
	if o.MaxFrameBytes == 0 {
		o.MaxFrameBytes = 256 << 20
	}
	o.NextSeq = max(o.NextSeq, 1)
	return o
}

func (o Options) validate() error {
	var errs []error
	if o.SegmentBytes < 0 {
		errs = append(errs, fmt.Errorf("segment bytes: got %d, want more than 0", o.SegmentBytes))
	}
	if o.MaxFrameBytes < 0 || int64(o.MaxFrameBytes) > math.MaxUint32 {
		errs = append(errs, fmt.Errorf("max frame bytes: got %d, want 1 to %d", o.MaxFrameBytes, int64(math.MaxUint32)))
	}
	return errors.Join(errs...)
}

var (
	// ErrVersion is wrapped by errors about segments of a newer format version.
	ErrVersion = errors.New("unknown format version")
	// ErrSegmentChanged is returned by Append when another segment is current.
	// Nothing was written.
	ErrSegmentChanged = errors.New("segment changed")
	// ErrFrameTooLarge is wrapped by the error of an Append whose payload is
	// longer than Options.MaxFrameBytes. Nothing was written.
	ErrFrameTooLarge = errors.New("frame too large")
	// ErrLogFailed is wrapped by errors that follow from a failed fsync.
	ErrLogFailed = errors.New("log failed")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("log closed")
	// ErrNotReplayed is returned by Append when the folder holds segments and
	// Replay has not succeeded yet.
	ErrNotReplayed = errors.New("log not replayed")
)
