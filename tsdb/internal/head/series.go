package head

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// Ref names a series of this process' head; it is never used for another one.
type Ref uint64

// Series is a registered series. The pointer is its identity and may be kept
// for ever: a series that was dropped for want of samples comes back with
// Head.Revive.
type Series struct {
	// Mark belongs to the head's owner; the head never looks at it.
	Mark atomic.Uint64

	ref   Ref
	hash  uint64
	lset  labels.Labels
	shard uint32
	dead  atomic.Bool

	next *Series // the registry's chain of equal hashes; guarded by its shard

	// lastGen is the newest generation that got a sample, or was active when the
	// series was registered. Guarded by the shard, as data is.
	lastGen uint64
	// data is the newest generation's samples, nil if there are none; older
	// generations follow by prev. Guarded by the shard.
	data *seriesData
}

// Ref returns the number of the series.
func (s *Series) Ref() Ref { return s.ref }

// Labels returns the label set, which owns its strings.
func (s *Series) Labels() labels.Labels { return s.lset }

// seriesData is what one generation holds of one series.
type seriesData struct {
	series *Series
	gen    *Generation
	prev   *seriesData

	mint, maxt int64 // of the samples; mint > maxt when there are none
	runs       []*run
	late       []lateSample // not after the newest sample, in order of arrival
	exemplars  []exemplar.Exemplar
}

// run is samples of one kind in ascending time order.
type run struct {
	kind   block.Kind
	times  []int64
	floats []float64
	hists  []*histogram.Histogram
	fhists []*histogram.FloatHistogram
	starts []int64 // nil until a sample has one
}

type lateSample struct {
	t, st int64
	kind  block.Kind
	v     float64
	h     *histogram.Histogram
	fh    *histogram.FloatHistogram
}

// append adds one sample and returns the bytes of memory it takes.
func (d *seriesData) append(s *Sample) int {
	switch {
	case s.Kind == KindExemplar:
		return d.appendExemplar(*s.Exemplar)
	case d.mint > d.maxt || s.T > d.maxt:
		if d.mint > d.maxt {
			d.mint = s.T
		}
		d.maxt = s.T
		return d.appendRun(s)
	case d.repeats(s):
		return 0
	default:
		d.mint = min(d.mint, s.T)
		d.late = append(d.late, lateSample{t: s.T, st: s.ST, kind: s.Kind.block(), v: s.V, h: s.H, fh: s.FH})
		return lateBytes + histBytes(s.H, s.FH)
	}
}

// repeats tells whether a float sample is already there, as when a sender
// retries a request.
func (d *seriesData) repeats(s *Sample) bool {
	if s.Kind != KindFloat || len(d.late) > 0 {
		return false
	}
	for i := len(d.runs) - 1; i >= 0; i-- {
		r := d.runs[i]
		k, ok := slices.BinarySearch(r.times, s.T)
		if !ok {
			continue
		}
		st := int64(0)
		if r.starts != nil {
			st = r.starts[k]
		}
		return r.kind == block.KindFloat && math.Float64bits(r.floats[k]) == math.Float64bits(s.V) && st == s.ST
	}
	return false
}

const (
	floatBytes = 16
	runBytes   = 150 // of a run before its first sample
	lateBytes  = 56
)

func (d *seriesData) appendRun(s *Sample) int {
	var r *run
	size := floatBytes
	if n := len(d.runs); n > 0 && d.runs[n-1].kind == s.Kind.block() {
		r = d.runs[n-1]
	} else {
		r = &run{kind: s.Kind.block()}
		d.runs = append(d.runs, r)
		size += runBytes
	}
	if s.ST != 0 && r.starts == nil {
		r.starts = make([]int64, len(r.times), len(r.times)+8)
		size += 8 * len(r.times)
	}
	r.times = append(r.times, s.T)
	if r.starts != nil {
		r.starts = append(r.starts, s.ST)
		size += 8
	}
	switch r.kind {
	case block.KindHistogram:
		r.hists = append(r.hists, s.H)
		size += histBytes(s.H, nil)
	case block.KindFloatHistogram:
		r.fhists = append(r.fhists, s.FH)
		size += histBytes(nil, s.FH)
	default:
		r.floats = append(r.floats, s.V)
	}
	return size
}

// recentExemplars is how far back an exemplar is looked for before it is added
// once more; readers leave out what is there twice all the same.
const recentExemplars = 16

