package inspect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/varvedb/varve/tsdb/internal/manifest"
)

// Check looks at everything in the folder: the manifest, every part against it,
// the log, and what no one knows.
func (s *Store) Check(out io.Writer) error {
	r := &report{out: out}
	state, ok, err := s.manifest(r)
	if err != nil {
		return err
	}
	if ok {
		r.printf("manifest is sound: %d parts, %d tombstones, log flushed up to %d\n", len(state.Parts), len(state.Tombstones), state.FlushedSeq)
	}
	refs, err := s.parts(&report{out: io.Discard}, nil)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if err := s.verifyPart(r, ref); err != nil {
			return err
		}
	}
	if ok {
		checkOrder(r, state)
		if err := s.strangers(r, state); err != nil {
			return err
		}
	}
	if err := s.verifyLog(r); err != nil {
		return err
	}
	if err := s.setAside(r, state); err != nil {
		return err
	}
	return r.result()
}

// checkOrder holds the ids and times of parts to the rules.
func checkOrder(r *report, state manifest.State) {
	for _, id := range slices.Sorted(maps.Keys(state.Parts)) {
		p := state.Parts[id]
		switch {
		case p.MinT > p.MaxT:
			r.damaged("part %012d: its times %d to %d are no range", id, p.MinT, p.MaxT)
		case p.SeqMin > p.SeqMax:
			r.damaged("part %012d: its sequence numbers %d to %d are no range", id, p.SeqMin, p.SeqMax)
		case p.SeqMax > state.FlushedSeq:
			r.damaged("part %012d: it has samples of frame %d, the log was flushed up to %d", id, p.SeqMax, state.FlushedSeq)
		}
		if id >= state.NextPartID {
			r.damaged("part %012d: its id is not below the next one, %d", id, state.NextPartID)
		}
	}
}

// strangers prints folders that the manifest does not list: parts that were
// being written, or merged away and not removed yet. The store removes them
// when it is opened; they are no damage.
func (s *Store) strangers(r *report, state manifest.State) error {
	known := map[string]bool{}
	for _, info := range state.Parts {
		known[s.partDir(partRef{info: info})] = true
	}
	root := path.Join(s.dir, partsDir)
	months, err := s.fs.List(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list parts: %w", err)
	}
	for _, month := range months {
		names, err := s.fs.List(path.Join(root, month))
		if err != nil {
			return fmt.Errorf("list parts: %w", err)
		}
		for _, name := range names {
			if dir := path.Join(root, month, name); !known[dir] {
				r.printf("%s is not in the manifest; it goes when the store is opened\n", dir)
			}
		}
	}
	return nil
}

// setAside prints what was found damaged before.
func (s *Store) setAside(r *report, state manifest.State) error {
	for _, id := range slices.Sorted(maps.Keys(state.Quarantined)) {
		r.printf("part %012d was set aside before: %s\n", id, state.Quarantined[id])
	}
	dir := path.Join(s.dir, quarantineDir)
	names, err := s.fs.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list quarantine: %w", err)
	}
	for _, name := range names {
		r.printf("%s was set aside before\n", path.Join(dir, name))
	}
	return nil
}
