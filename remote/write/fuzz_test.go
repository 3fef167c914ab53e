package write

import (
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// FuzzHandler: whatever a message holds, the answer is a 204 or a 400, it is the
// same the second time, and all memory is given back.
func FuzzHandler(f *testing.F) {
	f.Add(false, marshal(f, v1(seriesV1("a", 1, 2), labelledV1(pairs("b", "c"), 1))))
	f.Add(true, marshal(f, newV2().series(sampleV2(modelNow, 1), "__name__", "a", "b", "c").build()))
	f.Add(false, marshal(f, v1(prompb.TimeSeries{Labels: pairs("__name__", "h"),
		Histograms: []prompb.Histogram{prompb.FromIntHistogram(1, validHistogram()), prompb.FromFloatHistogram(1, customHistogram())},
		Exemplars:  []prompb.Exemplar{{Labels: pairs("x", "y"), Value: 1, Timestamp: 5}}})))
	f.Add(true, marshal(f, newV2().series(writev2.TimeSeries{Histograms: []writev2.Histogram{writev2.FromIntHistogram(1, 2, validHistogram())},
		Metadata: writev2.Metadata{Type: 1, HelpRef: 1}}, "__name__", "h").build()))
	f.Add(false, marshal(f, &prompb.WriteRequest{Metadata: []prompb.MetricMetadata{{MetricFamilyName: "f", Help: "h"}}}))
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, isV2 bool, msg []byte) {
		tally.Input()
		m := newModel()
		h := newHandler(m.batch, Options{})
		contentType := typeV1
		if isV2 {
			contentType = typeV2
		}
		block := snappy.Encode(nil, msg)
		first := post(h, contentType, "snappy", block)
		require.Contains(t, []int{204, 400}, first.Code)
		second := post(h, contentType, "snappy", block)
		require.Equal(t, first.Code, second.Code)
		require.Zero(t, h.Stats().InFlightBytes)
		if first.Code == 204 {
			tally.Accepted()
		}
	})
}
