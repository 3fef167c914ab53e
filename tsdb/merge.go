package tsdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve/tsdb/internal/manifest"
	"github.com/varvedb/varve/tsdb/internal/merge"
	"github.com/varvedb/varve/tsdb/internal/part"
)

// ForceMerge flushes and joins the parts of each open day into one, and those of
// the days before by thirds of a month as far as the retention and the memory allow, leaving
// out what was deleted.
func (db *DB) ForceMerge(ctx context.Context) error {
	defer db.hurried()()
	if err := db.ForceFlush(ctx); err != nil {
		return err
	}
	if err := db.mergeAll(ctx, true); err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	return db.retireTombstones()
}

// Tidy drops what is past the retention and joins the parts that ought to be
// joined. The store does so by itself every now and then.
func (db *DB) Tidy(ctx context.Context) error {
	if err := db.retire(time.Now()); err != nil {
		return err
	}
	if err := db.mergeAll(ctx, false); err != nil {
		return err
	}
	return db.retireTombstones()
}

// mergeAll runs the merges that planning wants. A damaged part keeps those it
// shares days with from being merged, and no other.
func (db *DB) mergeAll(ctx context.Context, force bool) error {
	ctx, done := db.beginMerge(ctx)
	defer done()
	var errs []error
	if force {
		errs = db.damagedParts()
	}
	failed, again := db.mergePlanned(ctx, force)
	errs = append(errs, failed...)
	if again { // around what was found damaged
		more, _ := db.mergePlanned(ctx, force)
		errs = append(errs, more...)
	}
	return db.endedMerge(errors.Join(errs...))
}

// damagedParts returns an error for each part that cannot be merged.
func (db *DB) damagedParts() (errs []error) {
	s := db.acquire()
	defer s.refs.release()
	for _, p := range s.parts {
		if err := p.part.FirstDamage(); err != nil {
			errs = append(errs, fmt.Errorf("part %s stays as it is: %w", db.partDir(p.info), err))
		}
	}
	return errs
}

// mergePlanned plans once and merges what was planned; again tells that damage
// was found that the plan did not know. Unless forced, what failed is not tried
// again. merging must be held.
func (db *DB) mergePlanned(ctx context.Context, force bool) (errs []error, again bool) {
	groups, err := db.planMerges(force)
	if err != nil {
		return []error{err}, false
	}
	for _, group := range groups {
		key := fmt.Sprint(group)
		if !force && db.unmergeable[key] {
			continue
		}
		found, err := db.mergeGroup(ctx, group)
		if err == nil {
			continue
		}
		errs = append(errs, err)
		if !errors.Is(err, ErrCorrupt) {
			return errs, false
		}
		db.noteUnmergeable(key)
		again = again || found
	}
	return errs, again
}

// planMerges returns the groups of parts that ought to be joined.
func (db *DB) planMerges(force bool) ([][]uint64, error) {
	s, err := db.reading()
	if err != nil {
		return nil, err
	}
	defer s.refs.release()
	now := time.Now()
	var candidates []merge.Candidate
	for _, p := range s.parts {
		candidates = append(candidates, merge.Candidate{
			ID: p.info.ID, MinDay: dayOf(p.info.MinT), MaxDay: dayOf(p.info.MaxT), SeqMin: p.info.SeqMin,
			Samples: p.info.Samples, Series: p.info.Series, Hidden: len(p.hidden) > 0, Damaged: p.part.FirstDamage() != nil, Age: now.Sub(p.since),
		})
	}
	return merge.Plan(candidates, db.mergePolicy(now, force)), nil
}

// mergeGroup merges parts by their numbers; found tells that one of them is known
// to be damaged. It does nothing when one was dropped since they were chosen.
func (db *DB) mergeGroup(ctx context.Context, group []uint64) (found bool, err error) {
	s, err := db.readingParts(func(p partView) bool { return slices.Contains(group, p.info.ID) })
	if err != nil {
		return false, err
	}
	defer s.refs.release()
	if len(s.parts) < len(group) {
		return false, nil
	}
	err = db.mergeParts(ctx, s, s.parts)
	return slices.ContainsFunc(s.parts, func(p partView) bool { return p.part.FirstDamage() != nil }), err
}

// mergePolicy keeps parts short beside the retention, which drops them whole, and
// merges small beside the memory: one holds numbers of the labels of all its series.
func (db *DB) mergePolicy(now time.Time, force bool) merge.Policy {
	p := merge.Policy{Today: dayOf(now.UnixMilli()), MaxDays: maxPartDays, MaxSeries: uint64(db.opts.MemoryBudget / mergeSeriesBytes), Force: force}
	if db.opts.Retention > 0 {
		p.MaxDays = min(p.MaxDays, 1+int(db.opts.Retention/(10*24*time.Hour)))
	}
	if db.opts.RetentionBytes > 0 {
		p.MaxDays = 1
	}
	return p
}

