package tsdb

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/varvedb/varve/tsdb/internal/head"
	"github.com/varvedb/varve/tsdb/internal/manifest"
	"github.com/varvedb/varve/tsdb/internal/part"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

const dayMs = 24 * 60 * 60 * 1000

// dayOf returns the UTC day of a time in milliseconds, counted from 1970.
func dayOf(t int64) int64 { return t / dayMs }

// ForceFlush writes all samples in memory out as parts. When it returns nil
// they are on disk for good.
func (db *DB) ForceFlush(ctx context.Context) error {
	defer db.hurried()()
	if err := db.flushOnce(ctx, true); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	return nil
}

// flushOnce seals the active generation if asked to and writes out all sealed
// ones, oldest first.
func (db *DB) flushOnce(ctx context.Context, seal bool) error {
	if err := db.beginJob(); err != nil {
		return err
	}
	defer db.jobs.Unlock()
	return db.flushLocked(ctx, seal)
}

func (db *DB) flushLocked(ctx context.Context, seal bool) error {
	if seal {
		if err := db.seal(); err != nil {
			return err
		}
	}
	defer db.releaseLog()
	if err := db.flushSealed(ctx); err != nil {
		return err
	}
	return db.dropIdle()
}

// dropIdle drops the series that flushing left idle if they are many, unless there
// are samples again: then sealing these does it. jobs must be held.
func (db *DB) dropIdle() error {
	idle := db.head.Idle()
	if idle < manyIdle || idle*4 < db.head.SeriesCount() {
		return nil
	}
	dropped, err := db.dropIfEmpty()
	if err != nil || !dropped {
		return err
	}
	if err := db.head.Compact(); err != nil {
		db.opts.Events.backgroundErr("compact index of head", err)
	}
	return nil
}

// manyIdle is from how many series on dropping them is worth a segment of the log.
const manyIdle = 10_000

func (db *DB) dropIfEmpty() (dropped bool, err error) {
	db.gate.Lock()
	defer db.gate.Unlock()
	if db.head.Active().Samples() > 0 || db.log.LastSeq() != db.sealed {
		return false, nil
	}
	if _, err := db.log.Rotate(); err != nil {
		return false, fmt.Errorf("begin log segment: %w", err)
	}
	db.head.Collect() // see sealAndRotate
	return true, nil
}

// flushSealed writes out the sealed generations. jobs must be held.
func (db *DB) flushSealed(ctx context.Context) error {
	for {
		s := db.acquire()
		var oldest *liveGen
		if len(s.gens) > 1 {
			oldest = s.gens[0]
			oldest.refs.acquire()
		}
		s.refs.release()
		if oldest == nil {
			return nil
		}
		err := db.flushGeneration(ctx, oldest)
		oldest.refs.release()
		if err != nil {
			return err
		}
	}
}

// seal closes the active generation. The log begins a new segment with the next
// one, so that whole segments can go when it is flushed.
func (db *DB) seal() error {
	sealed, err := db.sealAndRotate()
	if err != nil || !sealed {
		return err
	}
	if err := db.head.Compact(); err != nil {
		db.opts.Events.backgroundErr("compact index of head", err)
	}
	return nil
}

func (db *DB) sealAndRotate() (sealed bool, err error) {
	db.gate.Lock()
	defer db.gate.Unlock()
	empty := db.head.Active().Samples() == 0 && db.log.LastSeq() == db.sealed
	if empty && !db.log.Failed() {
		return false, nil
	}
	if _, err := db.log.Rotate(); err != nil {
		return false, fmt.Errorf("begin log segment: %w", err)
	}
	if empty {
		return false, nil // it was for the log alone
	}
	db.sealAt(db.log.LastSeq())
	// Here alone: the slot of a series that is dropped goes to another one, and
	// within a segment of the log its number must mean one series.
	db.collectSeries()
	return true, nil
}

