package tsdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/varvedb/varve/tsdb/internal/head"
	"github.com/varvedb/varve/tsdb/internal/index"
	"github.com/varvedb/varve/tsdb/internal/manifest"
	"github.com/varvedb/varve/tsdb/internal/part"
	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/internal/wal"
)

// DB is an open store. All methods may be called by many goroutines.
//
// Lock order: merging, jobs, gate, commit, mu. The rooms below have locks of their own
// that are taken last.
type DB struct {
	dir  string
	opts Options
	fs   vfs.FS

	lock     io.Closer
	log      *wal.Log
	head     *head.Head
	manifest *manifest.Manifest
	caches   index.Caches // of the indexes of parts
	payloads *part.Payloads
	mapped   *part.Mapped
	minis    *part.Minis
	metadata metadataTable
	batches  sync.Pool
	stats    counters

	// merging is held during a merge: there is one at a time.
	merging     sync.Mutex
	unmergeable map[string]bool // groups of parts with damage; guarded by merging

	// jobs is held by whoever changes which parts there are: flush, delete,
	// retention, snapshot, and a merge when it publishes; one at a time.
	jobs sync.Mutex

	hurry atomic.Int64 // how many wait for a job: while some do none rests

	// gate is held shared from encoding a request to having applied it, and
	// alone where the head and the log must agree: seal, delete, close.
	gate   sync.RWMutex
	closed bool   // guarded by gate
	sealed uint64 // the last sequence number sealed; guarded by gate

	// commit is held while a frame is written and its samples are put in line.
	commit sync.Mutex

	mu struct {
		sync.Mutex
		state    *state
		nextPart uint64
	}

	damage  damageLog
	scrub   scrubber
	changes changes

	disk atomic.Pointer[OverloadError] // not nil while the disk is short

	flushSignal chan struct{}
	life        context.Context // ends when the store closes
	stop        context.CancelFunc
	background  sync.WaitGroup
}

// counters are totals since the store was opened.
type counters struct {
	samples  atomic.Uint64
	replayed atomic.Uint64
	requests atomic.Uint64 // to write and to read
}

// The folder of a store.
const (
	lockName      = "LOCK"
	walDir        = "wal"
	partsDir      = "parts"
	snapshotsDir  = "snapshots"
	quarantineDir = "quarantine"
	tmpPrefix     = "tmp-"
)

// Open opens or makes the store in a folder. It returns after the log was
// read: everything acknowledged before is readable then. The caller closes it.
//
// It fails if another process holds the folder. Damage does not make it fail:
// what is damaged is moved to quarantine, reported by Events.Corrupted, and the
// rest is served.
func Open(dir string, opts Options) (*DB, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	db := &DB{dir: filepath.ToSlash(dir), opts: opts.withDefaults(), head: head.New(), flushSignal: make(chan struct{}, 1)}
	db.life, db.stop = context.WithCancel(context.Background())
	db.caches = db.opts.indexCaches()
	db.head.KeepLabels(db.caches.Sets)
	if n := db.opts.BlockCacheBytes; n > 0 {
		db.payloads = part.NewPayloads(int(min(n, math.MaxInt)))
		db.mapped = part.NewMapped(min(n, math.MaxInt64/2) * 2)
	}
	if n := db.opts.SampleCacheBytes; n > 0 {
		db.minis = part.NewMinis(int(min(n, math.MaxInt)))
	}
	db.fs = db.opts.FS
	if err := db.open(); err != nil {
		db.abandon()
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	db.start()
	return db, nil
}

func (db *DB) open() (err error) {
	for _, sub := range []string{walDir, partsDir} {
		if err := vfs.MkdirDurable(db.fs, path.Join(db.dir, sub)); err != nil {
			return err
		}
	}
	if db.lock, err = db.fs.Lock(path.Join(db.dir, lockName)); err != nil {
		return err
	}
	if err := db.checkManifest(); err != nil {
		return err
	}
	if db.manifest, err = manifest.Open(db.fs, db.dir); err != nil {
		return err
	}
	if torn := db.manifest.TornBytes(); torn > 0 {
		db.opts.Events.backgroundErr("read manifest", fmt.Errorf("%d bytes of an unfinished edit were cut off", torn))
	}
	durable := db.manifest.State()
	db.metadata.load(durable.Metadata)
	db.mu.nextPart = max(1, durable.NextPartID)
	if err := db.openParts(durable); err != nil {
		return err
	}
	db.log, err = wal.Open(db.fs, path.Join(db.dir, walDir), wal.Options{
		NextSeq:    lastSeq(durable) + 1,
		Quarantine: path.Join(db.dir, quarantineDir),
	})
	if err != nil {
		return err
	}
	return db.replay(durable.FlushedSeq)
}

// checkManifest refuses a folder that has parts and no manifest: without it they
// would look like leftovers.
func (db *DB) checkManifest() error {
	_, err := db.fs.Stat(path.Join(db.dir, manifest.FileName))
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	months, err := db.fs.List(path.Join(db.dir, partsDir))
	if err != nil {
		return err
	}
	for _, month := range months {
		names, err := db.fs.List(path.Join(db.dir, partsDir, month))
		if err != nil {
			return err
		}
		for _, name := range names {
			if !strings.HasPrefix(name, tmpPrefix) {
				return fmt.Errorf("part %s is there but no %s", path.Join(partsDir, month, name), manifest.FileName)
			}
		}
	}
	return nil
}

// lastSeq returns the highest sequence number that the manifest mentions.
func lastSeq(s manifest.State) uint64 {
	last := s.FlushedSeq
	for _, p := range s.Parts {
		last = max(last, p.SeqMax, p.DeletedSeq)
	}
	for _, t := range s.Tombstones {
		last = max(last, t.Seq)
	}
	return last
}

// abandon lets go of what a failed open took.
func (db *DB) abandon() {
	db.stop()
	if db.log != nil {
		db.log.Close()
	}
	db.mu.Lock()
	s := db.mu.state
	db.mu.Unlock()
	if s != nil {
		s.refs.release()
	}
	if db.manifest != nil {
		db.manifest.Close()
	}
	if db.lock != nil {
		db.lock.Close()
	}
}

// start begins the background jobs.
func (db *DB) start() {
	ctx := db.life
	db.checkDisk()
	db.every(ctx, diskInterval, db.checkDisk)
	if db.opts.Sync.mode == syncInterval {
		db.every(ctx, db.opts.Sync.interval, db.syncLog)
	}
	db.background.Go(func() { db.flushLoop(ctx) })
	db.background.Go(func() { db.tidyLoop(ctx) })
	if db.opts.ScrubInterval > 0 {
		db.background.Go(func() { db.scrubLoop(ctx) })
	}
}

const (
	diskInterval     = time.Second
	maintainInterval = 10 * time.Second
)

func (db *DB) every(ctx context.Context, interval time.Duration, step func()) {
	db.background.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				step()
			}
		}
	})
}

