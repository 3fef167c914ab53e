package wire

import (
	"math"
	"math/rand/v2"

	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

// gen makes random requests.
type gen struct{ *rand.Rand }

func (g gen) value() float64 {
	switch g.IntN(6) {
	case 0:
		return math.Float64frombits(g.Uint64()) // any payload, NaNs included
	case 1:
		return 0
	case 2:
		return math.Copysign(0, -1)
	case 3:
		return math.Inf(1)
	default:
		return float64(g.IntN(1000)) / 8
	}
}

func (g gen) time() int64 {
	switch g.IntN(5) {
	case 0:
		return int64(g.Uint64())
	case 1:
		return 0
	default:
		return 1_790_000_000_000 + g.Int64N(1_000_000)
	}
}

func (g gen) text() string {
	b := make([]byte, g.IntN(12))
	if g.IntN(20) == 0 {
		b = make([]byte, 100+g.IntN(300))
	}
	for i := range b {
		b[i] = "abcdefgh_0123\xc3\xa9\xff"[g.IntN(16)]
	}
	return string(b)
}

func many[T any](g gen, n int, f func() T) []T {
	var out []T
	for range g.IntN(n) {
		out = append(out, f())
	}
	return out
}

func (g gen) label() prompb.Label { return prompb.Label{Name: g.text(), Value: g.text()} }

func (g gen) v1() *prompb.WriteRequest {
	return &prompb.WriteRequest{
		Timeseries: many(g, 5, func() prompb.TimeSeries {
			return prompb.TimeSeries{
				Labels:  many(g, 6, g.label),
				Samples: many(g, 4, func() prompb.Sample { return prompb.Sample{Value: g.value(), Timestamp: g.time()} }),
				Exemplars: many(g, 3, func() prompb.Exemplar {
					return prompb.Exemplar{Labels: many(g, 3, g.label), Value: g.value(), Timestamp: g.time()}
				}),
				Histograms: many(g, 3, g.v1Histogram),
			}
		}),
		Metadata: many(g, 4, func() prompb.MetricMetadata {
			return prompb.MetricMetadata{Type: prompb.MetricMetadata_MetricType(g.IntN(9)), MetricFamilyName: g.text(), Help: g.text(), Unit: g.text()}
		}),
	}
}

func (g gen) v1Histogram() prompb.Histogram {
	span := func() prompb.BucketSpan {
		return prompb.BucketSpan{Offset: int32(g.Uint32()), Length: g.Uint32N(300)}
	}
	delta := func() int64 { return int64(g.Uint64()) >> g.IntN(64) }
	h := prompb.Histogram{
		Sum: g.value(), Schema: int32(g.Uint32()) >> g.IntN(32), ZeroThreshold: g.value(),
		NegativeSpans: many(g, 4, span), NegativeDeltas: many(g, 4, delta), NegativeCounts: many(g, 4, g.value),
		PositiveSpans: many(g, 4, span), PositiveDeltas: many(g, 4, delta), PositiveCounts: many(g, 4, g.value),
		ResetHint: prompb.Histogram_ResetHint(g.IntN(5)), Timestamp: g.time(), CustomValues: many(g, 3, g.value),
	}
	if g.IntN(2) == 0 {
		h.Count = &prompb.Histogram_CountInt{CountInt: g.Uint64()}
	} else if g.IntN(3) > 0 {
		h.Count = &prompb.Histogram_CountFloat{CountFloat: g.value()}
	}
	if g.IntN(2) == 0 {
		h.ZeroCount = &prompb.Histogram_ZeroCountInt{ZeroCountInt: g.Uint64()}
	} else if g.IntN(3) > 0 {
		h.ZeroCount = &prompb.Histogram_ZeroCountFloat{ZeroCountFloat: g.value()}
	}
	return h
}

func (g gen) v2() *writev2.Request {
	ref := func() uint32 { return g.Uint32() >> g.IntN(32) }
	return &writev2.Request{
		Symbols: many(g, 300, g.text),
		Timeseries: many(g, 5, func() writev2.TimeSeries {
			return writev2.TimeSeries{
				LabelsRefs: many(g, 9, ref),
				Samples: many(g, 4, func() writev2.Sample {
					return writev2.Sample{Value: g.value(), Timestamp: g.time(), StartTimestamp: g.time()}
				}),
				Exemplars: many(g, 3, func() writev2.Exemplar {
					return writev2.Exemplar{LabelsRefs: many(g, 5, ref), Value: g.value(), Timestamp: g.time()}
				}),
				Histograms: many(g, 3, g.v2Histogram),
				Metadata:   writev2.Metadata{Type: writev2.Metadata_MetricType(g.IntN(9)), HelpRef: ref(), UnitRef: ref()},
			}
		}),
	}
}

// v2Histogram is a v1 histogram, which is the same message, with a start time.
func (g gen) v2Histogram() writev2.Histogram {
	v1 := g.v1Histogram()
	msg, err := v1.Marshal()
	if err != nil {
		panic(err)
	}
	var h writev2.Histogram
	if err := h.Unmarshal(msg); err != nil {
		panic(err)
	}
	h.StartTimestamp = g.time()
	return h
}

// shuffle rearranges the fields of msg, splits it with unknown fields, and does
// the same inside the submessages that sub names.
func (g gen) shuffle(msg []byte, sub map[int32]map[int32]bool, nested map[int32]bool) []byte {
	var fields [][]byte
	var f field
	for i := 0; i < len(msg); {
		j, err := f.next(msg, i)
		if err != nil {
			panic(err)
		}
		raw := msg[i:j]
		if inner, ok := sub[f.num]; ok || nested[f.num] {
			raw = appendBytesField(nil, f.num, g.shuffle(f.data, nil, inner))
		}
		fields = append(fields, raw)
		i = j
	}
	// Unknown fields, one of each wire type, groups too.
	fields = append(fields, []byte{0xa2, 0x06, 2, 'h', 'i'}, []byte{0xa0, 0x06, 0x80, 1}, []byte{0xa5, 0x06, 1, 2, 3, 4},
		[]byte{0xa1, 0x06, 1, 2, 3, 4, 5, 6, 7, 8}, []byte{0xa3, 0x06, 0x08, 1, 0x13, 0x0d, 1, 2, 3, 4, 0x14, 0x12, 1, 0, 0xa4, 0x06})
	g.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	var out []byte
	for _, raw := range fields {
		out = append(out, raw...)
	}
	return out
}

func appendUvarint(dst []byte, u uint64) []byte {
	for ; u >= 0x80; u >>= 7 {
		dst = append(dst, byte(u)|0x80)
	}
	return append(dst, byte(u))
}

func appendBytesField(dst []byte, num int32, data []byte) []byte {
	dst = appendUvarint(dst, uint64(num)<<3|typeBytes)
	dst = appendUvarint(dst, uint64(len(data)))
	return append(dst, data...)
}
