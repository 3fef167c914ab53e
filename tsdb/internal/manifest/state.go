package manifest

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// maxMetadata is how many distinct sets of metadata one family keeps.
const maxMetadata = 10

// Part is one immutable folder of blocks.
type Part struct {
	ID             uint64
	Month          string // folder it lies in, as "2026-11"
	MinT, MaxT     int64  // of its samples, inclusive, in ms
	SeqMin, SeqMax uint64 // of the frames its samples came with
	DeletedSeq     uint64 // tombstones up to this one left nothing of what they hide
	Samples        uint64
	Series         uint64
	Bytes          uint64 // of its files
	Format         uint32 // version of its files
}

// Matcher is one condition of a Tombstone; Type is the caller's.
type Matcher struct {
	Type        uint8
	Name, Value string
}

// Tombstone hides the samples from MinT to MaxT of the series that all Matchers
// match, as far as they came with frames before Seq.
type Tombstone struct {
	Seq        uint64
	MinT, MaxT int64 // inclusive, in ms
	Matchers   []Matcher
}

func (t Tombstone) equal(o Tombstone) bool {
	return t.Seq == o.Seq && t.MinT == o.MinT && t.MaxT == o.MaxT && slices.Equal(t.Matchers, o.Matchers)
}

// Metadata says what the series of a family are.
type Metadata struct {
	Family, Type, Help, Unit string
}

// State is what is live.
type State struct {
	Parts      map[uint64]Part
	Tombstones []Tombstone
	// Metadata holds the distinct sets of each family, the newest last, ten at
	// most.
	Metadata map[string][]Metadata
	// FlushedSeq is the last frame of the log whose samples, and those of all
	// frames before, are in parts.
	FlushedSeq uint64
	// NextPartID is above the ID of every part there ever was.
	NextPartID uint64
	// LabelHashKey was drawn when the manifest was made and never changes.
	LabelHashKey [16]byte
	// Quarantined says why the parts with these IDs are not to be trusted.
	Quarantined map[uint64]string
}

func newState() State {
	return State{Parts: map[uint64]Part{}, Metadata: map[string][]Metadata{}, NextPartID: 1, Quarantined: map[uint64]string{}}
}

// clone copies all but the matchers of tombstones, which are never changed.
func (s State) clone() State {
	s.Parts = maps.Clone(s.Parts)
	s.Tombstones = slices.Clone(s.Tombstones)
	s.Metadata = maps.Clone(s.Metadata)
	for family, sets := range s.Metadata {
		s.Metadata[family] = slices.Clone(sets)
	}
	s.Quarantined = maps.Clone(s.Quarantined)
	return s
}

// Edit changes a State. Its parts are applied in the order of its fields, so
// one edit may replace parts by others and quarantine what it removes.
type Edit struct {
	// RemoveParts takes parts out of Parts and Quarantined; each must be there.
	RemoveParts []uint64
	// AddParts adds parts with IDs that are not in use. NextPartID moves above
	// them.
	AddParts []Part
	// RemoveTombstones takes out every tombstone with these Seqs, if any.
	RemoveTombstones []uint64
	// AddTombstones adds tombstones, but for those that are there already.
	AddTombstones []Tombstone
	// SetMetadata makes each set the newest one of its family.
	SetMetadata []Metadata
	// FlushedSeq and NextPartID move forward to these; 0 or a lower number
	// leaves them.
	FlushedSeq, NextPartID uint64
	// Quarantine says why parts are not to be trusted.
	Quarantine map[uint64]string
}

// check tells why e cannot be applied to s.
func (s State) check(e Edit) error {
	removed := map[uint64]bool{}
	for _, id := range e.RemoveParts {
		_, live := s.Parts[id]
		_, quarantined := s.Quarantined[id]
		if !live && !quarantined || removed[id] {
			return fmt.Errorf("remove part %d: no such part", id)
		}
		removed[id] = true
	}
	added := map[uint64]bool{}
	for _, p := range e.AddParts {
		if _, live := s.Parts[p.ID]; live && !removed[p.ID] || added[p.ID] {
			return fmt.Errorf("add part %d: it is there already", p.ID)
		}
		if p.ID == math.MaxUint64 {
			return fmt.Errorf("add part %d: no ID is left above it", p.ID)
		}
		added[p.ID] = true
	}
	return nil
}

// apply changes s by an edit that check accepted.
func (s *State) apply(e Edit) {
	for _, id := range e.RemoveParts {
		delete(s.Parts, id)
		delete(s.Quarantined, id)
	}
	for _, p := range e.AddParts {
		s.Parts[p.ID] = p
		s.NextPartID = max(s.NextPartID, p.ID+1)
	}
	if len(e.RemoveTombstones) > 0 {
		s.Tombstones = slices.DeleteFunc(s.Tombstones, func(t Tombstone) bool { return slices.Contains(e.RemoveTombstones, t.Seq) })
	}
	for _, t := range e.AddTombstones {
		if !slices.ContainsFunc(s.Tombstones, t.equal) {
			t.Matchers = slices.Clone(t.Matchers)
			s.Tombstones = append(s.Tombstones, t)
		}
	}
	for _, m := range e.SetMetadata {
		s.setMetadata(m)
	}
	s.FlushedSeq = max(s.FlushedSeq, e.FlushedSeq)
	s.NextPartID = max(s.NextPartID, e.NextPartID)
	maps.Copy(s.Quarantined, e.Quarantine)
}

func (s *State) setMetadata(m Metadata) {
	sets := s.Metadata[m.Family]
	if i := slices.Index(sets, m); i >= 0 {
		sets = slices.Delete(sets, i, i+1)
	}
	sets = append(sets, m)
	s.Metadata[m.Family] = sets[max(0, len(sets)-maxMetadata):]
}

// changes reports whether e would change s at all.
func (s State) changes(e Edit) bool {
	return len(e.RemoveParts) > 0 || len(e.AddParts) > 0 || e.FlushedSeq > s.FlushedSeq || e.NextPartID > s.NextPartID ||
		slices.ContainsFunc(e.RemoveTombstones, func(seq uint64) bool {
			return slices.ContainsFunc(s.Tombstones, func(t Tombstone) bool { return t.Seq == seq })
		}) ||
		slices.ContainsFunc(e.AddTombstones, func(t Tombstone) bool { return !slices.ContainsFunc(s.Tombstones, t.equal) }) ||
		slices.ContainsFunc(e.SetMetadata, func(m Metadata) bool { return !s.newest(m) }) ||
		!containsAll(s.Quarantined, e.Quarantine)
}

func (s State) newest(m Metadata) bool {
	sets := s.Metadata[m.Family]
	return len(sets) > 0 && sets[len(sets)-1] == m
}

func containsAll(have, want map[uint64]string) bool {
	for id, reason := range want {
		if got, ok := have[id]; !ok || got != reason {
			return false
		}
	}
	return true
}
