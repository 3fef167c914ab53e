package write

import (
	"fmt"

	"github.com/prometheus/common/model"

	"github.com/varvedb/varve/remote/internal/wire"
	"github.com/varvedb/varve/tsdb"
)

// walkV2 brings an io.prometheus.write.v2.Request into the batch. An error
// means that nothing of it may be stored.
func (r *request) walkV2(msg []byte) error {
	if err := r.table.Reset(msg, r.h.o.MaxSymbols); err != nil {
		return err
	}
	// Symbols are a slice header and a key each.
	if n := len(r.table.Symbols); n > maxKeptSymbols {
		if err := r.loan.take(40 * n); err != nil {
			return err
		}
	}
	r.sumSymbols()
	a := &r.ahead
	for r.table.Next() {
		if err := a.v2[a.n].Split(r.table.Data()); err != nil {
			return err
		}
		if a.n++; a.n == lookAhead {
			if err := r.takeV2(); err != nil {
				return err
			}
		}
	}
	if err := r.table.Err(); err != nil {
		return err
	}
	return r.takeV2()
}

// takeV2 brings the series ahead into the batch.
func (r *request) takeV2() error {
	a := &r.ahead
	for i := range a.n {
		a.keys[i], a.names[i] = r.keyV2(a.v2[i].Refs)
	}
	r.find()
	for i := range a.n {
		r.v2 = &a.v2[i]
		if err := r.seriesV2(a.keys[i], a.series[i], a.names[i]); err != nil {
			return err
		}
	}
	a.n = 0
	return nil
}

// sumSymbols makes the keys of all symbols and finds the name of metric names.
func (r *request) sumSymbols() {
	r.sums, r.nameRef = r.sums[:0], 0
	for i, symbol := range r.table.Symbols {
		r.sums = append(r.sums, r.h.keyer.of(symbol))
		if r.nameRef == 0 && string(symbol) == model.MetricNameLabel {
			r.nameRef = uint32(i)
		}
	}
}

// seriesV2 brings the time series in hand into the batch; s is 0 if the cache
// does not know it.
func (r *request) seriesV2(k key, s tsdb.Series, nameRef uint32) error {
	ts := r.v2
	n := ts.SampleCount + ts.HistogramCount + ts.ExemplarCount
	if nameRef == 0 || ts.SampleCount+ts.HistogramCount == 0 {
		s = 0
	}
	if s == 0 {
		r.misses++
		var err error
		if s, nameRef, err = r.registerV2(k, ts, n); s == 0 {
			return err
		}
	} else {
		r.hits++
	}
	if refused, err := r.metadataV2(ts.Metadata, nameRef, n); refused || err != nil {
		return err
	}
	if err := r.addSamples(s, ts.Samples()); err != nil {
		return err
	}
	if ts.HistogramCount > 0 {
		if err := r.addHistograms(s, ts.Histograms(), true); err != nil {
			return err
		}
	}
	if ts.ExemplarCount > 0 {
		return r.exemplarsV2(s, ts.Exemplars())
	}
	return nil
}

// keyV2 makes the key of a series of its references and finds the one of its
// metric name. That is 0 when the key is not sound: when references are broken,
// odd in number or outside the table, or when the metric name is not found at
// once.
func (r *request) keyV2(refs []byte) (k key, nameRef uint32) {
	keyer, sums, metricName := &r.h.keyer, r.sums, r.nameRef
	k = keyer.joined()
	it := wire.NewRefs(refs)
	for {
		name, ok := it.Next()
		if !ok {
			if it.Err() != nil {
				return key{}, 0
			}
			return keyer.done(k), nameRef
		}
		value, ok := it.Next()
		if !ok || uint64(name) >= uint64(len(sums)) || uint64(value) >= uint64(len(sums)) {
			return key{}, 0
		}
		k = keyer.join(keyer.join(k, sums[name]), sums[value])
		if name == metricName {
			nameRef = value
		}
	}
}

// registerV2 finds a series in the store, and the reference of its metric name;
// 0 when it was refused, with its n items.
func (r *request) registerV2(k key, ts *wire.V2Series, n int) (tsdb.Series, uint32, error) {
	nameRef, bad, err := r.readLabelsV2(&r.labels, ts.Refs)
	switch {
	case err != nil:
		return 0, 0, err
	case bad != nil:
		return 0, 0, r.report.add(bad, n)
	case ts.SampleCount+ts.HistogramCount == 0:
		return 0, 0, r.report.add(r.labels.bad("it has no sample and no histogram", ""), n)
	}
	s, err := r.register(k, n)
	return s, nameRef, err
}

// readLabelsV2 reads the labels that refs point to into l and returns the
// reference of the metric name; bad is what is wrong with a label, err with the
// message.
func (r *request) readLabelsV2(l *labelSet, refs []byte) (nameRef uint32, bad, err error) {
	l.reset()
	symbols := r.table.Symbols
	it := wire.NewRefs(refs)
	for {
		name, ok := it.Next()
		if !ok {
			return nameRef, bad, it.Err()
		}
		value, ok := it.Next()
		if it.Err() != nil || bad != nil {
			continue
		}
		switch {
		case !ok:
			bad = l.bad("the number of label references is odd", "")
		case uint64(name) >= uint64(len(symbols)) || uint64(value) >= uint64(len(symbols)):
			bad = l.bad(fmt.Sprintf("label references %d and %d are not both in the table of %d symbols", name, value, len(symbols)), "")
		default:
			if string(symbols[name]) == model.MetricNameLabel {
				nameRef = value
			}
			bad = l.add(symbols[name], symbols[value])
		}
	}
}

func (r *request) exemplarsV2(s tsdb.Series, it wire.Members) error {
	for it.Next() {
		var e wire.V2Exemplar
		if err := e.Decode(it.Data()); err != nil {
			return err
		}
		_, bad, err := r.readLabelsV2(&r.exemplars, e.Refs)
		switch {
		case err != nil:
		case bad != nil:
			err = r.refuseExemplar(bad)
		default:
			err = r.addExemplar(s, e.Value, e.Time)
		}
		if err != nil {
			return err
		}
	}
	return it.Err()
}
