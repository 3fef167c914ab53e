package tsdb

import (
	"math"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/head"
	"github.com/varvedb/varve/tsdb/internal/part"
)

// place is where a Select found series, a part or the head: their samples, deletes
// applied, and labels on demand. Series have numbers below count, in label order.
// But for what is said of one it may be used by many goroutines.
type place interface {
	count() int
	labels(k int) labels.Labels
	labelNames() ([]string, error) // of all series, sorted; there may be others among them
	// column writes the numbers of the values of a label to dst, one for each
	// series, 0 for none, and calls use with what the numbers stand for.
	column(name string, dst []uint32, use func(value func(uint32) string)) error
	// shows tells whether a series has samples inside a range that no delete hides.
	shows(k int, mint, maxt int64) bool
	// bounds returns a range outside which a series has no samples.
	bounds(k int) (mint, maxt int64)
	// cursors returns cursors over the samples, the newer ones last. Lazy ones have
	// spans that are not loaded where that is possible.
	cursors(k int, mint, maxt int64, lazy bool) []block.Cursor
	// appendFloats appends the floats, a run for each cursor; ok is false if there
	// are histograms too.
	appendFloats(k int, mint, maxt int64, into *block.Floats) (ok bool, err error)
	// lastFloat returns the last of those; plain is false if there may be others.
	lastFloat(k int, mint, maxt int64) (last block.Sample, found, plain bool, err error)
	// damage returns what is left out of a series.
	damage(k int, mint, maxt int64) []part.Damage
	failure() error // the first damage that labels or column met
}

// headSeries is what a Select found in the head.
type headSeries struct {
	found  *head.Found
	hidden [][]block.Interval // of what is held, nil if nothing is
}

// findHead returns the series with samples inside [early, maxt]; the order is that
// of Found. There are none if h is nil.
func (s *state) findHead(h *head.Moment, early, maxt int64, ms []*labels.Matcher) (*headSeries, error) {
	if h == nil {
		return &headSeries{found: new(head.Found)}, nil
	}
	found, err := h.Select(s.generations(), early, maxt, ms)
	if err != nil {
		return nil, err
	}
	out := &headSeries{found: found}
	if len(s.tombstones) > 0 {
		out.hide(s)
	}
	return out, nil
}

// hide works out what deletes hide in sealed generations.
func (s *headSeries) hide(of *state) {
	for i := range s.found.Len() {
		var lset labels.Labels
		begin, _ := s.found.Range(i)
		for k, held := range s.found.Held(i) {
			g := of.liveGen(held.Generation)
			if g.sealedAt == 0 {
				continue
			}
			if lset.IsEmpty() {
				lset = s.found.Labels(i)
			}
			if hidden := g.hiddenOf(lset, of.tombstones); len(hidden) > 0 {
				if s.hidden == nil {
					s.hidden = make([][]block.Interval, s.found.HeldLen())
				}
				s.hidden[begin+k] = hidden
			}
		}
	}
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

// at returns what is held of series k and what is hidden of that.
func (s *headSeries) at(k int) ([]head.Held, [][]block.Interval) {
	if s.hidden == nil {
		return s.found.Held(k), nil
	}
	begin, end := s.found.Range(k)
	return s.found.Held(k), s.hidden[begin:end]
}

func (s *headSeries) count() int                    { return s.found.Len() }
func (s *headSeries) labels(k int) labels.Labels    { return s.found.Labels(k) }
func (s *headSeries) labelNames() ([]string, error) { return s.found.LabelNames(), nil }

func (s *headSeries) column(name string, dst []uint32, use func(value func(uint32) string)) error {
	use(s.found.Column(name, dst).Alias)
	return nil
}

func (s *headSeries) shows(k int, mint, maxt int64) bool {
	held, hidden := s.at(k)
	for i := range held {
		h := &held[i]
		lo, hi := max(mint, h.MinT), min(maxt, h.MaxT)
		if lo <= hi && (hidden == nil || !covers(hidden[i], lo, hi)) {
			return true
		}
	}
	return false
}

func (s *headSeries) bounds(k int) (mint, maxt int64) {
	mint, maxt = math.MaxInt64, math.MinInt64
	held := s.found.Held(k)
	for i := range held {
		mint, maxt = min(mint, held[i].MinT), max(maxt, held[i].MaxT)
	}
	return mint, maxt
}

func (s *headSeries) cursors(k int, mint, maxt int64, _ bool) (out []block.Cursor) {
	held, hidden := s.at(k)
	for i := range held {
		for _, c := range held[i].Cursors(mint, maxt) {
			if hidden != nil {
				c = block.Hide(c, hidden[i])
			}
			out = append(out, block.Clip(c, mint, maxt))
		}
	}
	return out
}

func (s *headSeries) appendFloats(k int, mint, maxt int64, into *block.Floats) (ok bool, err error) {
	held, hidden := s.at(k)
	for i := range held {
		from := len(into.T)
		if !held[i].AppendFloats(mint, maxt, into) {
			return false, nil
		}
		if hidden != nil {
			into.HideIn(from, hidden[i])
		}
	}
	return true, nil
}

func (s *headSeries) lastFloat(k int, mint, maxt int64) (last block.Sample, found, plain bool, err error) {
	held, hidden := s.at(k)
	for i := range held {
		if hidden != nil && len(hidden[i]) > 0 {
			return last, false, false, nil
		}
		x, there, plain := held[i].LastFloat(mint, maxt)
		if !plain {
			return last, false, false, nil
		}
		if there && (!found || x.T >= last.T) {
			last, found = x, true
		}
	}
	return last, found, true, nil
}

func (s *headSeries) damage(int, int64, int64) []part.Damage { return nil }
func (s *headSeries) failure() error                         { return nil }
