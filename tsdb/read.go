package tsdb

import (
	"errors"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// Read appends the samples of series i inside [mint, maxt], which is limited to
// the range of the Select, to into: those that Cursor has, integer histograms made
// floats. Many goroutines may read one View, each into Samples of its own.
//
// After an error, damage among them, into is as it was; see Cursor for what is
// left out rather.
//
// Cost: some hundred nanoseconds for a series and a few for a sample, which is
// decoded straight into the columns. Histograms cost far more.
func (v *View) Read(i int, mint, maxt int64, into *Samples) error {
	mint, maxt = max(mint, v.mint), min(maxt, v.maxt)
	if mint > maxt {
		return nil
	}
	f := into.begin()
	from := len(f.T)
	ok, err := v.appendFloats(i, mint, maxt, f)
	if ok && err == nil {
		f.Settle()
	} else {
		f.Truncate(from)
	}
	into.end()
	if ok || err != nil {
		return v.damaged(err)
	}
	return into.appendSpans(v.Cursor(i, mint, maxt))
}

// damaged reports damage that a reader met.
func (v *View) damaged(err error) error {
	if err != nil && errors.Is(err, ErrCorrupt) {
		v.db.noteDamage(err)
	}
	return err
}

// appendFloats appends the floats of a series, a run for each place; ok is false
// if there are histograms too.
func (v *View) appendFloats(i int, mint, maxt int64, into *block.Floats) (ok bool, err error) {
	if err := v.Err(); err != nil {
		return false, err
	}
	if v.joined == nil {
		return v.places[0].appendFloats(i, mint, maxt, into)
	}
	for _, ref := range v.joined.of(i) {
		if ok, err := v.places[ref.place].appendFloats(int(ref.k), mint, maxt, into); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Last returns the last sample of series i inside [mint, maxt], which is limited
// as in Read; ok is false if there is none. It is a histogram if h is not nil,
// which must not be changed. st is its start timestamp, 0 if unknown. Staleness
// markers are samples.
//
// Cost: a few hundred nanoseconds for a float, of which no more than the mini-block
// is decoded; that of Cursor for a histogram. Damage before the sample goes
// unnoticed.
func (v *View) Last(i int, mint, maxt int64) (t int64, f float64, h *histogram.FloatHistogram, st int64, ok bool, err error) {
	mint, maxt = max(mint, v.mint), min(maxt, v.maxt)
	if mint > maxt {
		return 0, 0, nil, 0, false, nil
	}
	last, ok, plain, err := v.lastFloat(i, mint, maxt)
	if plain || err != nil {
		return last.T, last.F, nil, last.ST, ok, v.damaged(err)
	}
	c := v.Cursor(i, mint, maxt)
	for c.Next() {
		s := c.Span()
		k := s.Count - 1
		t, f, h, st, ok = s.Time(k), 0, nil, s.StartTime(k), true
		switch s.Kind {
		case KindHistogram:
			h = s.Histograms[k].ToFloat(nil)
		case KindFloatHistogram:
			h = s.FloatHistograms[k]
		default:
			f = s.Float(k)
		}
	}
	if err := c.Err(); err != nil {
		return 0, 0, nil, 0, false, err
	}
	return t, f, h, st, ok, nil
}

// lastFloat is Last where plain: no place has a histogram.
func (v *View) lastFloat(i int, mint, maxt int64) (last block.Sample, ok, plain bool, err error) {
	if err := v.Err(); err != nil {
		return last, false, false, err
	}
	if v.joined == nil {
		return v.places[0].lastFloat(i, mint, maxt)
	}
	for _, ref := range v.joined.of(i) {
		s, found, plain, err := v.places[ref.place].lastFloat(int(ref.k), mint, maxt)
		if !plain || err != nil {
			return block.Sample{}, false, false, err
		}
		if found && (!ok || s.T >= last.T) {
			last, ok = s, true
		}
	}
	return last, ok, true, nil
}
