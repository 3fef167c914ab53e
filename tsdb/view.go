package tsdb

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/head"
)

// View is what Select found: series in label order, with what they held at that
// moment. It stays readable, whatever is written, flushed, merged or deleted
// meanwhile, until Close. Its methods may be called by many goroutines.
type View struct {
	db         *DB
	state      *state
	mint, maxt int64
	series     []viewSeries
	alone      *partSeries // all series, instead of series, if one part has them
	close      sync.Once
}

// viewSeries is one series and the places that hold samples of it, the older
// writes first.
type viewSeries struct {
	lset    labels.Labels
	sources []source
	inRange bool // one of them has samples in the range of the View, not just before
}

// source makes cursors over one place's samples of a series; deletes applied.
type source interface {
	// lazy ones have spans that are not loaded where that is possible.
	cursors(mint, maxt int64, lazy bool) []block.Cursor
	// appendFloats appends the floats, a run for each cursor; ok is false if there
	// are histograms too.
	appendFloats(mint, maxt int64, into *block.Floats) (ok bool, err error)
	// lastFloat returns the last of those; plain is false if there may be others.
	lastFloat(mint, maxt int64) (last block.Sample, found, plain bool, err error)
}

type partSource struct {
	part *partView
	ord  uint32
}

func (s partSource) cursors(mint, maxt int64, lazy bool) []block.Cursor {
	read := s.part.part.CursorOfRest
	switch {
	case s.part.strict && lazy:
		read = s.part.part.Spans
	case s.part.strict:
		read = s.part.part.Cursor
	case lazy:
		read = s.part.part.SpansOfRest
	}
	return []block.Cursor{block.Hide(read(s.ord, mint, maxt), s.part.hidden[s.ord])}
}

type headSource struct {
	held   *head.Held
	hidden []block.Interval
}

func (s *headSource) cursors(mint, maxt int64, _ bool) []block.Cursor {
	cs := s.held.Cursors(mint, maxt)
	for i := range cs {
		cs[i] = block.Clip(block.Hide(cs[i], s.hidden), mint, maxt)
	}
	return cs
}

// Select finds the series that all matchers match and that may have samples
// inside [mint, maxt]; without matchers it finds all. A missing label is an
// empty one. The caller closes the View.
func (db *DB) Select(ctx context.Context, mint, maxt int64, ms ...*labels.Matcher) (*View, error) {
	s, err := db.reading()
	if err != nil {
		return nil, err
	}
	db.stats.requests.Add(1)
	v := &View{db: db, state: s, mint: max(mint, db.oldest(time.Now())), maxt: maxt}
	if err := v.find(ctx, db, ms); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

func (v *View) find(ctx context.Context, db *DB, ms []*labels.Matcher) error {
	if v.mint > v.maxt {
		return nil
	}
	var found []*partSeries
	early := v.mint - hintLookback
	for i := range v.state.parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := &v.state.parts[i]
		ords, err := p.ordinals(early, v.maxt, ms)
		if err != nil {
			return err
		}
		if len(ords) > 0 {
			found = append(found, &partSeries{part: p, ords: ords})
		}
	}
	inHead, err := v.state.findHead(db.head, early, v.mint, v.maxt, ms)
	if err != nil {
		return err
	}
	if len(found) == 1 && len(inHead) == 0 {
		v.alone = found[0]
		v.alone.keep(v.mint, v.maxt)
		return ctx.Err()
	}
	lists := [][]viewSeries{}
	for _, f := range found {
		list, err := f.list(v.mint, v.maxt)
		if err != nil {
			return err
		}
		lists = append(lists, list)
	}
	lists = append(lists, inHead)
	v.series = slices.DeleteFunc(joinSeries(lists), func(s viewSeries) bool { return !s.inRange })
	return ctx.Err()
}

// ordinals returns the series of a part that match and have samples inside the
// range that no delete hides.
func (p *partView) ordinals(mint, maxt int64, ms []*labels.Matcher) (ords []uint32, err error) {
	if p.info.MinT > maxt || p.info.MaxT < mint {
		return nil, nil
	}
	index, err := p.part.Index()
	if err != nil {
		return nil, err
	}
	var active *bitmap.Set // on the days of the range; nil is all
	if len(index.Days()) > 1 {
		if active, err = index.Active(mint/dayMs, maxt/dayMs); err != nil || active == nil {
			return nil, err
		}
	}
	found, err := index.SelectIn(active, ms...)
	if err != nil {
		return nil, err
	}
	if ords, err = index.Ordinals(found); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(ords, func(ord uint32) bool { return !p.shows(ord, mint, maxt) }), nil
}

// shows tells whether a series has samples inside the range that no delete
// hides.
func (p *partView) shows(ord uint32, mint, maxt int64) bool {
	lo, hi := p.part.SeriesRange(ord)
	return lo <= maxt && hi >= mint && !covers(p.hidden[ord], max(lo, mint), min(hi, maxt))
}

