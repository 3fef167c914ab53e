package b1

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/block/v1"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// decoder delivers the times and values of one block into dst.
type decoder func(times []int64, values []float64)

func b1Decoder(t testing.TB, v []float64) decoder {
	var h Header
	payload, _, err := NewEncoder(Options{}).Encode(nil, nil, &h, gridSpan(v))
	require.NoError(t, err)
	b := new(Block)
	return func(times []int64, values []float64) {
		if crc32.Checksum(payload, castagnoli) != h.CRC || b.Open(&h, payload) != nil || b.Floats(values, 0) != nil {
			t.Fail()
		}
		codec.FillGrid(times, h.MinT, h.Step, 0)
	}
}

func xorDecoder(t testing.TB, v []float64) decoder {
	chunks := xorChunks(t, v)
	var it chunkenc.Iterator
	return func(times []int64, values []float64) {
		i := 0
		for _, c := range chunks {
			it = c.Iterator(it)
			for it.Next() == chunkenc.ValFloat {
				times[i], values[i] = it.At()
				i++
			}
		}
	}
}

func oneDecoder(t testing.TB, v []float64) decoder {
	page, err := v1.AppendBlock(nil, gridSpan(v))
	require.NoError(t, err)
	var p v1.Page
	var s block.Span
	var buf v1.Buffer
	return func(times []int64, values []float64) {
		if p.Open(page) != nil || p.Decode(0, &s, &buf, nil) != nil {
			t.Fail()
		}
		if s.Floats != nil {
			copy(values, s.Floats)
		} else {
			codec.Decimals(values, s.Ints64, 1, 0, s.Scale)
		}
		codec.FillGrid(times, s.Start, s.Step, 0)
	}
}

// BenchmarkAgainstXOR decodes the same data from B1, from format 1 and from
// Prometheus' chunks, turn about within one run so that a busy machine slows all
// of them, and reports the ratio.
func BenchmarkAgainstXOR(b *testing.B) {
	for _, shape := range scaledShapes {
		b.Run(shape.name, func(b *testing.B) {
			v := shape.values(rand.New(rand.NewPCG(1, 1)))
			decoders := []decoder{b1Decoder(b, v), xorDecoder(b, v), oneDecoder(b, v)}
			times, values := make([]int64, len(v)), make([]float64, len(v))
			least := [3]time.Duration{1 << 60, 1 << 60, 1 << 60}
			var total [3]time.Duration
			rounds := 0
			for b.Loop() {
				rounds++
				for k, d := range decoders {
					begin := time.Now()
					d(times, values)
					took := time.Since(begin)
					least[k] = min(least[k], took)
					total[k] += took
				}
			}
			per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(len(v)) }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(per(least[0]), "b1-ns/value")
			b.ReportMetric(per(least[1]), "xor-ns/value")
			b.ReportMetric(per(least[2]), "one-ns/value")
			b.ReportMetric(float64(least[1])/float64(least[0]), "x-min")
			b.ReportMetric(float64(total[1])/float64(total[0]), "x-mean")
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, shape := range scaledShapes {
		b.Run(shape.name, func(b *testing.B) {
			v := shape.values(rand.New(rand.NewPCG(1, 1)))
			e := NewEncoder(Options{})
			var payload, times []byte
			var h Header
			s := gridSpan(v)
			for b.Loop() {
				var err error
				if payload, times, err = e.Encode(payload[:0], times[:0], &h, s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(v)), "ns/sample")
		})
	}
}

// BenchmarkEncodeLengths encodes the commonest shapes in blocks of many lengths,
// as floats and as the integers a head hands over.
func BenchmarkEncodeLengths(b *testing.B) {
	for _, k := range []int{0, 2, 5} {
		shape := scaledShapes[k]
		for _, n := range []int{8192, 1024, 120, 30} {
			spans := shortSpans(shape.values(rand.New(rand.NewPCG(1, 1))), n)
			for _, form := range []string{"floats", "ints"} {
				b.Run(fmt.Sprintf("%s/%d/%s", shape.name, n, form), func(b *testing.B) {
					if form == "ints" {
						for i, s := range spans {
							spans[i] = asInts(b, s)
						}
					}
					e := NewEncoder(Options{})
					var payload, times []byte
					var h Header
					i := 0
					for b.Loop() {
						var err error
						if payload, times, err = e.Encode(payload[:0], times[:0], &h, spans[i]); err != nil {
							b.Fatal(err)
						}
						i = (i + 1) % len(spans)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/sample")
				})
			}
		}
	}
}

// shortSpans cuts v into spans of n samples.
func shortSpans(v []float64, n int) (out []*block.Span) {
	for ; len(v) >= n; v = v[n:] {
		out = append(out, gridSpan(v[:n]))
	}
	return out
}

// asInts is a span of decimals said as integers.
func asInts(t testing.TB, s *block.Span) *block.Span {
	var a codec.Analyzer
	v := a.Analyze(s.Floats)
	require.Equal(t, codec.Decimals10, v.Domain)
	require.Empty(t, v.Exceptions)
	out := *s
	out.Floats, out.Ints64, out.Scale = nil, append([]int64(nil), v.Ints...), v.Scale
	return &out
}

// BenchmarkPage writes and reads headers of blocks of 30 samples.
func BenchmarkPage(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	var headers []Header
	e := NewEncoder(Options{})
	for _, s := range shortSpans(scaledShapes[0].values(r), 30)[:PageBlocks] {
		var h Header
		payload, _, err := e.Encode(nil, nil, &h, s)
		require.NoError(b, err)
		if n := len(headers); n > 0 {
			h.Offset = headers[n-1].Offset + uint64(headers[n-1].Length)
		}
		require.NotEmpty(b, payload)
		h.CRC = 0
		headers = append(headers, h)
	}
	page := AppendPage(nil, headers)
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			page = AppendPage(page[:0], headers)
		}
		b.ReportMetric(float64(len(page))/PageBlocks, "B/block")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/PageBlocks, "ns/block")
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			var err error
			if headers, err = appendHeaders(headers[:0], page); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/PageBlocks, "ns/block")
	})
}

// BenchmarkDecode is B1 alone, for profiles.
func BenchmarkDecode(b *testing.B) {
	for _, shape := range scaledShapes {
		b.Run(shape.name, func(b *testing.B) {
			v := shape.values(rand.New(rand.NewPCG(1, 1)))
			d := b1Decoder(b, v)
			times, values := make([]int64, len(v)), make([]float64, len(v))
			for b.Loop() {
				d(times, values)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(v)), "ns/value")
		})
	}
}

// BenchmarkStat asks for statistics of windows of 360 of 4320 samples.
func BenchmarkStat(b *testing.B) {
	v := scaledShapes[0].values(rand.New(rand.NewPCG(1, 1)))[:4320]
	block1, _ := encoded(b, NewEncoder(Options{}), gridSpan(v))
	for _, op := range []struct {
		name string
		op   block.StatOp
	}{{"sum", block.StatSum}, {"max", block.StatMax}, {"last", block.StatLast}} {
		for _, width := range []int{360, 4320} {
			b.Run(fmt.Sprintf("%s of %d", op.name, width), func(b *testing.B) {
				i := 0
				for b.Loop() {
					if _, ok := block1.Stat(op.op, i, i+width); !ok {
						b.Fatal("not exact")
					}
					i = (i + 97) % (len(v) - width + 1)
				}
			})
		}
	}
}
