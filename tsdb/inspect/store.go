package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/manifest"
	"github.com/varvedb/varve/tsdb/internal/part"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// The folders of a store.
const (
	walDir        = "wal"
	partsDir      = "parts"
	quarantineDir = "quarantine"
)

// Store is the folder of a store. It holds no file open between calls and may
// be used by many goroutines.
type Store struct {
	fs  vfs.FS
	dir string
}

// Open looks at a folder of the operating system. It fails if that does not
// look like a store's.
func Open(dir string) (*Store, error) { return open(vfs.OS{}, filepath.ToSlash(dir)) }

func open(fsys vfs.FS, dir string) (*Store, error) {
	for _, name := range []string{manifest.FileName, partsDir, walDir} {
		if _, err := fsys.Stat(path.Join(dir, name)); err == nil {
			return &Store{fs: fsys, dir: dir}, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("open store: %w", err)
		}
	}
	return nil, fmt.Errorf("open store: %s has neither %s nor the folders %s and %s: %w", dir, manifest.FileName, partsDir, walDir, fs.ErrNotExist)
}

// partRef is a part as the manifest lists it, or as its folder was found.
type partRef struct {
	info   manifest.Part
	listed bool // the manifest lists it: info is complete
}

func (p partRef) name() string { return fmt.Sprintf("%012d", p.info.ID) }

func (s *Store) partDir(p partRef) string { return path.Join(s.dir, partsDir, p.info.Month, p.name()) }

// manifest reads the manifest; ok is false when it is damaged, which is
// printed. A missing one is an empty one: the store may never have been opened.
func (s *Store) manifest(r *report) (state manifest.State, ok bool, err error) {
	state, err = manifest.Read(s.fs, s.dir)
	switch {
	case err == nil:
		return state, true, nil
	case errors.Is(err, manifest.ErrCorrupt):
		r.damaged("%v", err)
		return state, false, nil
	case errors.Is(err, fs.ErrNotExist):
		r.damaged("%s is missing", path.Join(s.dir, manifest.FileName))
		return state, false, nil
	}
	return state, false, err
}

// parts returns the live parts with these ids, all if there are none. Without a
// sound manifest it returns those whose folders it finds.
func (s *Store) parts(r *report, ids []uint64) ([]partRef, error) {
	state, ok, err := s.manifest(r)
	if err != nil {
		return nil, err
	}
	var refs []partRef
	if ok {
		for _, id := range slices.Sorted(maps.Keys(state.Parts)) {
			refs = append(refs, partRef{info: state.Parts[id], listed: true})
		}
	} else {
		r.printf("going by the folders under %s\n", path.Join(s.dir, partsDir))
		if refs, err = s.folders(); err != nil {
			return nil, err
		}
	}
	if len(ids) == 0 {
		return refs, nil
	}
	for _, id := range ids {
		if !slices.ContainsFunc(refs, func(p partRef) bool { return p.info.ID == id }) {
			return nil, fmt.Errorf("part %d: %w", id, fs.ErrNotExist)
		}
	}
	return slices.DeleteFunc(refs, func(p partRef) bool { return !slices.Contains(ids, p.info.ID) }), nil
}

// folders returns the folders that parts are in, by id.
func (s *Store) folders() ([]partRef, error) {
	root := path.Join(s.dir, partsDir)
	months, err := s.fs.List(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list parts: %w", err)
	}
	var refs []partRef
	for _, month := range months {
		names, err := s.fs.List(path.Join(root, month))
		if err != nil {
			return nil, fmt.Errorf("list parts: %w", err)
		}
		for _, name := range names {
			ref := partRef{info: manifest.Part{Month: month}}
			if ref.info.ID, err = strconv.ParseUint(name, 10, 64); err == nil && ref.name() == name {
				refs = append(refs, ref)
			}
		}
	}
	slices.SortFunc(refs, func(a, b partRef) int { return cmp.Compare(a.info.ID, b.info.ID) })
	return refs, nil
}

// withPart calls f with the opened part and prints what is wrong with it.
func (s *Store) withPart(r *report, ref partRef, f func(p *part.Part) error) error {
	p, err := part.Open(s.fs, s.partDir(ref))
	if err == nil {
		err = errors.Join(f(p), p.Close())
	}
	return s.sift(r, ref, err)
}

// sift prints an error that tells of damage, and passes others on.
func (s *Store) sift(r *report, ref partRef, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist) && s.gone(ref):
		r.wentAway(ref)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, block.ErrCorrupt):
		r.damaged("part %s: %v", ref.name(), err)
	case errors.Is(err, block.ErrVersion):
		r.damaged("part %s cannot be read: %v", ref.name(), err)
	default:
		return fmt.Errorf("part %s: %w", ref.name(), err)
	}
	return nil
}

func (r *report) wentAway(ref partRef) {
	r.printf("part %s is gone: merged or dropped meanwhile\n", ref.name())
}

// gone tells whether the manifest does not list the part any more.
func (s *Store) gone(ref partRef) bool {
	state, err := manifest.Read(s.fs, s.dir)
	if err != nil {
		return false
	}
	_, live := state.Parts[ref.info.ID]
	return !live && ref.listed
}
