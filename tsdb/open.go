package tsdb

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/manifest"
	"github.com/varvedb/varve/tsdb/internal/part"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// openParts opens what the manifest lists, sets damaged parts aside and removes
// folders that no manifest knows: the log still has what is in them.
func (db *DB) openParts(durable manifest.State) error {
	first := &state{gens: []*liveGen{db.newLiveGen(db.head.Active())}}
	err := db.loadParts(first, durable)
	db.mu.Lock()
	db.installLocked(first)
	db.mu.Unlock()
	releaseAll(first)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, p := range first.parts {
		known[db.partDir(p.info)] = true
	}
	if err := db.removeOrphans(known); err != nil {
		return err
	}
	return db.removeUnfinishedSnapshots()
}

// loadParts fills s with the parts and tombstones of the manifest.
func (db *DB) loadParts(s *state, durable manifest.State) (err error) {
	if s.tombstones, err = readTombstones(durable.Tombstones); err != nil {
		return err
	}
	for _, id := range sortedIDs(durable.Parts) {
		info := durable.Parts[id]
		p, err := db.openPart(info, s.tombstones)
		if err == nil {
			s.parts = append(s.parts, p)
			continue
		}
		if damaged(err) {
			err = db.quarantine(info, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openPart opens a part, checks its index, and finds out what deletes hide of it:
// one of which that cannot be told is of no use.
func (db *DB) openPart(info manifest.Part, tombstones []tombstone) (view partView, err error) {
	p, err := part.Open(db.fs, db.partDir(info))
	if err != nil {
		return view, err
	}
	p.UseCaches(db.caches)
	p.UsePayloads(db.payloads)
	p.UseMinis(db.minis)
	p.UseMapped(db.mapped)
	if _, err := p.Index(); err != nil {
		return view, errors.Join(err, p.Close())
	}
	view.livePart = db.newLivePart(info, p)
	if view.hidden, err = hide(view.livePart, tombstones); err != nil {
		view.refs.release()
	}
	return view, err
}

// setAsideUnreachable moves parts to the quarantine of which it cannot be told
// what a delete hides.
func (db *DB) setAsideUnreachable(t tombstone) error {
	s := db.acquire()
	defer s.refs.release()
	for _, p := range s.parts {
		if _, err := hide(p.livePart, []tombstone{t}); damaged(err) {
			if err := db.quarantineLive(p.livePart, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// releaseAll gives up the references that came with the parts and generations
// when they were made; the state holds them if it is installed.
func releaseAll(s *state) {
	for _, p := range s.parts {
		p.refs.release()
	}
	for _, g := range s.gens {
		g.refs.release()
	}
}

// damaged tells bytes that are wrong or missing from a disk that cannot be read
// just now.
func damaged(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(err, fs.ErrNotExist)
}

func sortedIDs(parts map[uint64]manifest.Part) []uint64 {
	ids := make([]uint64, 0, len(parts))
	for id := range parts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func readTombstones(saved []manifest.Tombstone) ([]tombstone, error) {
	out := make([]tombstone, 0, len(saved))
	for _, t := range saved {
		next := tombstone{seq: t.Seq, mint: t.MinT, maxt: t.MaxT}
		for _, m := range t.Matchers {
			matcher, err := labels.NewMatcher(labels.MatchType(m.Type), m.Name, m.Value)
			if err != nil {
				return nil, fmt.Errorf("read tombstone %d: %w", t.Seq, err)
			}
			next.matchers = append(next.matchers, matcher)
		}
		out = append(out, next)
	}
	return out, nil
}

// quarantine moves a damaged part out of the way and says so in the manifest; in
// that order, since what the manifest does not list is removed.
func (db *DB) quarantine(info manifest.Part, cause error) error {
	err := fmt.Errorf("part %s set aside: %w", db.partDir(info), cause)
	db.opts.Events.corrupted(err)
	if err := db.setAside(info); err != nil {
		return err
	}
	return db.manifest.Apply(manifest.Edit{
		RemoveParts: []uint64{info.ID},
		Quarantine:  map[uint64]string{info.ID: cause.Error()},
	})
}

// setAside moves the folder of a part to the quarantine for good, if there is
// one.
func (db *DB) setAside(info manifest.Part) error {
	from := db.partDir(info)
	if _, err := db.fs.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	into := path.Join(db.dir, quarantineDir)
	if err := vfs.MkdirDurable(db.fs, into); err != nil {
		return err
	}
	to := path.Join(into, fmt.Sprintf("%s-%s", info.Month, path.Base(from)))
	for n := 1; ; n++ {
		if _, err := db.fs.Stat(to); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return err
		}
		to = path.Join(into, fmt.Sprintf("%s-%s.%d", info.Month, path.Base(from), n))
	}
	if err := db.fs.Rename(from, to); err != nil {
		return err
	}
	if err := db.fs.SyncDir(into); err != nil {
		return err
	}
	return db.fs.SyncDir(path.Dir(from))
}

func (db *DB) removeOrphans(known map[string]bool) error {
	root := path.Join(db.dir, partsDir)
	months, err := db.fs.List(root)
	if err != nil {
		return err
	}
	for _, month := range months {
		names, err := db.fs.List(path.Join(root, month))
		if err != nil {
			return err
		}
		for _, name := range names {
			dir := path.Join(root, month, name)
			if known[dir] && !strings.HasPrefix(name, tmpPrefix) {
				continue
			}
			if err := db.fs.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeUnfinishedSnapshots removes what a crash left of one that was being made:
// its links hold the space of parts that are gone.
func (db *DB) removeUnfinishedSnapshots() error {
	root := path.Join(db.dir, snapshotsDir)
	names, err := db.fs.List(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, tmpPrefix) {
			if err := db.fs.RemoveAll(path.Join(root, name)); err != nil {
				return err
			}
		}
	}
	return nil
}
