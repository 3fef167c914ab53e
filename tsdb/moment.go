package tsdb

import (
	"context"
	"math"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/head"
)

// Moment is the store between two changes, for Views that are to show the same: all
// that was acknowledged before it was opened, of each Commit and each Delete the
// whole or nothing, and nothing that came later. Its methods may be called by many
// goroutines.
//
// While it is open, who writes keeps for it what a series of the head was, some
// hundred nanoseconds and 200 bytes for each that changes, once. So it is to be closed
// as soon as the Views are there.
type Moment struct {
	db     *DB
	state  *state
	head   *head.Moment // nil if the head has nothing that is asked for
	oldest int64
}

// Moment opens one. The caller closes it. Cost: some hundred nanoseconds.
func (db *DB) Moment() (*Moment, error) {
	m := new(Moment)
	if err := m.open(db, math.MinInt64, math.MaxInt64); err != nil {
		return nil, err
	}
	return m, nil
}

// open opens m for Views of [mint, maxt].
func (m *Moment) open(db *DB, mint, maxt int64) error {
	m.db, m.oldest = db, db.oldest(time.Now())
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.mu.state.closed {
		return ErrClosed
	}
	m.state = db.mu.state
	m.state.refs.acquire()
	if db.head.InLine() || m.state.headOverlaps(mint, maxt) { // in this order
		m.head = db.head.Moment() // after the state: no generation of it is newer
	}
	return nil
}

// headOverlaps tells whether a generation may have samples inside [mint, maxt].
func (s *state) headOverlaps(mint, maxt int64) bool {
	for _, g := range s.gens {
		if g.gen.Overlaps(mint, maxt) {
			return true
		}
	}
	return false
}

// Select is DB.Select as of the moment. The View stays readable when that is closed.
func (m *Moment) Select(ctx context.Context, mint, maxt int64, ms ...*labels.Matcher) (*View, error) {
	m.db.stats.requests.Add(1)
	m.state.refs.acquire()
	v := &View{db: m.db, state: m.state, mint: max(mint, m.oldest), maxt: maxt}
	if err := v.find(ctx, m.head, ms); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

// Close ends it. Nothing may be selected any more. It is done once.
func (m *Moment) Close() {
	if m.head != nil {
		m.head.Close()
	}
	m.state.refs.release()
}
