package api

import (
	"math"
	"strconv"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// The writers here append exactly the bytes Prometheus writes, number for
// number; testdata/upstream.txt holds its answers.

// appendTimestamp appends milliseconds as seconds: 1.001, 1.010, 2.
func appendTimestamp(dst []byte, t int64) []byte {
	ms := uint64(t)
	if t < 0 {
		dst = append(dst, '-')
		ms = -ms
	}
	dst = strconv.AppendUint(dst, ms/1000, 10)
	if f := ms % 1000; f != 0 {
		dst = append(dst, '.', byte('0'+f/100), byte('0'+f/10%10), byte('0'+f%10))
	}
	return dst
}

// appendFloat appends a quoted sample value: shortest decimal, with an exponent
// only below 1e-6 and from 1e21 on.
func appendFloat(dst []byte, f float64) []byte {
	dst = append(dst, '"')
	abs := math.Abs(f)
	switch {
	case abs < 1<<53 && f == math.Trunc(f) && (f != 0 || !math.Signbit(f)):
		dst = strconv.AppendInt(dst, int64(f), 10) // most samples are whole
	case abs != 0 && (abs < 1e-6 || abs >= 1e21):
		dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	default:
		dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	return append(dst, '"')
}

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

// writeSeries writes one element of a matrix, spilling as it grows.
func (s *sink) writeSeries(series promql.Series) {
	s.buf = append(s.buf, `{"metric":`...)
	s.buf = appendLabels(s.buf, series.Metric)
	open := `,"values":[`
	for _, p := range series.Floats {
		s.buf = append(s.buf, open...)
		open = ","
		s.buf = appendFPoint(s.buf, p)
		s.spill()
	}
	if open == "," {
		s.buf = append(s.buf, ']')
	}
	open = `,"histograms":[`
	for _, p := range series.Histograms {
		s.buf = append(s.buf, open...)
		open = ","
		s.buf = appendHPoint(s.buf, p)
		s.spill()
	}
	if open == "," {
		s.buf = append(s.buf, ']')
	}
	s.buf = append(s.buf, '}')
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
