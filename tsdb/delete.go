package tsdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/manifest"
	"github.com/varvedb/varve/tsdb/internal/record"
)

// Delete hides the samples and exemplars inside [mint, maxt] of the series that
// all matchers match: those acknowledged before it, none written later. Series
// with nothing left vanish from the label calls at once; their bytes go with
// the next merge or CleanTombstones. It is durable when it returns nil. After an
// error it was carried out or not, in whole; after a restart it may be otherwise.
func (db *DB) Delete(ctx context.Context, mint, maxt int64, ms ...*labels.Matcher) error {
	if len(ms) == 0 {
		return &InputError{Reason: "a delete needs at least one matcher"}
	}
	if mint > maxt {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := db.beginJob(); err != nil {
		return err
	}
	defer db.jobs.Unlock()
	defer db.changing(mint, maxt)()
	t := tombstone{seq: math.MaxUint64, mint: mint, maxt: maxt, matchers: slices.Clone(ms)}
	reached, err := db.reach(t)
	if err != nil {
		return err
	}
	if err := db.logTombstone(&t, reached); err != nil {
		return err
	}
	// It is carried out: whatever fails now, the manifest follows, or what it hid of
	// the parts would be read again.
	if db.opts.Sync.mode != syncOff {
		if syncErr := db.log.SyncTo(t.seq); syncErr != nil {
			err = db.logFailed(syncErr)
		}
	}
	return errors.Join(err, db.saveTombstone(t, reached))
}

// logTombstone writes the delete to the log and carries it out, with no write in
// between and, as readers see it, at one moment.
func (db *DB) logTombstone(t *tombstone, reached []partView) error {
	db.gate.Lock()
	defer db.gate.Unlock()
	if db.closed {
		return ErrClosed
	}
	rec := record.Tombstone{MinT: t.mint, MaxT: t.maxt}
	for _, m := range t.matchers {
		rec.Matchers = append(rec.Matchers, record.Matcher{Type: m.Type, Name: m.Name, Value: m.Value})
	}
	seq, err := db.log.Append(db.log.Segment(), record.TypeTombstone, 0, record.AppendTombstone(nil, rec))
	if err != nil {
		return db.logFailed(err)
	}
	t.seq = seq
	db.change(func(next *state) {
		if _, err = db.head.Delete(t.mint, t.maxt, t.matchers); err == nil {
			next.hide(*t, reached)
		}
	})
	return err
}

// hide puts parts in place of which a delete hides something, see reach.
func (s *state) hide(t tombstone, reached []partView) {
	if reached == nil {
		return
	}
	t.unsaved = true
	s.parts = reached
	s.tombstones = append(s.tombstones, t)
}

// applyTombstone is a delete read from the log.
func (db *DB) applyTombstone(t tombstone) error {
	if _, err := db.head.Delete(t.mint, t.maxt, t.matchers); err != nil {
		return err
	}
	s := db.acquire()
	known := slices.ContainsFunc(s.tombstones, func(x tombstone) bool { return x.seq == t.seq })
	s.refs.release()
	if known {
		return nil
	}
	if err := db.setAsideUnreachable(t); err != nil {
		return err
	}
	reached, err := db.reach(t)
	if err != nil {
		return err
	}
	db.change(func(next *state) { next.hide(t, reached) })
	return db.saveTombstone(t, reached)
}

// reach returns the parts as they are with what a delete hides of them, nil if
// it concerns no part and no sealed generation. jobs must be held until that is
// put in place.
func (db *DB) reach(t tombstone) ([]partView, error) {
	s := db.acquire()
	defer s.refs.release()
	needed := slices.ContainsFunc(s.gens, func(g *liveGen) bool { return g.sealedAt != 0 })
	next := append([]partView{}, s.parts...)
	for i := range next {
		more, err := hide(next[i].livePart, []tombstone{t})
		if err != nil {
			return nil, err
		}
		if len(more) == 0 {
			continue
		}
		needed = true
		all := maps.Clone(next[i].hidden)
		if all == nil {
			all = more
		} else {
			for ord, intervals := range more {
				all[ord] = append(slices.Clone(all[ord]), intervals...)
			}
		}
		next[i].hidden = all
	}
	if !needed {
		return nil, nil
	}
	return next, nil
}

// saveTombstone makes a delete that was carried out known to the manifest, if it
// concerns any part or sealed generation; where it concerns none it leaves no
// trace. When the manifest fails, the next flush saves it. jobs must be held.
func (db *DB) saveTombstone(t tombstone, reached []partView) error {
	if reached == nil {
		return nil
	}
	if err := db.manifest.Apply(manifest.Edit{AddTombstones: []manifest.Tombstone{t.saved()}}); err != nil {
		return fmt.Errorf("publish tombstone: %w", err)
	}
	db.change(func(next *state) {
		for i := range next.tombstones {
			if x := &next.tombstones[i]; x.seq == t.seq {
				x.unsaved = false
			}
		}
	})
	return nil
}

func (t *tombstone) saved() manifest.Tombstone {
	saved := manifest.Tombstone{Seq: t.seq, MinT: t.mint, MaxT: t.maxt}
	for _, m := range t.matchers {
		saved.Matchers = append(saved.Matchers, manifest.Matcher{Type: uint8(m.Type), Name: m.Name, Value: m.Value})
	}
	return saved
}

// CleanTombstones rewrites every part that a delete hides something of. A
// damaged one stays as it is, and the error tells.
func (db *DB) CleanTombstones(ctx context.Context) error {
	defer db.hurried()()
	if err := db.beginJob(); err != nil {
		return err
	}
	err := db.flushLocked(ctx, false)
	db.jobs.Unlock()
	if err != nil {
		return err
	}
	ctx, done := db.beginMerge(ctx)
	defer done()
	s, err := db.readingParts(func(p partView) bool { return len(p.hidden) > 0 })
	if err != nil {
		return err
	}
	defer s.refs.release()
	var errs []error
	for _, p := range s.parts {
		if err := db.mergeParts(ctx, s, []partView{p}); err != nil {
			errs = append(errs, fmt.Errorf("clean tombstones: %w", err))
			if !errors.Is(err, ErrCorrupt) {
				break
			}
		}
	}
	return db.endedMerge(errors.Join(append(errs, db.retireTombstones())...))
}

// retireTombstones forgets the deletes that no part or sealed generation needs
// any more.
func (db *DB) retireTombstones() error {
	if err := db.beginJob(); err != nil {
		return err
	}
	defer db.jobs.Unlock()
	s := db.acquire()
	defer s.refs.release()
	var gone []uint64
	for i := range s.tombstones {
		needed, err := s.needs(&s.tombstones[i])
		if err != nil {
			return err
		}
		if !needed {
			gone = append(gone, s.tombstones[i].seq)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	if err := db.manifest.Apply(manifest.Edit{RemoveTombstones: gone}); err != nil {
		return fmt.Errorf("retire tombstones: %w", err)
	}
	db.change(func(n *state) {
		n.tombstones = slices.DeleteFunc(n.tombstones, func(t tombstone) bool { return slices.Contains(gone, t.seq) })
	})
	return nil
}

func (s *state) needs(t *tombstone) (bool, error) {
	for _, g := range s.gens {
		if g.sealedAt != 0 && g.sealedAt < t.seq {
			return true, nil
		}
	}
	for _, p := range s.parts {
		hidden, err := hide(p.livePart, []tombstone{*t})
		if err != nil || len(hidden) > 0 {
			return true, err
		}
	}
	return false, nil
}
