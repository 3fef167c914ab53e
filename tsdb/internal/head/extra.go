package head

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// extra is what a generation holds of a series in ordinary memory: histograms,
// what came after the first of them, and exemplars.
type extra struct {
	runs      []*run
	late      []sample // in order of arrival
	exemplars []exemplar.Exemplar
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

// What things take in memory.
const (
	extraBytes = 150
	floatBytes = 16
	runBytes   = 150 // of a run before its first sample
	lateBytes  = 56
)

// appendRun adds a sample later than all and returns the bytes it took.
func (e *extra) appendRun(x *sample) int {
	var r *run
	size := floatBytes
	if n := len(e.runs); n > 0 && e.runs[n-1].kind == x.kind {
		r = e.runs[n-1]
	} else {
		r = &run{kind: x.kind}
		e.runs = append(e.runs, r)
		size += runBytes
	}
	if x.st != 0 && r.starts == nil {
		r.starts = make([]int64, len(r.times), len(r.times)+8)
		size += 8 * len(r.times)
	}
	r.times = append(r.times, x.t)
	if r.starts != nil {
		r.starts = append(r.starts, x.st)
		size += 8
	}
	switch r.kind {
	case block.KindHistogram:
		r.hists = append(r.hists, x.h)
	case block.KindFloatHistogram:
		r.fhists = append(r.fhists, x.fh)
	default:
		r.floats = append(r.floats, x.v)
	}
	return size + histBytes(x.h, x.fh)
}

// repeats tells whether the sample at the time of the float x is x; there is
// false when there is no sample.
func (e *extra) repeats(x *sample) (is, there bool) {
	for i := len(e.runs) - 1; i >= 0; i-- {
		r := e.runs[i]
		k, ok := slices.BinarySearch(r.times, x.t)
		if !ok {
			continue
		}
		st := int64(0)
		if r.starts != nil {
			st = r.starts[k]
		}
		return r.kind == block.KindFloat && math.Float64bits(r.floats[k]) == math.Float64bits(x.v) && st == x.st, true
	}
	return false, false
}

// recentExemplars is how far back an exemplar is looked for before it is added
// once more; readers leave out what is there twice all the same.
const recentExemplars = 16

// appendExemplar leaves out an exemplar that was added a moment ago, as when a
// sender retries.
func (e *extra) appendExemplar(x exemplar.Exemplar) int {
	recent := e.exemplars[max(0, len(e.exemplars)-recentExemplars):]
	if slices.ContainsFunc(recent, x.Equals) {
		return 0
	}
	e.exemplars = append(e.exemplars, x)
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
