package write

import (
	"fmt"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/varvedb/varve/remote/internal/wire"
	"github.com/varvedb/varve/tsdb"
)

// addHistograms adds the native histograms of s.
func (r *request) addHistograms(s tsdb.Series, it wire.Members, v2 bool) error {
	for it.Next() {
		bad := r.histogram.Decode(it.Data(), v2, r.h.o.MaxBuckets)
		if bad == nil {
			if err := r.loan.take(r.histogram.HeapBytes()); err != nil {
				return err
			}
			bad = r.addHistogram(s)
		}
		if bad != nil {
			if err := r.refuseHistogram(bad); err != nil {
				return err
			}
			continue
		}
		r.done.histograms++
	}
	return it.Err()
}

// addHistogram adds the histogram that r.histogram holds. Resolutions that the
// engine does not know are reduced to the finest one it does.
func (r *request) addHistogram(s tsdb.Series) error {
	d := &r.histogram
	if d.Float != nil {
		if tooFine(d.Float.Schema) {
			if err := d.Float.ReduceResolution(histogram.ExponentialSchemaMax); err != nil {
				return invalidHistogram{err}
			}
		}
		if err := d.Float.Validate(); err != nil {
			return invalidHistogram{err}
		}
		return r.b.FloatHistogram(s, d.Start, d.Time, d.Float)
	}
	if tooFine(d.Int.Schema) {
		if err := d.Int.ReduceResolution(histogram.ExponentialSchemaMax); err != nil {
			return invalidHistogram{err}
		}
	}
	if err := d.Int.Validate(); err != nil {
		return invalidHistogram{err}
	}
	return r.b.Histogram(s, d.Start, d.Time, d.Int)
}

func tooFine(schema int32) bool {
	return histogram.IsExponentialSchemaReserved(schema) && schema > histogram.ExponentialSchemaMax
}

// invalidHistogram marks what Validate says.
type invalidHistogram struct{ error }

// refuseHistogram notes that a histogram was refused, or returns an error that
// is not the histogram's fault.
func (r *request) refuseHistogram(bad error) error {
	switch bad.(type) {
	case invalidHistogram:
		culprit := fmt.Sprintf("histogram of %s at %d", r.seriesText(), r.histogram.Time)
		bad = &tsdb.InputError{Culprit: culprit, Reason: bad.Error()}
	case *wire.LimitError: // it was not decoded to the end: no time
		bad = &tsdb.InputError{Culprit: "histogram of " + r.seriesText(), Reason: bad.Error()}
	}
	return r.report.add(bad, 1)
}
