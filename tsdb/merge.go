package tsdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve/tsdb/internal/manifest"
	"github.com/varvedb/varve/tsdb/internal/merge"
	"github.com/varvedb/varve/tsdb/internal/part"
)

// ForceMerge flushes and joins the parts of each day into one, leaving out what
// was deleted.
func (db *DB) ForceMerge(ctx context.Context) error {
	if err := db.ForceFlush(ctx); err != nil {
		return err
	}
	if err := db.beginJob(); err != nil {
		return err
	}
	defer db.jobs.Unlock()
	if err := db.mergeLocked(ctx, true); err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	return db.retireTombstones()
}

// Tidy drops what is past the retention and joins the parts that ought to be
// joined. The store does so by itself every now and then.
func (db *DB) Tidy(ctx context.Context) error {
	if err := db.beginJob(); err != nil {
		return err
	}
	defer db.jobs.Unlock()
	if err := db.retire(time.Now()); err != nil {
		return err
	}
	if err := db.mergeLocked(ctx, false); err != nil {
		return err
	}
	return db.retireTombstones()
}

// mergeLocked runs the merges that planning wants. A damaged part keeps its day
// from being merged, and no other. jobs must be held.
func (db *DB) mergeLocked(ctx context.Context, force bool) error {
	s := db.acquire()
	defer s.refs.release()
	byID := map[uint64]partView{}
	var candidates []merge.Candidate
	var errs []error
	for _, p := range s.parts {
		byID[p.info.ID] = p
		candidates = append(candidates, merge.Candidate{
			ID: p.info.ID, Day: dayOf(p.info.MinT), SeqMin: p.info.SeqMin,
			Samples: p.info.Samples, Hidden: len(p.hidden) > 0,
		})
	}
	for _, group := range merge.Plan(candidates, dayOf(time.Now().UnixMilli()), force) {
		inputs := make([]partView, len(group))
		for i, id := range group {
			inputs[i] = byID[id]
		}
		if err := db.mergeParts(ctx, inputs); err != nil {
			errs = append(errs, err)
			if !errors.Is(err, ErrCorrupt) {
				break
			}
		}
	}
	return errors.Join(errs...)
}

// mergeParts joins parts of one day, given in the order of their sequence
// numbers, and publishes the result in their place. jobs must be held, so that
// no delete comes in between.
func (db *DB) mergeParts(ctx context.Context, inputs []partView) error {
	began := time.Now()
	s := db.acquire()
	defer s.refs.release()
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
	made, err := db.writePart(mint, func(w *part.Writer) error {
		return merge.Run(ctx, w, ins, mint, maxt)
	}, result.SeqMin, result.SeqMax)
	if err != nil {
		return err
	}
	var add []partView
	if made != nil {
		made.info.DeletedSeq = result.DeletedSeq
		add = []partView{{livePart: made}}
	}
	if err := db.replaceParts(inputs, add); err != nil {
		return err
	}
	info := MergeInfo{Inputs: len(inputs), Took: time.Since(began)}
	if made != nil {
		info.Samples, info.Bytes = made.info.Samples, made.info.Bytes
	}
	db.opts.Events.merged(info)
	return nil
}

// replaceParts takes parts out of the store and puts others in, in one step of
// the manifest. The folders of the old ones go with their last reader.
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

// retire drops the parts that are past the retention, by age and then by size.
// jobs must be held.
func (db *DB) retire(now time.Time) error {
	s := db.acquire()
	defer s.refs.release()
	oldest := db.oldest(now)
	byAge, rest := []partView{}, []partView{}
	for _, p := range s.parts {
		if p.info.MaxT < oldest {
			byAge = append(byAge, p)
		} else {
			rest = append(rest, p)
		}
	}
	if err := db.drop(byAge, "age"); err != nil {
		return err
	}
	return db.drop(tooMuch(rest, db.opts.RetentionBytes), "size")
}

// tooMuch returns the oldest days' parts that have to go so that the rest fits
// into limit. The newest day always stays.
func tooMuch(parts []partView, limit int64) []partView {
	if limit <= 0 || len(parts) == 0 {
		return nil
	}
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b partView) int { return cmp.Compare(a.info.MinT, b.info.MinT) })
	var total uint64
	for _, p := range parts {
		total += p.info.Bytes
	}
	newest := dayOf(parts[len(parts)-1].info.MinT)
	n := 0
	for day := dayOf(parts[0].info.MinT); total > uint64(limit) && day < newest; day = dayOf(parts[n].info.MinT) {
		for n < len(parts) && dayOf(parts[n].info.MinT) == day {
			total -= parts[n].info.Bytes
			n++
		}
	}
	return parts[:n]
}

func (db *DB) drop(parts []partView, reason string) error {
	if len(parts) == 0 {
		return nil
	}
	if err := db.replaceParts(parts, nil); err != nil {
		return err
	}
	info := RetireInfo{Parts: len(parts), Reason: reason}
	for _, p := range parts {
		info.Bytes += p.info.Bytes
	}
	db.opts.Events.retired(info)
	return nil
}