// sealAt closes the active generation, which holds the frames up to seq. It
// needs the gate alone, or to be the log's replay.
func (db *DB) sealAt(seq uint64) {
	db.sealed = seq
	g := db.head.Seal()
	next := db.newLiveGen(db.head.Active())
	db.change(func(s *state) {
		last := s.gens[len(s.gens)-1]
		if last.gen != g {
			panic("tsdb: the sealed generation is not the active one")
		}
		sealed := &liveGen{gen: g, refs: last.refs, sealedAt: max(1, seq)}
		s.gens[len(s.gens)-1] = sealed
		s.gens = append(s.gens, next)
	})
	next.refs.release() // the state holds it now
}

// flushGeneration writes one sealed generation out and publishes its parts.
func (db *DB) flushGeneration(ctx context.Context, g *liveGen) error {
	began := time.Now()
	seqMin, seqMax, ok := g.gen.SeqRange()
	var made []partView
	if ok {
		var err error
		if made, err = db.writeGeneration(ctx, g.gen, seqMin, seqMax); err != nil {
			return err
		}
		if err := db.hideIn(made); err != nil {
			db.discard(made)
			return err
		}
	}
	sets, change := db.metadata.pending()
	edit := manifest.Edit{FlushedSeq: g.sealedAt, NextPartID: db.nextPartID(), SetMetadata: sets}
	s := db.acquire()
	for i := range s.tombstones {
		if s.tombstones[i].unsaved { // the log is about to lose it
			edit.AddTombstones = append(edit.AddTombstones, s.tombstones[i].saved())
		}
	}
	s.refs.release()
	info := FlushInfo{Parts: len(made)}
	for _, p := range made {
		edit.AddParts = append(edit.AddParts, p.info)
		info.Samples += p.info.Samples
		info.Bytes += p.info.Bytes
	}
	if err := db.manifest.Apply(edit); err != nil {
		db.unpublished(made, err)
		return fmt.Errorf("publish parts: %w", err)
	}
	db.metadata.saved(change)
	db.publish(made, g)
	info.Took = time.Since(began)
	db.opts.Events.flushed(info)
	return nil
}

// releaseLog removes the segments of the log that parts have all of.
func (db *DB) releaseLog() {
	if err := db.log.Release(db.manifest.State().FlushedSeq); err != nil {
		db.opts.Events.backgroundErr("remove log", err)
	}
}

// hideIn notes what deletes since the seal hide of new parts. It comes before
// they are published, after which nothing may fail. jobs must be held, so that
// no delete comes in between.
func (db *DB) hideIn(made []partView) (err error) {
	s := db.acquire()
	defer s.refs.release()
	for i := range made {
		if made[i].hidden, err = hide(made[i].livePart, s.tombstones); err != nil {
			return err
		}
	}
	return nil
}

// publish puts new parts in the place of the generation they came from.
func (db *DB) publish(made []partView, g *liveGen) {
	db.change(func(next *state) {
		next.parts = append(next.parts, made...)
		next.gens = slices.DeleteFunc(next.gens, func(x *liveGen) bool { return x.gen == g.gen })
	})
	for _, p := range made {
		p.refs.release() // the state holds it now
	}
}

// writeGeneration makes one part a day of the generation's samples.
func (db *DB) writeGeneration(ctx context.Context, g *head.Generation, seqMin, seqMax uint64) (made []partView, err error) {
	contents := db.head.Contents(g)
	pace, n := db.pace(ctx), 0
	defer func() {
		if err != nil {
			db.discard(made)
			made = nil
		}
	}()
	for _, day := range contents.Periods(dayMs) {
		if err := ctx.Err(); err != nil {
			return made, err
		}
		p, err := db.writePart(day*dayMs, part.WriterOptions{}, func(w *part.Writer) error {
			w.UseTerms(contents.Terms())
			return contents.Each(day*dayMs, (day+1)*dayMs-1, func(e *head.Entry) error {
				if n++; n%64 == 0 {
					if err := pace.rest(); err != nil {
						return err
					}
				}
				return addEntry(w, e)
			})
		}, seqMin, seqMax)
		if err != nil {
			return made, err
		}
		if p != nil {
			made = append(made, partView{livePart: p})
		}
	}
	return made, nil
}