// appendExemplar leaves out an exemplar that was added a moment ago, as when a
// sender retries.
func (d *seriesData) appendExemplar(x exemplar.Exemplar) int {
	recent := d.exemplars[max(0, len(d.exemplars)-recentExemplars):]
	if slices.ContainsFunc(recent, x.Equals) {
		return 0
	}
	d.exemplars = append(d.exemplars, x)
	return 64 + int(x.Labels.ByteSize())
}

func histBytes(h *histogram.Histogram, fh *histogram.FloatHistogram) int {
	switch {
	case h != nil:
		return 160 + 8*(len(h.PositiveSpans)+len(h.NegativeSpans)+len(h.PositiveBuckets)+len(h.NegativeBuckets)+len(h.CustomValues))
	case fh != nil:
		return 160 + 8*(len(fh.PositiveSpans)+len(fh.NegativeSpans)+len(fh.PositiveBuckets)+len(fh.NegativeBuckets)+len(fh.CustomValues))
	}
	return 0
}

// snapshot is the samples as they were at one moment.
type snapshot struct {
	runs   []run
	late   []lateSample
	sorted bool // late is, with one sample a time
}

// snapshot copies no samples. The shard must be held; what it returns may
// outlive that.
func (d *seriesData) snapshot() snapshot {
	s := snapshot{late: d.late[:len(d.late):len(d.late)]}
	if len(d.runs) > 0 {
		s.runs = make([]run, len(d.runs))
		for i, r := range d.runs {
			s.runs[i] = *r
		}
	}
	return s
}

// cursors returns new cursors, the later one being newer at equal times.
func (s snapshot) cursors() []block.Cursor {
	out := make([]block.Cursor, 0, 2)
	if len(s.runs) > 0 {
		out = append(out, &runCursor{runs: s.runs})
	}
	if len(s.late) > 0 {
		out = append(out, &lateCursor{late: s.late, sorted: s.sorted})
	}
	return out
}

// remove deletes the samples and exemplars inside [mint, maxt] and returns the
// number of samples removed.
func (d *seriesData) remove(mint, maxt int64) int {
	inside := func(t int64) bool { return t >= mint && t <= maxt }
	removed := 0
	var late []lateSample
	for _, s := range d.late {
		if inside(s.t) {
			removed++
			continue
		}
		late = append(late, s)
	}
	var runs []*run
	for _, r := range d.runs {
		kept := r.without(inside)
		removed += len(r.times)
		if kept != nil {
			removed -= len(kept.times)
			runs = append(runs, kept)
		}
	}
	var exemplars []exemplar.Exemplar
	for _, x := range d.exemplars {
		if !inside(x.Ts) {
			exemplars = append(exemplars, x)
		}
	}
	d.late, d.runs, d.exemplars = late, runs, exemplars
	d.measure()
	return removed
}

func (r *run) without(inside func(int64) bool) *run {
	out := &run{kind: r.kind}
	if r.starts != nil {
		out.starts = []int64{}
	}
	hole := -1 // where the sample after the last hole goes
	for i, t := range r.times {
		if inside(t) {
			hole = len(out.times)
			continue
		}
		out.times = append(out.times, t)
		switch r.kind {
		case block.KindHistogram:
			out.hists = append(out.hists, r.hists[i])
		case block.KindFloatHistogram:
			out.fhists = append(out.fhists, r.fhists[i])
		default:
			out.floats = append(out.floats, r.floats[i])
		}
		if r.starts != nil {
			out.starts = append(out.starts, r.starts[i])
		}
		if hole == len(out.times)-1 {
			out.unknownAfterHole(hole)
		}
	}
	if len(out.times) == 0 {
		return nil
	}
	return out
}

// unknownAfterHole makes the hint of the first histogram at or after index i
// unknown, since the sample before it is gone.
func (r *run) unknownAfterHole(i int) {
	if i < len(r.hists) {
		r.hists[i] = unhinted(r.hists[i])
	}
	if i < len(r.fhists) {
		r.fhists[i] = unhintedFloat(r.fhists[i])
	}
}

// measure finds mint and maxt anew.
func (d *seriesData) measure() {
	d.mint, d.maxt = emptyMinT, emptyMaxT
	for _, r := range d.runs {
		d.mint = min(d.mint, r.times[0])
		d.maxt = max(d.maxt, r.times[len(r.times)-1])
	}
	for _, s := range d.late {
		d.mint = min(d.mint, s.t)
		d.maxt = max(d.maxt, s.t)
	}
}
