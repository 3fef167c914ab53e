package write

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/varvedb/varve/remote/internal/wire"
	"github.com/varvedb/varve/tsdb"
)

// batch is what a request needs of a *tsdb.Batch; tests put a model in its
// place, whose k-th call fails.
type batch interface {
	Series(lset labels.Labels) (tsdb.Series, error)
	Live(s tsdb.Series) bool
	Float(s tsdb.Series, st, t int64, v float64) error
	Histogram(s tsdb.Series, st, t int64, h *histogram.Histogram) error
	FloatHistogram(s tsdb.Series, st, t int64, h *histogram.FloatHistogram) error
	Exemplar(s tsdb.Series, e exemplar.Exemplar) error
	Metadata(family string, m metadata.Metadata) error
	Commit(ctx context.Context) error
	Discard()
}

// written counts what a request added.
type written struct{ samples, histograms, exemplars, metadata int }

// total counts the items. The metadata of 2.0 is part of the series.
func (w written) total(v version) int {
	n := w.samples + w.histograms + w.exemplars
	if v == version1 {
		n += w.metadata
	}
	return n
}

// request holds what one request needs, kept from request to request for its
// memory.
type request struct {
	h      *Handler
	b      batch
	v      version
	noted  bool // new metadata is remembered as handed over
	loan   loan
	done   written
	report report
	hits   int64 // series found in the cache
	misses int64
	period key // when it is; part of the keys of metadata

	ahead     ahead
	v1        *wire.V1Series // in hand
	v2        *wire.V2Series
	table     wire.V2Request
	sums      []key // of the symbols
	nameRef   uint32
	labels    labelSet
	exemplars labelSet
	histogram wire.Histogram
}

// ahead holds series of a message that were cut but not taken yet. They are
// looked up together, as each look-up is a wait for memory otherwise.
type ahead struct {
	n      int
	v1     [lookAhead]wire.V1Series
	v2     [lookAhead]wire.V2Series
	keys   [lookAhead]key
	series [lookAhead]tsdb.Series // 0 where the cache does not know it
	names  [lookAhead]uint32      // references of the metric names, in 2.0
}

const lookAhead = 32

// find looks up the series by their keys.
func (r *request) find() {
	a := &r.ahead
	r.h.series.warm(a.keys[:a.n])
	for i, k := range a.keys[:a.n] {
		a.series[i] = r.known(k)
	}
}

func newRequest(h *Handler) *request {
	r := &request{h: h, loan: loan{from: &h.budget}}
	r.labels.o, r.exemplars.o = &h.o, &h.o
	return r
}

// reset makes r ready for a request.
func (r *request) reset(b batch, v version) {
	r.b, r.v, r.noted, r.done, r.hits, r.misses, r.ahead.n = b, v, false, written{}, 0, 0, 0
	r.period = key{a: uint64(time.Now().Unix() / metadataPeriod)}
	r.report.reset()
}

// Symbol tables above this are not kept.
const maxKeptSymbols = 64 << 10

// release lets go of what the request held.
func (r *request) release() {
	r.loan.giveBack()
	r.b = nil
	if cap(r.sums) > maxKeptSymbols {
		r.sums, r.table.Symbols = nil, nil
	}
}

// known returns the series that the cache has for a key; 0 if it has none, or one
// that the store dropped.
func (r *request) known(k key) tsdb.Series {
	if s := r.h.series.get(k); s != 0 && r.b.Live(s) {
		return s
	}
	return 0
}

// register asks the store for the series that r.labels holds; 0 when it was
// refused, with its n items.
func (r *request) register(k key, n int) (tsdb.Series, error) {
	lset, err := r.labels.series()
	if err != nil {
		return 0, r.report.add(err, n)
	}
	s, err := r.b.Series(lset)
	if err != nil {
		return 0, r.report.add(err, n)
	}
	r.h.series.put(k, s)
	return s, nil
}

// addSamples adds the float samples of s.
func (r *request) addSamples(s tsdb.Series, it wire.Samples) error {
	for it.Next() {
		if err := r.b.Float(s, it.Start, it.Time, it.Value); err != nil {
			if err := r.report.add(err, 1); err != nil {
				return err
			}
			continue
		}
		r.done.samples++
	}
	return it.Err()
}

// addExemplar adds an exemplar with the labels in r.exemplars.
func (r *request) addExemplar(s tsdb.Series, value float64, t int64) error {
	lset, err := r.exemplars.finish()
	if err != nil {
		return r.refuseExemplar(err)
	}
	// The store copies the labels.
	if err := r.b.Exemplar(s, exemplar.Exemplar{Labels: lset, Value: value, Ts: t, HasTs: t != 0}); err != nil {
		return r.report.add(err, 1)
	}
	r.done.exemplars++
	return nil
}

// seriesText prints the labels of the series in hand as they were sent. It takes
// r.labels.
func (r *request) seriesText() string {
	// Labels of a known series are sound.
	if r.v == version2 {
		_, _, _ = r.readLabelsV2(&r.labels, r.v2.Refs)
	} else {
		_, _ = readLabelsV1(&r.labels, r.v1.Labels)
	}
	return r.labels.text()
}
