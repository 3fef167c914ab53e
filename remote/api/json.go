package api

import (
	"slices"

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
	empty := len(dst)
	lset.Range(func(l labels.Label) { dst = appendLabel(dst, l.Name, l.Value) })
	if len(dst) == empty {
		return append(dst, '}')
	}
	dst[len(dst)-1] = '}' // the last comma
	return dst
}

// appendLabel appends a field of an object and a comma.
func appendLabel(dst []byte, name, value string) []byte {
	if !isPlain(name) || !isPlain(value) {
		dst = appendPlainString(dst, name)
		dst = append(dst, ':')
		dst = appendPlainString(dst, value)
		return append(dst, ',')
	}
	at, n := len(dst), len(name)+len(value)+len(`"":"",`)
	dst = slices.Grow(dst, n)[:at+n]
	to := dst[at:]
	to[0] = '"'
	to = to[1+copy(to[1:], name):]
	to[0], to[1], to[2] = '"', ':', '"'
	to = to[3+copy(to[3:], value):]
	to[0], to[1] = '"', ','
	return dst
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
