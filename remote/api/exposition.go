package api

import (
	"maps"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/proto"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// federation groups samples into metric families and encodes them. Samples of
// one name must follow each other; a family ends where the name, or the kind of
// sample, changes.
type federation struct {
	enc      expfmt.Encoder
	native   bool // the format has native histograms
	external []labels.Label

	family *dto.MetricFamily
	kind   dto.MetricType
}

func newFederation(enc expfmt.Encoder, format expfmt.Format, external labels.Labels) *federation {
	f := &federation{enc: enc}
	switch format.FormatType() {
	case expfmt.TypeProtoDelim, expfmt.TypeProtoText, expfmt.TypeProtoCompact:
		f.native = true
	}
	// An empty instance keeps the scraper from attaching its own.
	all := external.Map()
	if _, ok := all[model.InstanceLabel]; !ok {
		all[model.InstanceLabel] = ""
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f.external = append(f.external, labels.Label{Name: name, Value: all[name]})
	}
	return f
}

// add takes one sample; those without a name, and native histograms where the
// format has none, are skipped.
func (f *federation) add(s promql.Sample) error {
	name := s.Metric.Get(labels.MetricName)
	if name == "" || (s.H != nil && !s.H.UsesCustomBuckets() && !f.native) {
		return nil
	}
	if kind := sampleKind(s); f.family == nil || name != f.family.GetName() || kind != f.kind {
		if err := f.flush(); err != nil {
			return err
		}
		f.kind = kind
		f.family = &dto.MetricFamily{Name: proto.String(name), Type: kind.Enum()}
	}
	m := &dto.Metric{Label: f.labelPairs(s.Metric), TimestampMs: proto.Int64(s.T)}
	switch {
	case s.H == nil:
		m.Untyped = &dto.Untyped{Value: proto.Float64(s.F)}
	case s.H.UsesCustomBuckets():
		m.Histogram = classicHistogram(s.H)
	default:
		m.Histogram = nativeHistogram(s.H)
	}
	f.family.Metric = append(f.family.Metric, m)
	return nil
}

// flush encodes the family at hand.
func (f *federation) flush() error {
	if f.family == nil {
		return nil
	}
	family := f.family
	f.family = nil
	return f.enc.Encode(family)
}

func sampleKind(s promql.Sample) dto.MetricType {
	switch {
	case s.H == nil:
		return dto.MetricType_UNTYPED
	case s.H.CounterResetHint == histogram.GaugeType:
		return dto.MetricType_GAUGE_HISTOGRAM
	}
	return dto.MetricType_HISTOGRAM
}

// labelPairs returns the labels but the name, then the external labels the
// series does not carry itself.
func (f *federation) labelPairs(lset labels.Labels) []*dto.LabelPair {
	var pairs []*dto.LabelPair
	lset.Range(func(l labels.Label) {
		if l.Name != labels.MetricName && l.Value != "" {
			pairs = append(pairs, &dto.LabelPair{Name: proto.String(l.Name), Value: proto.String(l.Value)})
		}
	})
	for _, l := range f.external {
		if lset.Get(l.Name) == "" {
			pairs = append(pairs, &dto.LabelPair{Name: proto.String(l.Name), Value: proto.String(l.Value)})
		}
	}
	return pairs
}

// nativeHistogram is for the exponential schemas.
func nativeHistogram(h *histogram.FloatHistogram) *dto.Histogram {
	return &dto.Histogram{
		SampleCountFloat: proto.Float64(h.Count),
		SampleSum:        proto.Float64(h.Sum),
		Schema:           proto.Int32(h.Schema),
		ZeroThreshold:    proto.Float64(h.ZeroThreshold),
		ZeroCountFloat:   proto.Float64(h.ZeroCount),
		NegativeSpan:     bucketSpans(h.NegativeSpans),
		NegativeCount:    h.NegativeBuckets,
		PositiveSpan:     bucketSpans(h.PositiveSpans),
		PositiveCount:    h.PositiveBuckets,
	}
}

func bucketSpans(spans []histogram.Span) []*dto.BucketSpan {
	var out []*dto.BucketSpan
	for _, s := range spans {
		out = append(out, &dto.BucketSpan{Offset: proto.Int32(s.Offset), Length: proto.Uint32(s.Length)})
	}
	return out
}

// classicHistogram is for custom bounds, which every format can say. The
// encoders add the +Inf bucket where it is needed.
func classicHistogram(h *histogram.FloatHistogram) *dto.Histogram {
	out := &dto.Histogram{
		SampleCountFloat: proto.Float64(h.Count),
		SampleSum:        proto.Float64(h.Sum),
	}
	cumulative := 0.0
	it := h.PositiveBucketIterator()
	more := it.Next()
	for i, le := range h.CustomValues {
		for ; more && int(it.At().Index) <= i; more = it.Next() {
			cumulative += it.At().Count
		}
		out.Bucket = append(out.Bucket, &dto.Bucket{
			UpperBound:           proto.Float64(le),
			CumulativeCountFloat: proto.Float64(cumulative),
		})
	}
	return out
}
