package tsdb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/part"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// ScrubStats is what the check of stored bytes has done since the store was
// opened.
type ScrubStats struct {
	Parts    uint64 // parts read and compared with their checksums
	Bytes    uint64 // what was read for that
	Damages  uint64 // places found damaged, each counted once
	LastPart time.Time
}

// scrubber is the state of the background check.
type scrubber struct {
	mu struct {
		sync.Mutex
		stats ScrubStats
	}
}

// scrubLoop checks each part once per interval, the one that was not checked
// for longest first.
func (db *DB) scrubLoop(ctx context.Context) {
	ticker := time.NewTicker(scrubTick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := db.scrubDue(ctx, time.Now().Add(-db.opts.ScrubInterval)); err != nil && ctx.Err() == nil {
			db.opts.Events.backgroundErr("scrub", err)
		}
	}
}

const scrubTick = time.Minute

// Scrub reads everything on disk and compares it with its checksums, at the
// rate of Options.ScrubRate; the store does so by itself every now and then.
// Damage is told to Events.Corrupted. A part that cannot be opened any more is
// moved to the quarantine; one with a damaged place stays.
func (db *DB) Scrub(ctx context.Context) error {
	return db.scrubDue(ctx, time.Now())
}

// scrubDue checks the parts that were last checked, or made, before a time.
func (db *DB) scrubDue(ctx context.Context, before time.Time) error {
	for {
		s, err := db.reading()
		if err != nil {
			return err
		}
		due := oldestCheck(s.parts, before)
		if due != nil {
			due.refs.acquire()
		}
		s.refs.release()
		if due == nil {
			return nil
		}
		err = db.scrubPart(ctx, due)
		due.refs.release()
		if err != nil {
			return fmt.Errorf("check part %s: %w", db.partDir(due.info), err)
		}
	}
}

func oldestCheck(parts []partView, before time.Time) *livePart {
	var due *livePart
	for _, p := range parts {
		at := p.checkedAt()
		if !at.After(before) && (due == nil || at.Before(due.checkedAt())) {
			due = p.livePart
		}
	}
	return due
}

// checkedAt returns when the part was last checked, or made or opened.
func (p *livePart) checkedAt() time.Time {
	if at := p.checked.Load(); at != nil {
		return *at
	}
	return p.since
}

// scrubPart checks one part through file handles of its own: what is cached or
// mapped says nothing about the disk.
func (db *DB) scrubPart(ctx context.Context, p *livePart) error {
	slow := &pacedFS{FS: db.fs, ctx: ctx, rate: db.opts.ScrubRate}
	damages, err := verifyPart(slow, db.partDir(p.info))
	if err != nil && !damaged(err) {
		return err
	}
	for _, d := range damages {
		db.noteDamage(d)
	}
	if len(damages) > 0 { // so that those who read it know
		defer db.changing(p.info.MinT, p.info.MaxT)()
		known := p.part.Verify(func(part.Problem) {})
		if known != nil && !damaged(known) {
			return known
		}
		err = errors.Join(err, known)
	}
	now := time.Now()
	p.checked.Store(&now)
	db.scrub.mu.Lock()
	db.scrub.mu.stats.Parts++
	db.scrub.mu.stats.Bytes += slow.total()
	db.scrub.mu.stats.LastPart = now
	db.scrub.mu.Unlock()
	if err != nil {
		return db.quarantineLive(p, err)
	}
	return nil
}

// verifyPart returns the damaged places of a part; the error is that of opening
// it or of reading.
func verifyPart(fs vfs.FS, dir string) (damages []error, err error) {
	p, err := part.Open(fs, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if _, err := p.Index(); err != nil {
		return nil, err
	}
	err = p.Verify(func(problem part.Problem) {
		damages = append(damages, &block.CorruptionError{File: problem.File, Offset: problem.Offset, Cause: problem.Cause})
	})
	return damages, err
}

// quarantineLive takes a part that is being served out of the store. Those who
// read it go on with what they can reach of it.
func (db *DB) quarantineLive(p *livePart, cause error) error {
	if err := db.beginJob(); err != nil {
		return err
	}
	defer db.jobs.Unlock()
	s := db.acquire()
	defer s.refs.release()
	if !s.has(p) {
		return nil // merged away or dropped meanwhile
	}
	defer db.changing(p.info.MinT, p.info.MaxT)()
	if err := db.quarantine(p.info, cause); err != nil {
		return err
	}
	db.change(func(next *state) { next.remove(p) })
	db.scrub.mu.Lock()
	db.scrub.mu.stats.Damages++
	db.scrub.mu.Unlock()
	return nil
}

// pacedFS reads files no faster than rate bytes per second, all together, 0
// being no bound, and stops when ctx ends.
type pacedFS struct {
	vfs.FS
	ctx  context.Context
	rate int64

	mu struct {
		sync.Mutex
		bytes uint64
		free  time.Time // when the next read may begin
	}
}

func (fs *pacedFS) Open(name string) (vfs.File, error) {
	f, err := fs.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return &pacedFile{File: f, fs: fs}, nil
}

func (fs *pacedFS) total() uint64 {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.mu.bytes
}

// wait returns when n more bytes may be read.
func (fs *pacedFS) wait(n int) error {
	fs.mu.Lock()
	now := time.Now()
	pause := max(0, fs.mu.free.Sub(now))
	if fs.rate > 0 {
		fs.mu.free = now.Add(pause + time.Duration(float64(n)/float64(fs.rate)*float64(time.Second)))
	}
	fs.mu.bytes += uint64(n)
	fs.mu.Unlock()
	if pause == 0 {
		return fs.ctx.Err()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-fs.ctx.Done():
		return fs.ctx.Err()
	case <-timer.C:
		return nil
	}
}

type pacedFile struct {
	vfs.File
	fs *pacedFS
}

func (f *pacedFile) Read(b []byte) (int, error) {
	if err := f.fs.wait(len(b)); err != nil {
		return 0, err
	}
	return f.File.Read(b)
}

func (f *pacedFile) ReadAt(b []byte, at int64) (int, error) {
	if err := f.fs.wait(len(b)); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, at)
}
