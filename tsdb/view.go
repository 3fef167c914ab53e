package tsdb

import (
	"context"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/head"
)

// View is what Select found: series in label order, with what they held at one
// moment: all of a Commit or Delete, or nothing. It stays readable, whatever is
// written, flushed, merged or deleted meanwhile, until Close. Its methods may be
// called by many goroutines.
type View struct {
	db         *DB
	state      *state
	mint, maxt int64
	places     []place // that have series, the older writes first
	joined     *joined // nil if there is one place: its series are those of the View
	close      sync.Once
}

// Select finds the series that all matchers match and that may have samples
// inside [mint, maxt]; without matchers it finds all. A missing label is an
// empty one. The caller closes the View.
func (db *DB) Select(ctx context.Context, mint, maxt int64, ms ...*labels.Matcher) (*View, error) {
	var m Moment
	if err := m.open(db, max(mint, 0)-hintLookback, maxt); err != nil {
		return nil, err
	}
	defer m.Close()
	return m.Select(ctx, mint, maxt, ms...)
}

func (v *View) find(ctx context.Context, h *head.Moment, ms []*labels.Matcher) error {
	if v.mint > v.maxt {
		return nil
	}
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
			v.places = append(v.places, &partSeries{part: p, ords: ords})
		}
	}
	inHead, err := v.state.findHead(h, early, v.maxt, ms)
	if err != nil {
		return err
	}
	if inHead.count() > 0 {
		v.places = append(v.places, inHead)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(v.places) == 1 && inHead.count() == 0 {
		v.places[0].(*partSeries).keep(v.mint, v.maxt)
		return nil
	}
	return v.join(inHead)
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
	return p.showing(ords, mint, maxt), nil
}

// showing keeps of an ascending list those that shows says yes of.
func (p *partView) showing(ords []uint32, mint, maxt int64) []uint32 {
	ords = p.part.Reaching(ords, mint, maxt)
	if len(p.hidden) == 0 {
		return ords
	}
	return slices.DeleteFunc(ords, func(ord uint32) bool { return len(p.hidden[ord]) > 0 && !p.shows(ord, mint, maxt) })
}

// shows tells whether a series has samples inside the range that no delete
// hides.
func (p *partView) shows(ord uint32, mint, maxt int64) bool {
	lo, hi := p.part.SeriesRange(ord)
	return lo <= maxt && hi >= mint && !covers(p.hidden[ord], max(lo, mint), min(hi, maxt))
}

// Len returns the number of series.
func (v *View) Len() int {
	switch {
	case v.joined != nil:
		return v.joined.count()
	case len(v.places) == 0:
		return 0
	}
	return v.places[0].count()
}

// Labels returns the label set of series i, which owns its strings; it may be others'
// too. It may come out of an index on disk: if that turns out to be damaged, the set
// is empty, and Err and every Cursor of the View made from then on tell.
//
// Cost: tens of nanoseconds where the set was asked for before and is still kept, see
// Options.LabelCacheBytes. Else some hundred if series are asked for one after the
// other, more if not.
func (v *View) Labels(i int) labels.Labels {
	if v.joined == nil {
		return v.places[0].labels(i)
	}
	ref := v.joined.of(i)[0]
	return v.places[ref.place].labels(int(ref.k))
}

// Err returns the damage that Labels or Column met, nil if there was none.
func (v *View) Err() error {
	for _, p := range v.places {
		if err := p.failure(); err != nil {
			return err
		}
	}
	return nil
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
	if err := v.Err(); err != nil {
		return &Cursor{db: v.db, c: failed{err}}
	}
	return &Cursor{db: v.db, c: block.ResolveHints(v.merged(i, mint, maxt, lazy), func() block.Cursor {
		return v.merged(i, mint-hintLookback, mint-1, false)
	})}
}

// merged is Cursor without hints resolved.
func (v *View) merged(i int, mint, maxt int64, lazy bool) block.Cursor {
	if v.joined == nil {
		return block.Merge(v.places[0].cursors(i, mint, maxt, lazy))
	}
	return v.chained(v.joined.of(i), mint, maxt, lazy)
}

// failed is a cursor that has nothing but its error.
type failed struct{ err error }

func (c failed) Next() bool        { return false }
func (c failed) Span() *block.Span { return nil }
func (c failed) Err() error        { return c.err }

// hintLookback is how far back the sample before a cursor's first is looked for,
// in milliseconds: what a scrape interval may be.
const hintLookback = 60 * 60 * 1000

// Close lets go of what the View holds. It may be called more than once.
func (v *View) Close() {
	v.close.Do(func() { v.state.refs.release() })
}
