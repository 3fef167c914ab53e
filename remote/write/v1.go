package write

import (
	"github.com/varvedb/varve/remote/internal/wire"
	"github.com/varvedb/varve/tsdb"
)

// walkV1 brings a prometheus.WriteRequest into the batch. An error means that
// nothing of it may be stored.
func (r *request) walkV1(msg []byte) error {
	it := wire.NewV1Request(msg)
	a := &r.ahead
	for it.Next() {
		if it.Kind() == wire.V1Metadata {
			if err := r.metadataV1(it.Data()); err != nil {
				return err
			}
			continue
		}
		if err := a.v1[a.n].Split(it.Data()); err != nil {
			return err
		}
		if a.n++; a.n == lookAhead {
			if err := r.takeV1(); err != nil {
				return err
			}
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	return r.takeV1()
}

// takeV1 brings the series ahead into the batch.
func (r *request) takeV1() error {
	a := &r.ahead
	for i := range a.n {
		a.keys[i] = r.h.keyer.of(a.v1[i].Labels)
	}
	r.find()
	for i := range a.n {
		r.v1 = &a.v1[i]
		if err := r.seriesV1(a.keys[i], a.series[i]); err != nil {
			return err
		}
	}
	a.n = 0
	return nil
}

// seriesV1 brings the time series in hand into the batch; s is 0 if the cache
// does not know it. One without any item is nothing, whatever its labels.
func (r *request) seriesV1(k key, s tsdb.Series) error {
	ts := r.v1
	n := ts.SampleCount + ts.HistogramCount + ts.ExemplarCount
	if n == 0 {
		return nil
	}
	if s == 0 {
		r.misses++
		var err error
		if s, err = r.registerV1(k, ts.Labels, n); s == 0 {
			return err
		}
	} else {
		r.hits++
	}
	if err := r.addSamples(s, ts.Samples()); err != nil {
		return err
	}
	if ts.HistogramCount > 0 {
		if err := r.addHistograms(s, ts.Histograms(), false); err != nil {
			return err
		}
	}
	if ts.ExemplarCount > 0 {
		return r.exemplarsV1(s, ts.Exemplars())
	}
	return nil
}

// registerV1 finds the series with the given label fields in the store; 0
// when it was refused, with its n items.
func (r *request) registerV1(k key, fields []byte, n int) (tsdb.Series, error) {
	if bad, err := readLabelsV1(&r.labels, fields); err != nil {
		return 0, err
	} else if bad != nil {
		return 0, r.report.add(bad, n)
	}
	return r.register(k, n)
}

// readLabelsV1 reads label fields into l; bad is what is wrong with a label, err
// with the message. The fields after a bad label are checked, not taken.
func readLabelsV1(l *labelSet, fields []byte) (bad, err error) {
	l.reset()
	it := wire.NewV1Labels(fields)
	for it.Next() {
		if bad == nil {
			bad = l.add(it.Name, it.Value)
		}
	}
	return bad, it.Err()
}

func (r *request) exemplarsV1(s tsdb.Series, it wire.Members) error {
	for it.Next() {
		var e wire.V1Exemplar
		if err := e.Decode(it.Data()); err != nil {
			return err
		}
		bad, err := readLabelsV1(&r.exemplars, e.Labels)
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

// refuseExemplar notes that an exemplar was refused.
func (r *request) refuseExemplar(bad error) error {
	return r.report.add(&tsdb.InputError{
		Culprit: "exemplar of " + r.seriesText(), Reason: bad.Error(),
	}, 1)
}
