package tsdb

// HasLabel tells whether any series of the store has a label, in what the View
// is pinned to or in the head; where damage hides the answer it is yes. Cost: a
// look-up in the dictionary of names of each part and of the head.
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
	return db.head.HasLabel(name)
}
