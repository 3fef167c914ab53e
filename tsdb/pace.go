package tsdb

import (
	"context"
	"time"
)

const (
	paceBit  = 5 * time.Millisecond  // work between two looks at what else is going on
	paceRest = 50 * time.Millisecond // the longest rest
)

// pacer makes background work rest as long as it worked while requests come, which
// on few cores would have to wait for it. It does not while someone waits for the
// work, or while the memory of samples is half used up.
type pacer struct {
	db    *DB
	ctx   context.Context
	began time.Time // of the bit of work at hand
	seen  uint64    // requests up to then
}

func (db *DB) pace(ctx context.Context) *pacer {
	return &pacer{db: db, ctx: ctx, began: time.Now(), seen: db.stats.requests.Load()}
}

// rest is called between small pieces of work; it returns the error of the context.
func (p *pacer) rest() error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	took := time.Since(p.began)
	if took < paceBit {
		return nil
	}
	requests := p.db.stats.requests.Load()
	busy := requests != p.seen
	p.seen = requests
	if busy && p.db.hurry.Load() == 0 && p.db.head.Bytes() < p.db.opts.MemoryBudget/2 {
		timer := time.NewTimer(min(took, paceRest))
		defer timer.Stop()
		select {
		case <-p.ctx.Done():
			return p.ctx.Err()
		case <-timer.C:
		}
	}
	p.began = time.Now()
	return nil
}

// hurried keeps background work from resting until done is called.
func (db *DB) hurried() (done func()) {
	db.hurry.Add(1)
	return func() { db.hurry.Add(-1) }
}
