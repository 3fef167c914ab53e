package tsdb

import "sync"

// maxDamageNoted bounds the damages that are remembered as reported.
const maxDamageNoted = 1000

// damageLog keeps readers from reporting one damage over and over.
type damageLog struct {
	mu struct {
		sync.Mutex
		seen map[string]struct{}
	}
}

// first tells whether this text was not met before; past the bound none is.
func (l *damageLog) first(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.mu.seen[text]; known || len(l.mu.seen) >= maxDamageNoted {
		return false
	}
	if l.mu.seen == nil {
		l.mu.seen = map[string]struct{}{}
	}
	l.mu.seen[text] = struct{}{}
	return true
}

// noteDamage reports damage that a reader met, once.
func (db *DB) noteDamage(err error) {
	if db.damage.first(err.Error()) {
		db.scrub.mu.Lock()
		db.scrub.mu.stats.Damages++
		db.scrub.mu.Unlock()
		db.opts.Events.corrupted(err)
	}
}