func addEntry(w *part.Writer, e *head.Entry) error {
	if e.Samples != nil {
		if err := w.AddRow(e.Row, e.Samples); err != nil {
			return err
		}
	}
	if len(e.Exemplars) > 0 {
		return w.AddRowExemplars(e.Row, e.Exemplars)
	}
	return nil
}

// writePart makes a part of what fill adds, in its final place but not yet in
// the manifest. It returns nil if nothing was added.
func (db *DB) writePart(mint int64, opts part.WriterOptions, fill func(*part.Writer) error, seqMin, seqMax uint64) (*livePart, error) {
	info := manifest.Part{ID: db.takePartID(), Month: time.UnixMilli(mint).UTC().Format("2006-01")}
	final := db.partDir(info)
	monthDir := path.Dir(final)
	if err := vfs.MkdirDurable(db.fs, monthDir); err != nil {
		return nil, err
	}
	tmp := path.Join(monthDir, tmpPrefix+path.Base(final))
	meta, err := db.fillPart(tmp, opts, fill, seqMin, seqMax)
	if err != nil {
		return nil, errors.Join(err, db.fs.RemoveAll(tmp))
	}
	if meta.Samples == 0 && meta.Exemplars == 0 {
		return nil, db.fs.RemoveAll(tmp)
	}
	p, err := db.placePart(tmp, final)
	if err != nil {
		return nil, errors.Join(err, db.fs.RemoveAll(tmp), db.fs.RemoveAll(final))
	}
	info.MinT, info.MaxT, info.SeqMin, info.SeqMax = meta.MinT, meta.MaxT, meta.SeqMin, meta.SeqMax
	info.Samples, info.Series, info.Bytes, info.Format = meta.Samples, meta.Series, meta.Bytes, meta.Format
	return db.newLivePart(info, p), nil
}

// placePart moves a complete part to its final place and opens it.
func (db *DB) placePart(tmp, final string) (*part.Part, error) {
	if err := db.fs.Rename(tmp, final); err != nil {
		return nil, err
	}
	if err := db.fs.SyncDir(path.Dir(final)); err != nil {
		return nil, err
	}
	return part.Open(db.fs, final)
}

func (db *DB) fillPart(dir string, opts part.WriterOptions, fill func(*part.Writer) error, seqMin, seqMax uint64) (part.Meta, error) {
	w, err := part.Create(db.fs, dir, opts)
	if err != nil {
		return part.Meta{}, err
	}
	if err := fill(w); err != nil {
		return part.Meta{}, errors.Join(err, w.Abort())
	}
	return w.Commit(seqMin, seqMax)
}

// unpublished lets go of parts whose edit of the manifest failed. Their folders
// stay if the edit may yet turn out to have been written: the next start then
// removes them or finds them live.
func (db *DB) unpublished(made []partView, err error) {
	if !errors.Is(err, manifest.ErrUnsettled) {
		db.discard(made)
		return
	}
	for _, p := range made {
		p.refs.release()
	}
}

// discard removes parts that were written but not published.
func (db *DB) discard(made []partView) {
	db.mu.Lock()
	for _, p := range made {
		p.obsolete = true
	}
	db.mu.Unlock()
	for _, p := range made {
		p.refs.release()
	}
}

func (db *DB) takePartID() uint64 {
	db.mu.Lock()
	defer db.mu.Unlock()
	id := db.mu.nextPart
	db.mu.nextPart++
	return id
}

func (db *DB) nextPartID() uint64 {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.mu.nextPart
}

func (db *DB) partDir(p manifest.Part) string {
	return path.Join(db.dir, partsDir, p.Month, fmt.Sprintf("%012d", p.ID))
}

// collectSeries drops series without samples from the head once they are many.
// It needs the gate alone.
func (db *DB) collectSeries() {
	idle := db.head.Idle()
	if idle < 1000 && idle*10 < db.head.SeriesCount() {
		return
	}
	db.head.Collect()
}