func (s *state) findHead(h *head.Head, early, mint, maxt int64, ms []*labels.Matcher) ([]viewSeries, error) {
	found, err := h.Select(s.generations(), early, maxt, ms)
	if err != nil {
		return nil, err
	}
	total := 0
	for i := range found {
		total += len(found[i].Held)
	}
	out := make([]viewSeries, 0, len(found))
	inHead, sources := make([]headSource, 0, total), make([]source, 0, total)
	for i := range found {
		f := &found[i]
		vs := viewSeries{lset: f.Labels}
		from := len(sources)
		for k := range f.Held {
			held := &f.Held[k]
			hidden := s.liveGen(held.Generation).hiddenOf(vs.lset, s.tombstones)
			shows := func(from int64) bool {
				return held.MaxT >= from && !covers(hidden, max(from, held.MinT), min(maxt, held.MaxT))
			}
			if shows(early) {
				inHead = append(inHead, headSource{held: held, hidden: hidden})
				sources = append(sources, &inHead[len(inHead)-1])
				vs.inRange = vs.inRange || shows(mint)
			}
		}
		if vs.sources = sources[from:len(sources):len(sources)]; len(vs.sources) > 0 {
			out = append(out, vs)
		}
	}
	return out, nil
}

func (s *state) generations() []*head.Generation {
	out := make([]*head.Generation, len(s.gens))
	for i, g := range s.gens {
		out[i] = g.gen
	}
	return out
}

func (s *state) liveGen(g *head.Generation) *liveGen {
	for _, x := range s.gens {
		if x.gen == g {
			return x
		}
	}
	return nil
}

// joinSeries merges lists in label order; sources of equal label sets keep the
// order of the lists.
func joinSeries(lists [][]viewSeries) []viewSeries {
	lists = slices.DeleteFunc(lists, func(l []viewSeries) bool { return len(l) == 0 })
	for len(lists) > 1 {
		var next [][]viewSeries
		for i := 0; i < len(lists); i += 2 {
			if i+1 == len(lists) {
				next = append(next, lists[i])
				break
			}
			next = append(next, joinTwo(lists[i], lists[i+1]))
		}
		lists = next
	}
	if len(lists) == 0 {
		return nil
	}
	return lists[0]
}

func joinTwo(a, b []viewSeries) []viewSeries {
	out := make([]viewSeries, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch c := labels.Compare(a[0].lset, b[0].lset); {
		case c < 0:
			out, a = append(out, a[0]), a[1:]
		case c > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			a[0].sources = append(a[0].sources, b[0].sources...)
			a[0].inRange = a[0].inRange || b[0].inRange
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// Len returns the number of series.
func (v *View) Len() int {
	if v.alone != nil {
		return len(v.alone.ords)
	}
	return len(v.series)
}

// Labels returns the label set of series i, which owns its strings. It may come
// out of an index on disk only now: if that turns out to be damaged, the set is
// empty, and Err and every Cursor of the View made from then on tell.
func (v *View) Labels(i int) labels.Labels {
	if v.alone != nil {
		return v.alone.labels(i)
	}
	return v.series[i].lset
}

// Err returns the damage that Labels or Column met, nil if there was none.
func (v *View) Err() error {
	if v.alone == nil {
		return nil
	}
	return v.alone.failure()
}

// Cursor returns a new cursor over the samples of series i inside [mint, maxt],
// which is limited to the range of the Select. There may be none. Histograms
// whose sender left the counter reset hint open are marked as no reset where
// they do not follow one.
func (v *View) Cursor(i int, mint, maxt int64) *Cursor {
	return v.cursor(i, mint, maxt, false)
}

// Spans is Cursor with spans of floats that are not loaded, where they come out of
// parts: times are there, Stat answers from what is stored, and values come by
// Cursor.Load. The payload of a block of which only its whole is asked is never read; of
// one that a window cuts, the mini-blocks at the edges are decoded.
//
// Spans that were put together, sample by sample, of places that overlap, those of
// the head, and histograms are loaded. Staleness markers are samples of a span as
// of Cursor: ask Span.MayBeStale before Stat is used for what leaves them out. Sum,
// least, greatest, increase and resets are never exact with a marker among their
// samples.
func (v *View) Spans(i int, mint, maxt int64) *Cursor { return v.cursor(i, mint, maxt, true) }

func (v *View) cursor(i int, mint, maxt int64, lazy bool) *Cursor {
	mint, maxt = max(mint, v.mint), min(maxt, v.maxt)
	s, err := v.at(i)
	if err != nil {
		return &Cursor{db: v.db, c: failed{err}}
	}
	return &Cursor{db: v.db, c: block.ResolveHints(s.cursor(mint, maxt, lazy), func() block.Cursor {
		return s.cursor(mint-hintLookback, mint-1, false)
	})}
}

// at returns series i; of a View of one part without its labels.
func (v *View) at(i int) (*viewSeries, error) {
	if v.alone == nil {
		return &v.series[i], nil
	}
	if err := v.alone.failure(); err != nil {
		return nil, err
	}
	return &viewSeries{sources: []source{partSource{part: v.alone.part, ord: v.alone.ords[i]}}}, nil
}

// failed is a cursor that has nothing but its error.
type failed struct{ err error }

func (c failed) Next() bool        { return false }
func (c failed) Span() *block.Span { return nil }
func (c failed) Err() error        { return c.err }

// hintLookback is how far back the sample before a cursor's first is looked for,
// in milliseconds: what a scrape interval may be.
const hintLookback = 60 * 60 * 1000

func (s *viewSeries) cursor(mint, maxt int64, lazy bool) block.Cursor {
	var cs []block.Cursor
	for _, src := range s.sources {
		cs = append(cs, src.cursors(mint, maxt, lazy)...)
	}
	return block.Merge(cs)
}

// Close lets go of what the View holds. It may be called more than once.
func (v *View) Close() {
	v.close.Do(func() { v.state.refs.release() })
}
