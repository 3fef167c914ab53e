package api

import (
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// The writers here append exactly the bytes Prometheus writes, number for
// number; testdata/upstream.txt holds its answers.

// appendLabels appends a label set as an object, in the set's order.
func appendLabels(dst []byte, lset labels.Labels) []byte {
	dst = append(dst, '{')
	first := true
	lset.Range(func(l labels.Label) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendPlainString(dst, l.Name)
		dst = append(dst, ':')
		dst = appendPlainString(dst, l.Value)
	})
	return append(dst, '}')
}

func appendFPoint(dst []byte, p promql.FPoint) []byte {
	dst = append(dst, '[')
	dst = appendTimestamp(dst, p.T)
	dst = append(dst, ',')
	dst = appendFloat(dst, p.F)
	return append(dst, ']')
}

func appendHPoint(dst []byte, p promql.HPoint) []byte {
	dst = append(dst, '[')
	dst = appendTimestamp(dst, p.T)
	dst = append(dst, ',')
	dst = appendHistogram(dst, p.H)
	return append(dst, ']')
}

// appendHistogram appends count, sum and the buckets that hold something, each
// as [boundaries, lower, upper, count].
func appendHistogram(dst []byte, h *histogram.FloatHistogram) []byte {
	dst = append(dst, `{"count":`...)
	dst = appendFloat(dst, h.Count)
	dst = append(dst, `,"sum":`...)
	dst = appendFloat(dst, h.Sum)
	open := `,"buckets":[`
	for it := h.AllBucketIterator(); it.Next(); {
		b := it.At()
		if b.Count == 0 {
			continue
		}
		dst = append(dst, open...)
		open = ","
		dst = appendBucket(dst, b)
	}
	if open == "," {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func appendBucket(dst []byte, b histogram.Bucket[float64]) []byte {
	boundaries := byte('2') // open
	switch {
	case b.LowerInclusive && b.UpperInclusive:
		boundaries = '3'
	case b.LowerInclusive:
		boundaries = '1'
	case b.UpperInclusive:
		boundaries = '0'
	}
	dst = append(dst, '[', boundaries, ',')
	dst = appendFloat(dst, b.Lower)
	dst = append(dst, ',')
	dst = appendFloat(dst, b.Upper)
	dst = append(dst, ',')
	dst = appendFloat(dst, b.Count)
	return append(dst, ']')
}

// appendSample appends one element of a vector.
func appendSample(dst []byte, s promql.Sample) []byte {
	dst = append(dst, `{"metric":`...)
	dst = appendLabels(dst, s.Metric)
	if s.H != nil {
		dst = append(dst, `,"histogram":`...)
		dst = appendHPoint(dst, promql.HPoint{T: s.T, H: s.H})
	} else {
		dst = append(dst, `,"value":`...)
		dst = appendFPoint(dst, promql.FPoint{T: s.T, F: s.F})
	}
	return append(dst, '}')
}

// appendExemplar appends one exemplar as an object.
func appendExemplar(dst []byte, e exemplar.Exemplar) []byte {
	dst = append(dst, `{"labels":`...)
	dst = appendLabels(dst, e.Labels)
	dst = append(dst, `,"value":`...)
	dst = appendFloat(dst, e.Value)
	dst = append(dst, `,"timestamp":`...)
	dst = appendTimestamp(dst, e.Ts)
	return append(dst, '}')
}
