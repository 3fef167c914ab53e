package tsdb

import "time"

// Events is told what a store does. Each function may be nil; they are called
// from many goroutines and must not call back into the store.
type Events struct {
	Flushed       func(FlushInfo)
	Merged        func(MergeInfo)
	Retired       func(RetireInfo)
	Replayed      func(ReplayInfo)
	Refused       func(*OverloadError)        // a write was refused for now
	Corrupted     func(error)                 // damage was found and set aside
	BackgroundErr func(job string, err error) // a background job failed and will be tried again
}

// FlushInfo tells of samples written out from memory.
type FlushInfo struct {
	Parts   int
	Samples uint64
	Bytes   uint64
	Took    time.Duration
}

// MergeInfo tells of parts joined into one.
type MergeInfo struct {
	Inputs  int
	Samples uint64
	Bytes   uint64
	Took    time.Duration
}

// RetireInfo tells of parts dropped for their age or for space.
type RetireInfo struct {
	Parts  int
	Bytes  uint64
	Reason string
}

// ReplayInfo tells of the log read at the start.
type ReplayInfo struct {
	Frames  uint64
	Samples uint64
	Torn    int64 // bytes of a torn tail that were cut off
	Took    time.Duration
}

func (e *Events) flushed(i FlushInfo) {
	if e.Flushed != nil {
		e.Flushed(i)
	}
}

func (e *Events) merged(i MergeInfo) {
	if e.Merged != nil {
		e.Merged(i)
	}
}

func (e *Events) retired(i RetireInfo) {
	if e.Retired != nil {
		e.Retired(i)
	}
}

func (e *Events) replayed(i ReplayInfo) {
	if e.Replayed != nil {
		e.Replayed(i)
	}
}

func (e *Events) refused(err *OverloadError) *OverloadError {
	if e.Refused != nil {
		e.Refused(err)
	}
	return err
}

func (e *Events) corrupted(err error) {
	if e.Corrupted != nil {
		e.Corrupted(err)
	}
}

func (e *Events) backgroundErr(job string, err error) {
	if e.BackgroundErr != nil {
		e.BackgroundErr(job, err)
	}
}
