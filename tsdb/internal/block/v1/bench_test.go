package v1

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
)

var benchShapes = []struct {
	name   string
	values func(r *rand.Rand, n int) []float64
}{
	{"tsbs walk", walk},
	{"counter", counter},
	{"bytes 4096", func(r *rand.Rand, n int) []float64 {
		v := 1 << 16
		return fill(n, func(int) float64 { v += r.IntN(201) - 100; return float64(v) * 4096 })
	}},
	{"cpu seconds", func(r *rand.Rand, n int) []float64 {
		v := 1 << 20
		return fill(n, func(int) float64 { v += r.IntN(150); return float64(v) / 100 })
	}},
	{"decimals", decimals},
	{"mostly constant", func(r *rand.Rand, n int) []float64 {
		v := 5.0
		return fill(n, func(int) float64 {
			if r.IntN(500) == 0 {
				v = float64(r.IntN(10))
			}
			return v
		})
	}},
	{"accumulated 0.1", accumulated},
	{"accumulated 1e-9", func(r *rand.Rand, n int) []float64 {
		v := 0.0
		return fill(n, func(int) float64 { v += float64(r.IntN(1e8)) / 1e9; return v })
	}},
	{"ratio", func(r *rand.Rand, n int) []float64 {
		return fill(n, func(int) float64 { return 100 * float64(r.IntN(10000)) / float64(1+r.IntN(10000)) })
	}},
	{"sum of doubles", func(r *rand.Rand, n int) []float64 {
		v := 0.0
		return fill(n, func(int) float64 { v += r.Float64(); return v })
	}},
	{"normal", shapes["full"]},
	{"any bits", shapes["any bits"]},
}

func BenchmarkEncode(b *testing.B) {
	for _, shape := range benchShapes {
		b.Run(shape.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			s := &block.Span{Kind: block.KindFloat, Count: block.MaxSamples, Start: 1700000000000, Step: 10000, Floats: shape.values(r, block.MaxSamples)}
			e := NewEncoder()
			var page []byte
			for b.Loop() {
				_, err := e.AddSpan(s)
				require.NoError(b, err)
				page = e.AppendPage(page[:0])
			}
			b.ReportMetric(float64(len(page))/block.MaxSamples, "bytes/sample")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/block.MaxSamples, "ns/sample")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, shape := range benchShapes {
		b.Run(shape.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			page, err := AppendBlock(nil, &block.Span{Kind: block.KindFloat, Count: block.MaxSamples, Start: 1700000000000, Step: 10000, Floats: shape.values(r, block.MaxSamples)})
			require.NoError(b, err)
			var p Page
			var s block.Span
			var buf Buffer
			for b.Loop() {
				require.NoError(b, p.Open(page))
				require.NoError(b, p.Decode(0, &s, &buf, nil))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/block.MaxSamples, "ns/sample")
		})
	}
}

func BenchmarkDecodeTimes(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	column := times(block.MaxSamples, func(i int) int64 { return 1700000000000 + int64(i)*15000 + int64(math.Abs(r.NormFloat64())*3) })
	e := NewEncoder()
	_, err := e.AddTimes(column)
	require.NoError(b, err)
	page := e.AppendPage(nil)
	var p Page
	for b.Loop() {
		require.NoError(b, p.Open(page))
		_, err := p.Times(0)
		require.NoError(b, err)
	}
	b.ReportMetric(float64(len(page))/block.MaxSamples, "bytes/sample")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/block.MaxSamples, "ns/sample")
}
