package tsdb

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/head"
	"github.com/varvedb/varve/tsdb/internal/manifest"
	"github.com/varvedb/varve/tsdb/internal/part"
)

// state is what the store consists of at one moment. It does not change; a
// flush, merge or delete puts a new one in its place. Whoever uses one holds a
// reference, which keeps its parts open and its generations in memory.
type state struct {
	refs       *refCount
	parts      []partView // by lowest sequence number, then time
	gens       []*liveGen // oldest first, the last takes samples
	tombstones []tombstone
	closed     bool // the store is: it has nothing any more
	lacks      lacking
}

// livePart is an open part. It is closed with its last holder, and its folder
// removed if it is obsolete by then.
type livePart struct {
	info     manifest.Part
	part     *part.Part
	since    time.Time // when it was made or opened
	checked  atomic.Pointer[time.Time]
	strict   bool // damage that is known fails readers too
	refs     *refCount
	obsolete bool // guarded by db.mu; set before the last release
}

// partView is a part as one state sees it: with what deletes hide of it.
type partView struct {
	*livePart
	hidden map[uint32][]block.Interval // by series ordinal
}

func (s *state) has(p *livePart) bool {
	return slices.ContainsFunc(s.parts, func(x partView) bool { return x.livePart == p })
}

// remove leaves a part out of a state that is being made.
func (s *state) remove(p *livePart) {
	s.parts = slices.DeleteFunc(s.parts, func(x partView) bool { return x.livePart == p })
}

// liveGen is a generation of the head; it is dropped, and its memory given back,
// with its last holder.
type liveGen struct {
	gen  *head.Generation
	refs *refCount
	// sealedAt is the last sequence number it can hold, 0 while it is active.
	sealedAt uint64
}

// tombstone is a delete that some part or sealed generation still needs.
type tombstone struct {
	seq        uint64
	mint, maxt int64
	matchers   []*labels.Matcher
	unsaved    bool // the manifest may not have it
}

func (t *tombstone) matches(lset labels.Labels) bool {
	for _, m := range t.matchers {
		if !m.Matches(lset.Get(m.Name)) {
			return false
		}
	}
	return true
}

// acquire returns the current state with a reference that the caller releases.
func (db *DB) acquire() *state {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.mu.state.refs.acquire()
	return db.mu.state
}

// reading is acquire for those who may come after Close.
func (db *DB) reading() (*state, error) {
	s := db.acquire()
	if s.closed {
		s.refs.release()
		return nil, ErrClosed
	}
	return s, nil
}

// readingParts is reading for those who take long: what it returns has the parts
// that keep wants, all if it is nil, and the tombstones, but no generation, whose
// memory would not be given back meanwhile.
func (db *DB) readingParts(keep func(partView) bool) (*state, error) {
	s, err := db.reading()
	if err != nil {
		return nil, err
	}
	defer s.refs.release()
	held := &state{tombstones: s.tombstones}
	for _, p := range s.parts {
		if keep == nil || keep(p) {
			p.refs.acquire()
			held.parts = append(held.parts, p)
		}
	}
	held.refs = newRefCount(func() {
		for _, p := range held.parts {
			p.refs.release()
		}
	})
	return held, nil
}

// beginJob takes jobs, which the caller gives back, unless the store is closed.
func (db *DB) beginJob() error {
	done := db.hurried()
	db.jobs.Lock()
	done()
	db.mu.Lock()
	closed := db.mu.state.closed
	db.mu.Unlock()
	if closed {
		db.jobs.Unlock()
		return ErrClosed
	}
	return nil
}

// install puts a state in place of the current one. db.mu must be held; the
// caller releases old after it let go of db.mu.
func (db *DB) installLocked(next *state) (old *state) {
	for _, p := range next.parts {
		p.refs.acquire()
	}
	for _, g := range next.gens {
		g.refs.acquire()
	}
	slices.SortFunc(next.parts, func(a, b partView) int {
		return cmp.Or(cmp.Compare(a.info.SeqMin, b.info.SeqMin), cmp.Compare(a.info.MinT, b.info.MinT))
	})
	next.refs = newRefCount(func() {
		for _, p := range next.parts {
			p.refs.release()
		}
		for _, g := range next.gens {
			g.refs.release()
		}
	})
	old = db.mu.state
	db.mu.state = next
	return old
}

