package tsdb

import (
	"errors"
	"math"
	"sync"

	"github.com/varvedb/varve/tsdb/internal/part"
)

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
		db.changing(math.MinInt64, math.MaxInt64)() // what it hides is left out from now on
		db.scrub.mu.Lock()
		db.scrub.mu.stats.Damages++
		db.scrub.mu.Unlock()
		db.opts.Events.corrupted(err)
	}
}

// Damage returns what the cursors of the View leave out because it was found
// damaged before, nil if nothing. Who cannot pass that on should fail with it.
func (v *View) Damage() error {
	var errs []error
	seen := map[string]struct{}{}
	note := func(list []part.Damage) {
		for _, d := range list {
			text := d.String()
			if _, known := seen[text]; !known {
				seen[text] = struct{}{}
				errs = append(errs, errors.New(text))
			}
		}
	}
	for i := range v.Len() {
		if v.joined == nil {
			note(v.places[0].damage(i, v.mint, v.maxt))
			continue
		}
		for _, ref := range v.joined.of(i) {
			note(v.places[ref.place].damage(int(ref.k), v.mint, v.maxt))
		}
	}
	return errors.Join(errs...)
}
