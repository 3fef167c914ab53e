package tsdb

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/manifest"
	"github.com/varvedb/varve/tsdb/internal/record"
)

// Delete hides the samples and exemplars inside [mint, maxt] of the series that
// all matchers match: those acknowledged before it, none written later. Series
// with nothing left vanish from the label calls at once; their bytes go with
// the next merge or CleanTombstones. It is durable when it returns nil.
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
	db.jobs.Lock()
	defer db.jobs.Unlock()
	t := tombstone{mint: mint, maxt: maxt, matchers: ms}
	if err := db.logTombstone(&t); err != nil {
		return err
	}
	if db.opts.Sync.mode != syncOff {
		if err := db.log.SyncTo(t.seq); err != nil {
			return db.logFailed(err)
		}
	}
	return db.applyToParts(t)
}

// logTombstone writes the delete to the log and takes the samples out of the
// active generation, with no write in between.
func (db *DB) logTombstone(t *tombstone) error {
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
	db.head.Delete(t.mint, t.maxt, t.matchers)
	return nil
}

// applyTombstone is a delete read from the log.
func (db *DB) applyTombstone(t tombstone) error {
	db.head.Delete(t.mint, t.maxt, t.matchers)
	s := db.acquire()
	known := slices.ContainsFunc(s.tombstones, func(x tombstone) bool { return x.seq == t.seq })
	s.refs.release()
	if known {
		return nil
	}
	return db.applyToParts(t)
}

// applyToParts makes a delete known to the parts and sealed generations that it
// concerns and to the manifest; where it concerns none it leaves no trace. jobs
// must be held.
func (db *DB) applyToParts(t tombstone) error {
	s := db.acquire()
	defer s.refs.release()
	needed := false
	next := slices.Clone(s.parts)
	all := append(slices.Clone(s.tombstones), t)
	for i := range next {
		more, err := hide(next[i].livePart, []tombstone{t})
		if err != nil {
			return err
		}
		if len(more) == 0 {
			continue
		}
		needed = true
		if next[i].hidden, err = hide(next[i].livePart, all); err != nil {
			return err
		}
	}
	for _, g := range s.gens {
		needed = needed || g.sealedAt != 0
	}
	if !needed {
		return nil
	}
	saved := manifest.Tombstone{Seq: t.seq, MinT: t.mint, MaxT: t.maxt}
	for _, m := range t.matchers {
		saved.Matchers = append(saved.Matchers, manifest.Matcher{Type: uint8(m.Type), Name: m.Name, Value: m.Value})
	}
	if err := db.manifest.Apply(manifest.Edit{AddTombstones: []manifest.Tombstone{saved}}); err != nil {
		return fmt.Errorf("publish tombstone: %w", err)
	}
	db.change(func(n *state) {
		n.parts = next
		n.tombstones = all
	})
	return nil
}

// CleanTombstones rewrites every part that a delete hides something of.
func (db *DB) CleanTombstones(ctx context.Context) error {
	db.jobs.Lock()
	defer db.jobs.Unlock()
	if err := db.flushLocked(ctx, false); err != nil {
		return err
	}
	for {
		s := db.acquire()
		i := slices.IndexFunc(s.parts, func(p partView) bool { return len(p.hidden) > 0 })
		if i < 0 {
			s.refs.release()
			return db.retireTombstones()
		}
		err := db.mergeParts(ctx, []partView{s.parts[i]})
		s.refs.release()
		if err != nil {
			return fmt.Errorf("clean tombstones: %w", err)
		}
	}
}

// retireTombstones forgets the deletes that no part or sealed generation needs
// any more. jobs must be held.
func (db *DB) retireTombstones() error {
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