// change replaces the state by what edit makes of a copy of it.
func (db *DB) change(edit func(next *state)) {
	db.mu.Lock()
	next := &state{
		parts:      slices.Clone(db.mu.state.parts),
		gens:       slices.Clone(db.mu.state.gens),
		tombstones: slices.Clone(db.mu.state.tombstones),
	}
	edit(next)
	old := db.installLocked(next)
	db.mu.Unlock()
	old.refs.release()
}

// newLiveGen wraps a generation; its memory goes with the last holder.
func (db *DB) newLiveGen(g *head.Generation) *liveGen {
	return &liveGen{gen: g, refs: newRefCount(func() { db.head.Drop(g) })}
}

func (db *DB) newLivePart(info manifest.Part, p *part.Part) *livePart {
	p.UseCaches(db.caches)
	p.UsePayloads(db.payloads)
	p.UseMinis(db.minis)
	p.UseMapped(db.mapped)
	lp := &livePart{info: info, part: p, since: time.Now(), strict: db.opts.FailOnDamage}
	lp.refs = newRefCount(func() {
		err := p.Close()
		db.mu.Lock()
		obsolete := lp.obsolete
		db.mu.Unlock()
		if obsolete {
			err = db.fs.RemoveAll(db.partDir(info))
		}
		if err != nil {
			db.opts.Events.backgroundErr("remove part", err)
		}
	})
	return lp
}

// hide works out what the tombstones newer than a part hide of it.
func hide(p *livePart, tombstones []tombstone) (map[uint32][]block.Interval, error) {
	var hidden map[uint32][]block.Interval
	for i := range tombstones {
		t := &tombstones[i]
		if t.seq <= max(p.info.SeqMax, p.info.DeletedSeq) || t.mint > p.info.MaxT || t.maxt < p.info.MinT {
			continue
		}
		ords, err := p.matching(t.matchers)
		if err != nil {
			return nil, err
		}
		for _, ord := range ords {
			if hidden == nil {
				hidden = map[uint32][]block.Interval{}
			}
			hidden[ord] = append(hidden[ord], block.Interval{MinT: t.mint, MaxT: t.maxt})
		}
	}
	return hidden, nil
}

// matching returns the series of a part that all matchers match.
func (p *livePart) matching(ms []*labels.Matcher) ([]uint32, error) {
	index, err := p.part.Index()
	if err != nil {
		return nil, err
	}
	found, err := index.Select(ms...)
	if err != nil {
		return nil, err
	}
	return index.Ordinals(found)
}

// covers tells whether the intervals hide all of [mint, maxt].
func covers(intervals []block.Interval, mint, maxt int64) bool {
	if len(intervals) == 0 {
		return false
	}
	sorted := slices.Clone(intervals)
	slices.SortFunc(sorted, func(a, b block.Interval) int { return cmp.Compare(a.MinT, b.MinT) })
	for _, iv := range sorted {
		if iv.MinT > mint {
			return false
		}
		if iv.MaxT >= maxt {
			return true
		}
		mint = max(mint, iv.MaxT+1)
	}
	return false
}

// hiddenOf returns what tombstones hide of a series in a sealed generation.
func (g *liveGen) hiddenOf(lset labels.Labels, tombstones []tombstone) []block.Interval {
	if g.sealedAt == 0 {
		return nil
	}
	var out []block.Interval
	for i := range tombstones {
		if t := &tombstones[i]; t.seq > g.sealedAt && t.matches(lset) {
			out = append(out, block.Interval{MinT: t.mint, MaxT: t.maxt})
		}
	}
	return out
}
