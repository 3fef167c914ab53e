package tsdb

import (
	"fmt"
	"time"
)

// admit refuses a write while the store is short of memory or disk.
func (db *DB) admit() error {
	if err := db.disk.Load(); err != nil {
		return db.opts.Events.refused(err)
	}
	// Those being flushed count too, and those flushed that a View still reads.
	if used := db.head.Bytes(); used > db.opts.MemoryBudget {
		db.wakeFlush()
		return db.opts.Events.refused(&OverloadError{
			Name:       "memory",
			Limit:      fmt.Sprintf("memory budget of %d bytes", db.opts.MemoryBudget),
			Reason:     fmt.Sprintf("samples in memory take %d bytes", used),
			RetryAfter: time.Second,
		})
	}
	return nil
}

// admitSeries refuses another series at the limit, and while no write would be
// taken: refused requests must not fill the memory with series.
func (db *DB) admitSeries() error {
	if err := db.admit(); err != nil {
		return err
	}
	if limit := db.opts.MaxSeries; limit > 0 && db.head.SeriesCount() >= limit {
		return db.opts.Events.refused(&OverloadError{
			Name:       "series",
			Limit:      fmt.Sprintf("%d active series", limit),
			Reason:     "too many active series",
			RetryAfter: 10 * time.Second,
			TooMany:    true,
		})
	}
	return nil
}

// checkDisk notes whether the disk has the space that flushes need.
func (db *DB) checkDisk() {
	if db.opts.MinFree < 0 {
		return
	}
	free, err := db.fs.Free(db.dir)
	if err != nil {
		db.opts.Events.backgroundErr("check disk", err)
		return
	}
	if free >= uint64(db.opts.MinFree) {
		db.disk.Store(nil)
		return
	}
	db.disk.Store(&OverloadError{
		Name:       "disk",
		Limit:      fmt.Sprintf("%d bytes of free disk", db.opts.MinFree),
		Reason:     fmt.Sprintf("the disk has %d bytes left", free),
		RetryAfter: 10 * time.Second,
	})
}
