package wire

import (
	"fmt"
	"math"
	"strings"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

// The dumps print what a request holds, every float as its bits, so that what
// the walkers hand out can be compared with what the generated decoders do.

func bitsOf(f float64) string { return fmt.Sprintf("%016x", math.Float64bits(f)) }

func bitsOfAll(fs []float64) string {
	var s strings.Builder
	for _, f := range fs {
		s.WriteString(bitsOf(f) + ",")
	}
	return s.String()
}

func dumpHistogram(st, t int64, h *histogram.Histogram, fh *histogram.FloatHistogram) string {
	if fh != nil {
		return fmt.Sprintf("  float histogram st=%d t=%d hint=%d schema=%d zt=%s zc=%s c=%s s=%s p=%v %s n=%v %s custom=%s\n",
			st, t, fh.CounterResetHint, fh.Schema, bitsOf(fh.ZeroThreshold), bitsOf(fh.ZeroCount), bitsOf(fh.Count), bitsOf(fh.Sum),
			fh.PositiveSpans, bitsOfAll(fh.PositiveBuckets), fh.NegativeSpans, bitsOfAll(fh.NegativeBuckets), bitsOfAll(fh.CustomValues))
	}
	return fmt.Sprintf("  histogram st=%d t=%d hint=%d schema=%d zt=%s zc=%d c=%d s=%s p=%v %v n=%v %v custom=%s\n",
		st, t, h.CounterResetHint, h.Schema, bitsOf(h.ZeroThreshold), h.ZeroCount, h.Count, bitsOf(h.Sum),
		h.PositiveSpans, h.PositiveBuckets, h.NegativeSpans, h.NegativeBuckets, bitsOfAll(h.CustomValues))
}

// dumpV1Oracle dumps what the generated decoder found.
func dumpV1Oracle(req *prompb.WriteRequest) string {
	var s strings.Builder
	for _, ts := range req.Timeseries {
		s.WriteString("series")
		for _, l := range ts.Labels {
			fmt.Fprintf(&s, " %q=%q", l.Name, l.Value)
		}
		s.WriteString("\n")
		for _, p := range ts.Samples {
			fmt.Fprintf(&s, "  sample %s t=%d st=0\n", bitsOf(p.Value), p.Timestamp)
		}
		for _, e := range ts.Exemplars {
			fmt.Fprintf(&s, "  exemplar %s t=%d", bitsOf(e.Value), e.Timestamp)
			for _, l := range e.Labels {
				fmt.Fprintf(&s, " %q=%q", l.Name, l.Value)
			}
			s.WriteString("\n")
		}
		for _, h := range ts.Histograms {
			h.ResetHint = prompb.Histogram_ResetHint(resetHint(uint64(h.ResetHint)))
			if h.IsFloatHistogram() {
				s.WriteString(dumpHistogram(0, h.Timestamp, nil, h.ToFloatHistogram()))
			} else {
				s.WriteString(dumpHistogram(0, h.Timestamp, h.ToIntHistogram(), nil))
			}
		}
	}
	for _, m := range req.Metadata {
		fmt.Fprintf(&s, "metadata %q %d %q %q\n", m.MetricFamilyName, m.Type, m.Help, m.Unit)
	}
	return s.String()
}

func dumpV1Labels(s *strings.Builder, fields []byte) error {
	l := NewV1Labels(fields)
	for l.Next() {
		fmt.Fprintf(s, " %q=%q", l.Name, l.Value)
	}
	return l.Err()
}

// dumpV1 dumps what the walker finds.
func dumpV1(msg []byte) (string, error) {
	var series, meta strings.Builder
	var ts V1Series
	r := NewV1Request(msg)
	for r.Next() {
		if r.Kind() == V1Metadata {
			var m V1MetricMetadata
			if err := m.Decode(r.Data()); err != nil {
				return "", err
			}
			fmt.Fprintf(&meta, "metadata %q %d %q %q\n", m.Family, m.Type, m.Help, m.Unit)
			continue
		}
		if err := ts.Split(r.Data()); err != nil {
			return "", err
		}
		series.WriteString("series")
		if err := dumpV1Labels(&series, ts.Labels); err != nil {
			return "", err
		}
		series.WriteString("\n")
		samples, exemplars := ts.Samples(), ts.Exemplars()
		if err := dumpSamples(&series, &samples); err != nil {
			return "", err
		}
		for exemplars.Next() {
			var e V1Exemplar
			if err := e.Decode(exemplars.Data()); err != nil {
				return "", err
			}
			fmt.Fprintf(&series, "  exemplar %s t=%d", bitsOf(e.Value), e.Time)
			if err := dumpV1Labels(&series, e.Labels); err != nil {
				return "", err
			}
			series.WriteString("\n")
		}
		if err := exemplars.Err(); err != nil {
			return "", err
		}
		histograms := ts.Histograms()
		if err := dumpHistograms(&series, &histograms, false); err != nil {
			return "", err
		}
	}
	return series.String() + meta.String(), r.Err()
}

func dumpSamples(s *strings.Builder, it *Samples) error {
	for it.Next() {
		fmt.Fprintf(s, "  sample %s t=%d st=%d\n", bitsOf(it.Value), it.Time, it.Start)
	}
	return it.Err()
}

func dumpHistograms(s *strings.Builder, it *Members, v2 bool) error {
	var h Histogram
	for it.Next() {
		if err := h.Decode(it.Data(), v2, 1<<20); err != nil {
			return err
		}
		s.WriteString(dumpHistogram(h.Start, h.Time, h.Int, h.Float))
	}
	return it.Err()
}

// dumpV2Oracle dumps what the generated decoder found, references not resolved.
func dumpV2Oracle(req *writev2.Request) string {
	var s strings.Builder
	fmt.Fprintf(&s, "symbols %q\n", req.Symbols)
	for _, ts := range req.Timeseries {
		fmt.Fprintf(&s, "series %v metadata %d %d %d\n", ts.LabelsRefs, ts.Metadata.Type, ts.Metadata.HelpRef, ts.Metadata.UnitRef)
		for _, p := range ts.Samples {
			fmt.Fprintf(&s, "  sample %s t=%d st=%d\n", bitsOf(p.Value), p.Timestamp, p.StartTimestamp)
		}
		for _, e := range ts.Exemplars {
			fmt.Fprintf(&s, "  exemplar %s t=%d %v\n", bitsOf(e.Value), e.Timestamp, e.LabelsRefs)
		}
		for _, h := range ts.Histograms {
			h.ResetHint = writev2.Histogram_ResetHint(resetHint(uint64(h.ResetHint)))
			if h.IsFloatHistogram() {
				s.WriteString(dumpHistogram(h.StartTimestamp, h.Timestamp, nil, h.ToFloatHistogram()))
			} else {
				s.WriteString(dumpHistogram(h.StartTimestamp, h.Timestamp, h.ToIntHistogram(), nil))
			}
		}
	}
	return s.String()
}

func allRefs(b []byte) ([]uint32, error) {
	var refs []uint32
	r := NewRefs(b)
	for {
		ref, ok := r.Next()
		if !ok {
			return refs, r.Err()
		}
		refs = append(refs, ref)
	}
}

// dumpV2 dumps what the walker finds.
func dumpV2(msg []byte) (string, error) {
	var s strings.Builder
	var ts V2Series
	var r V2Request
	if err := r.Reset(msg, 1<<20); err != nil {
		return "", err
	}
	fmt.Fprintf(&s, "symbols %q\n", r.Symbols)
	for r.Next() {
		if err := ts.Split(r.Data()); err != nil {
			return "", err
		}
		refs, err := allRefs(ts.Refs)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&s, "series %v metadata %d %d %d\n", refs, ts.Metadata.Type, ts.Metadata.HelpRef, ts.Metadata.UnitRef)
		samples, exemplars := ts.Samples(), ts.Exemplars()
		if err := dumpSamples(&s, &samples); err != nil {
			return "", err
		}
		for exemplars.Next() {
			var e V2Exemplar
			if err := e.Decode(exemplars.Data()); err != nil {
				return "", err
			}
			if refs, err = allRefs(e.Refs); err != nil {
				return "", err
			}
			fmt.Fprintf(&s, "  exemplar %s t=%d %v\n", bitsOf(e.Value), e.Time, refs)
		}
		if err := exemplars.Err(); err != nil {
			return "", err
		}
		histograms := ts.Histograms()
		if err := dumpHistograms(&s, &histograms, true); err != nil {
			return "", err
		}
	}
	return s.String(), r.Err()
}
