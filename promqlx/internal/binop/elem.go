package binop

import (
	"errors"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"
)

// value is a sample's: the histogram, or the float if that is nil.
type value struct {
	f float64
	h *histogram.FloatHistogram
}

func (v value) kind() int {
	if v.h != nil {
		return 1
	}
	return 0
}

// elems combines samples one by one.
type elems struct {
	op  parser.ItemType
	pos posrange.PositionRange
	// mismatch are the annotations of kinds that do not go together.
	mismatch [2][2]error
}

// combine is vectorElemBinop of Prometheus' promql/engine.go. A result that is
// not kept by a comparison is returned all the same. With an error, which may be
// an annotation, there is none; an info is besides it.
func (e *elems) combine(l, r value) (res value, keep bool, info, err error) {
	switch {
	case l.h == nil && r.h == nil:
		switch {
		case trims(e.op):
			return value{}, false, nil, e.mismatched(l, r)
		case e.op.IsComparisonOperator():
			return l, compare(e.op, []float64{l.f}, []float64{r.f}) != 0, nil, nil
		}
		var out [1]float64
		arithmetic(e.op, out[:], []float64{l.f}, []float64{r.f}, 1)
		return value{f: out[0]}, true, nil, nil
	case l.h != nil && r.h != nil:
		return e.histograms(l, r)
	case l.h == nil:
		if e.op == parser.MUL {
			return value{h: r.h.Copy().Mul(l.f).Compact(0)}, true, nil, nil
		}
		return value{}, false, nil, e.mismatched(l, r)
	}
	switch e.op {
	case parser.MUL:
		return value{h: l.h.Copy().Mul(r.f).Compact(0)}, true, nil, nil
	case parser.DIV:
		return value{h: l.h.Copy().Div(r.f).Compact(0)}, true, nil, nil
	case parser.TRIM_UPPER, parser.TRIM_LOWER:
		return value{h: l.h.Copy().TrimBuckets(r.f, e.op == parser.TRIM_UPPER)}, true, nil, nil
	}
	return value{}, false, nil, e.mismatched(l, r)
}

// histograms combines two histograms.
func (e *elems) histograms(l, r value) (res value, keep bool, info, err error) {
	var deed annotations.HistogramOperation
	var collision, reconciled bool
	switch e.op {
	case parser.ADD:
		deed = annotations.HistogramAdd
		res.h, collision, reconciled, err = l.h.Copy().Add(r.h)
	case parser.SUB:
		deed = annotations.HistogramSub
		if res.h, collision, reconciled, err = l.h.Copy().Sub(r.h); err == nil {
			res.h.CounterResetHint = histogram.GaugeType
		}
	case parser.EQLC:
		return l, l.h.Equals(r.h), nil, nil
	case parser.NEQ:
		return l, !l.h.Equals(r.h), nil, nil
	default:
		return value{}, false, nil, e.mismatched(l, r)
	}
	if err != nil {
		return value{}, false, nil, err
	}
	if collision {
		err = annotations.NewHistogramCounterResetCollisionWarning(e.pos, deed)
	}
	if reconciled {
		info = annotations.NewMismatchedCustomBucketsHistogramsInfo(e.pos, deed)
	}
	return value{h: res.h.Compact(0)}, true, info, err
}

// mismatched returns the annotation for two kinds that do not go together.
func (e *elems) mismatched(l, r value) error {
	cached := &e.mismatch[l.kind()][r.kind()]
	if *cached == nil {
		names := [2]string{"float", "histogram"}
		*cached = annotations.NewIncompatibleTypesInBinOpInfo(names[l.kind()], parser.ItemTypeStr[e.op], names[r.kind()], e.pos)
	}
	return *cached
}

// annotate adds what the last error of a step comes to, or returns it if it is
// one of the query (handleVectorBinopError of Prometheus' engine).
func (e *elems) annotate(annos *annotations.Annotations, err error) error {
	switch {
	case err == nil:
	case errors.Is(err, annotations.PromQLInfo), errors.Is(err, annotations.PromQLWarning):
		annos.Add(err)
	case errors.Is(err, histogram.ErrHistogramsIncompatibleSchema):
		annos.Add(annotations.NewIncompatibleBucketLayoutInBinOpWarning(parser.ItemTypeStr[e.op], e.pos))
	default:
		return err
	}
	return nil
}

// annotateSteps does it for all steps: the first error that is one of the query
// is returned.
func (e *elems) annotateSteps(annos *annotations.Annotations, last []error) error {
	var before error
	for _, err := range last {
		if err == before {
			continue
		}
		if err := e.annotate(annos, err); err != nil {
			return err
		}
		before = err
	}
	return nil
}