// maxPartDays divides a month in three: more days a part save little of the index,
// and a query of one day passes over the series of all the others.
const maxPartDays = 11

// mergeSeriesBytes is what a merge is allowed to take for a series.
const mergeSeriesBytes = 64

// beginMerge takes the lock of merges, which done gives back, and makes a
// context that ends with the store too, so that closing need not wait.
func (db *DB) beginMerge(ctx context.Context) (merging context.Context, done func()) {
	done = db.hurried()
	db.merging.Lock()
	done()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(db.life, cancel)
	return ctx, func() {
		stop()
		cancel()
		db.merging.Unlock()
	}
}

// endedMerge tells a merge that closing broke off from one that its caller did.
func (db *DB) endedMerge(err error) error {
	if errors.Is(err, context.Canceled) && db.life.Err() != nil {
		return ErrClosed
	}
	return err
}

// maxUnmergeable bounds what is remembered of damaged groups.
const maxUnmergeable = 1000

func (db *DB) noteUnmergeable(key string) {
	if db.unmergeable == nil || len(db.unmergeable) >= maxUnmergeable {
		db.unmergeable = map[string]bool{}
	}
	db.unmergeable[key] = true
}

// mergeParts joins parts of one month, given in the order of their sequence
// numbers, and publishes the result in their place. They are of s, which the
// caller holds. Writes, flushes and deletes go on meanwhile; merging is held.
func (db *DB) mergeParts(ctx context.Context, s *state, inputs []partView) error {
	began := time.Now()
	result := manifest.Part{SeqMin: inputs[0].info.SeqMin}
	mint, maxt := inputs[0].info.MinT, inputs[0].info.MaxT
	ins := make([]merge.Input, len(inputs))
	for i, p := range inputs {
		ins[i] = merge.Input{Part: p.part, Hidden: p.hidden}
		mint, maxt = min(mint, p.info.MinT), max(maxt, p.info.MaxT)
		result.SeqMin = min(result.SeqMin, p.info.SeqMin)
		result.SeqMax = max(result.SeqMax, p.info.SeqMax)
		result.DeletedSeq = max(result.DeletedSeq, p.info.DeletedSeq)
	}
	for _, t := range s.tombstones {
		result.DeletedSeq = max(result.DeletedSeq, t.seq)
	}
	opts := part.WriterOptions{AllowMonth: dayOf(mint) != dayOf(maxt)}
	made, err := db.writePart(mint, opts, func(w *part.Writer) error {
		return merge.Run(db.pace(ctx).rest, w, ins, mint, maxt)
	}, result.SeqMin, result.SeqMax)
	if err != nil {
		return err
	}
	info := MergeInfo{Inputs: len(inputs)}
	var add []partView
	if made != nil {
		made.info.DeletedSeq = result.DeletedSeq
		add = []partView{{livePart: made}}
		info.Samples, info.Bytes = made.info.Samples, made.info.Bytes
	}
	if published, err := db.publishMerge(inputs, add); err != nil || !published {
		return err
	}
	info.Took = time.Since(began)
	db.opts.Events.merged(info)
	return nil
}

// publishMerge puts the result of a merge in the place of its inputs, hiding in
// it what was deleted since it began. It is given up if one of them is gone.
func (db *DB) publishMerge(inputs, add []partView) (published bool, err error) {
	if err := db.beginJob(); err != nil {
		db.discard(add)
		return false, err
	}
	defer db.jobs.Unlock()
	s := db.acquire()
	defer s.refs.release()
	for _, in := range inputs {
		if !s.has(in.livePart) {
			db.discard(add)
			return false, nil
		}
	}
	if err := db.hideIn(add); err != nil {
		db.discard(add)
		return false, err
	}
	return true, db.replaceParts(inputs, add)
}

// replaceParts takes parts out of the store and puts others in, in one step of
// the manifest. The folders of the old ones go with their last reader. jobs must
// be held.
func (db *DB) replaceParts(remove, add []partView) error {
	edit := manifest.Edit{NextPartID: db.nextPartID()}
	for _, p := range remove {
		edit.RemoveParts = append(edit.RemoveParts, p.info.ID)
	}
	for _, p := range add {
		edit.AddParts = append(edit.AddParts, p.info)
	}
	if err := db.manifest.Apply(edit); err != nil {
		db.unpublished(add, err)
		return fmt.Errorf("publish parts: %w", err)
	}
	db.change(func(next *state) {
		next.parts = slices.DeleteFunc(next.parts, func(p partView) bool {
			if !slices.Contains(edit.RemoveParts, p.info.ID) {
				return false
			}
			p.obsolete = true
			return true
		})
		next.parts = append(next.parts, add...)
	})
	for _, p := range add {
		p.refs.release() // the state holds it now
	}
	return nil
}
