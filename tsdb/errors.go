package tsdb

import (
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve/tsdb/internal/wal"
)

// ErrLogFailed is wrapped by a write's error after the disk failed to sync the
// log: nothing is known of what was written. Writes are taken again when the
// samples in memory are flushed.
var ErrLogFailed = wal.ErrLogFailed

// ErrClosed is returned by a store that was closed.
var ErrClosed = errors.New("the store is closed")

// ErrStale is returned for a sample of a series that was dropped since it was
// last seen alive: its label set has to be registered again. See Batch.Live.
var ErrStale = errors.New("the series is not registered any more")

// InputError is the caller's mistake: trying again will not help.
type InputError struct {
	Limit   string // the limit that was passed, if one was
	Culprit string // the series or value concerned
	Reason  string
}

func (e *InputError) Error() string {
	switch {
	case e.Culprit == "" && e.Limit == "":
		return e.Reason
	case e.Limit == "":
		return fmt.Sprintf("%s: %s", e.Culprit, e.Reason)
	case e.Culprit == "":
		return fmt.Sprintf("%s (limit: %s)", e.Reason, e.Limit)
	}
	return fmt.Sprintf("%s: %s (limit: %s)", e.Culprit, e.Reason, e.Limit)
}

// OverloadError is a write refused for now, to be tried again after
// RetryAfter. Nothing of it was kept.
type OverloadError struct {
	Name       string // of the limit: memory, series or disk
	Limit      string
	Reason     string
	RetryAfter time.Duration
	TooMany    bool // the sender is asking for too much, rather than the store being short
}

func (e *OverloadError) Error() string {
	return fmt.Sprintf("%s (limit: %s)", e.Reason, e.Limit)
}
