package wal

import (
	"fmt"
	"slices"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// maxLost bounds the remembered ranges of frames whose fsync failed. SyncTo is
// asked about recent frames only.
const maxLost = 16

// SyncTo returns once the frame with that number, and all before it, would
// survive a power loss: after an fsync that began when it was written. One
// fsync serves all that wait. The appends of others go on meanwhile.
//
// When the fsync fails the log fails with it: SyncTo, Sync and Append return an
// error that wraps ErrLogFailed until Rotate, and SyncTo does so for the frames
// concerned ever after.
func (l *Log) SyncTo(seq uint64) error {
	for {
		if done, err := l.syncState(seq); done {
			return err
		}
		if err := l.syncOnce(seq); err != nil {
			return err
		}
	}
}

// syncState tells whether there is nothing to wait for.
func (l *Log) syncState(seq uint64) (done bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.mu.lost {
		if seq >= r.from && seq <= r.to {
			return true, fmt.Errorf("sync frame %d: %w before", seq, ErrLogFailed)
		}
	}
	if seq >= l.mu.nextSeq {
		return true, fmt.Errorf("sync frame %d: the last one is %d", seq, l.mu.nextSeq-1)
	}
	return seq <= l.mu.synced, nil
}

// syncOnce waits for its turn to fsync, and does unless another one's fsync
// served frame seq meanwhile.
func (l *Log) syncOnce(seq uint64) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if done, err := l.syncState(seq); done {
		return err
	}
	return l.syncIfOpen()
}

// Sync makes everything that was appended so far survive a power loss. It does
// nothing when there is nothing to do.
func (l *Log) Sync() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	return l.syncIfOpen()
}

func (l *Log) syncIfOpen() error {
	l.mu.Lock()
	closed := l.mu.closed
	l.mu.Unlock()
	if closed {
		return ErrClosed
	}
	return l.syncStep()
}

// syncStep fsyncs what was written before it began. l.syncing must be held.
func (l *Log) syncStep() error {
	target, sealed, current, dir, err := l.beginSync()
	if err != nil {
		return err
	}
	err = syncAll(l.fs, sealed, current, dir)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failLocked(err)
		return l.mu.failed
	}
	l.mu.synced = target
	l.mu.unsynced = slices.Clone(l.mu.unsynced[len(sealed):])
	for _, s := range sealed {
		_ = s.file.Close() // it is durable, and not written again
	}
	return nil
}

// beginSync returns the files to fsync, the folder when its entries are to be
// made durable, and the last number that this will cover.
func (l *Log) beginSync() (target uint64, sealed []*openSegment, current *openSegment, dir string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.failed != nil {
		return 0, nil, nil, "", l.mu.failed
	}
	if s := l.mu.current; s != nil && s.dirty {
		current = s
		s.dirty = false
	}
	if l.mu.dirDirty {
		dir = l.dir
		l.mu.dirDirty = false
	}
	return l.mu.nextSeq - 1, slices.Clone(l.mu.unsynced), current, dir, nil
}

func syncAll(fsys vfs.FS, sealed []*openSegment, current *openSegment, dir string) error {
	for _, s := range sealed {
		if err := s.file.Sync(); err != nil {
			return fmt.Errorf("sync segment %d: %w", s.number, err)
		}
	}
	if current != nil {
		if err := current.file.Sync(); err != nil {
			return fmt.Errorf("sync segment %d: %w", current.number, err)
		}
	}
	if dir != "" {
		if err := fsys.SyncDir(dir); err != nil {
			return fmt.Errorf("sync folder of the log: %w", err)
		}
	}
	return nil
}

// failLocked puts the log into the failed state: nothing that was not synced
// before is known to be durable.
func (l *Log) failLocked(cause error) {
	l.mu.failed = fmt.Errorf("%w: %w", ErrLogFailed, cause)
	l.mu.dirDirty = true
	if from, to := l.mu.synced+1, l.mu.nextSeq-1; from <= to {
		l.mu.lost = append(l.mu.lost, seqRangeLost{from: from, to: to})
		l.mu.lost = l.mu.lost[max(0, len(l.mu.lost)-maxLost):]
	}
}