// flushLoop flushes when asked, when it is time, at the end of a day and when a
// flush failed.
func (db *DB) flushLoop(ctx context.Context) {
	ticker := time.NewTicker(maintainInterval)
	defer ticker.Stop()
	sealed := time.Now()
	for {
		due := false
		select {
		case <-ctx.Done():
			return
		case <-db.flushSignal:
			due = true
		case <-ticker.C:
			now := time.Now()
			due = now.Sub(sealed) >= db.opts.FlushInterval || dayOf(now.UnixMilli()) != dayOf(sealed.UnixMilli())
		}
		err := db.flushOnce(ctx, due)
		if err == nil && due {
			sealed = time.Now()
		}
		if err != nil && ctx.Err() == nil { // Close goes on with what it broke off
			db.opts.Events.backgroundErr("flush", err)
		}
	}
}

// tidyLoop looks after the parts now and then.
func (db *DB) tidyLoop(ctx context.Context) {
	ticker := time.NewTicker(maintainInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := db.Tidy(ctx); err != nil && ctx.Err() == nil {
			db.opts.Events.backgroundErr("merge", err)
		}
	}
}

func (db *DB) wakeFlush() {
	select {
	case db.flushSignal <- struct{}{}:
	default:
	}
}

// afterWrite asks for a flush when the head is full.
func (db *DB) afterWrite() {
	if db.head.Active().Bytes() >= db.opts.FlushBytes {
		db.wakeFlush()
	}
}

// Close flushes what is in memory and releases the folder. Views still open
// stay readable; whatever else is called afterwards returns ErrClosed.
//
// When the flush fails the error is returned and nothing is lost: the log
// keeps what was not flushed.
func (db *DB) Close() error {
	defer db.hurried()()
	db.gate.Lock()
	if db.closed {
		db.gate.Unlock()
		return ErrClosed
	}
	db.closed = true
	db.gate.Unlock()
	db.stop()
	db.background.Wait()
	db.merging.Lock() // it was told to break off
	defer db.merging.Unlock()
	err := db.flushOnce(context.Background(), true)
	db.jobs.Lock()
	defer db.jobs.Unlock()
	db.change(func(next *state) { *next = state{closed: true} })
	return errors.Join(err, db.log.Close(), db.manifest.Close(), db.lock.Close())
}

func (db *DB) syncLog() {
	if err := db.log.Sync(); err != nil {
		db.opts.Events.backgroundErr("sync log", err)
		db.wakeFlush()
	}
}

// logFailed turns an error of the log into the answer to a writer. After a
// failed sync nothing is known of what was written, so the head is flushed and
// the log begins anew.
func (db *DB) logFailed(err error) error {
	if errors.Is(err, wal.ErrLogFailed) {
		db.wakeFlush()
	}
	return fmt.Errorf("write log: %w", err)
}
