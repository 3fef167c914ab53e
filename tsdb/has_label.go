package tsdb

import (
	"slices"
	"sync/atomic"
)

// HasLabel tells whether any series of the store has a label, in what the View
// is pinned to or in the head; where damage hides the answer it is yes. Cost: a
// look-up among the labels of the head, and the first time that it is no, one in the
// dictionary of names of each part.
func (v *View) HasLabel(name string) bool { return v.state.hasLabel(v.db, name) }

// HasLabel tells whether any series has a label, as View.HasLabel.
func (db *DB) HasLabel(name string) (bool, error) {
	s, err := db.reading()
	if err != nil {
		return false, err
	}
	defer s.refs.release()
	return s.hasLabel(db, name), nil
}

func (s *state) hasLabel(db *DB, name string) bool {
	if db.head.HasLabel(name) {
		return true
	}
	if s.lacks.has(name) {
		return false
	}
	if s.partsHaveLabel(name) {
		return true
	}
	s.lacks.add(name)
	return false
}

func (s *state) partsHaveLabel(name string) bool {
	for i := range s.parts {
		index, err := s.parts[i].part.Index()
		if err != nil {
			return true
		}
		has := false
		if err := index.Guard(func() error {
			has = index.Column(name).Len() > 0
			return nil
		}); err != nil || has {
			return true
		}
	}
	return false
}

// lacking remembers labels that the parts of a state lack: parts do not change, and
// other parts are another state. It is for the few names that every query asks for.
type lacking struct{ names atomic.Pointer[[]string] }

// maxLacking bounds the names that are remembered.
const maxLacking = 8

func (l *lacking) has(name string) bool {
	names := l.names.Load()
	return names != nil && slices.Contains(*names, name)
}

// add remembers a name, unless there are enough or another comes at the same time.
func (l *lacking) add(name string) {
	old := l.names.Load()
	var names []string
	if old != nil {
		names = *old
	}
	if len(names) < maxLacking {
		names = append(slices.Clone(names), name)
		l.names.CompareAndSwap(old, &names)
	}
}
