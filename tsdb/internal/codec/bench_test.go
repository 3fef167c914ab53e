package codec

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkDecode decodes streams of 256 numbers with every codec.
func BenchmarkDecode(b *testing.B) {
	const n = 256
	for _, shape := range []struct {
		name   string
		sigma  float64
		params []Params
	}{
		{"sigma 1", 1.08, []Params{{Codec: Huff, Order: 1, Table: 7}, {Codec: Huff, Order: 1, Table: 64 + 7}, {Codec: Pack, Order: 1}, {Codec: Class, Order: 1, Table: 30, Shift: 1}}},
		{"sigma 100", 100, []Params{{Codec: Huff, Order: 1, Table: 10, Shift: 6}, {Codec: Huff, Order: 1, Table: 64 + 10, Shift: 6}, {Codec: Pack, Order: 1}, {Codec: Class, Order: 1, Table: 34, Shift: 8}}},
	} {
		for _, p := range shape.params {
			r := rand.New(rand.NewPCG(1, 1))
			var c Coder
			var streams [][]byte
			var starts []int64
			bytes := 0
			for range 32 {
				v := walkOf(r, n, shape.sigma)
				s := c.Append(nil, &p, v)
				bytes += len(s)
				streams, starts = append(streams, append(s, make([]byte, 8)...)), append(starts, v[0])
			}
			name := shape.name + " " + p.Codec.String()
			if p.Table >= pairBase {
				name += " pairs"
			}
			b.Run(name, func(b *testing.B) {
				var dst [n]int32
				var scratch Scratch
				for b.Loop() {
					for i, s := range streams {
						Decode(dst[:], n, &p, int32(starts[i]), 0, s, false, &scratch)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n/32, "ns/value")
				b.ReportMetric(float64(bytes)/n/32, "B/value")
			})
		}
	}
}

func BenchmarkParts(b *testing.B) {
	const n = 256
	per := func(b *testing.B) {
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n/32, "ns/value")
	}
	var narrow [n]int32
	var wide [n]int64
	var out [n]float64
	b.Run("decimals scale 0", func(b *testing.B) {
		for b.Loop() {
			for range 32 {
				Decimals(out[:], narrow[:], 1, 0, 0)
			}
		}
		per(b)
	})
	b.Run("decimals scale 2", func(b *testing.B) {
		for b.Loop() {
			for range 32 {
				Decimals(out[:], narrow[:], 1, 0, 2)
			}
		}
		per(b)
	})
	b.Run("grid", func(b *testing.B) {
		for b.Loop() {
			for range 32 {
				FillGrid(wide[:], 5, 15000, 7)
			}
		}
		per(b)
	})
	b.Run("multiply", func(b *testing.B) {
		for b.Loop() {
			for range 32 {
				Multiply(narrow[:], 4096, 7)
			}
		}
		per(b)
	})
	src := make([]byte, 2000)
	b.Run("unpack 6", func(b *testing.B) {
		for b.Loop() {
			for range 32 {
				unpack(wide[:], src, 6, 0)
			}
		}
		per(b)
	})
	b.Run("joinSums 6", func(b *testing.B) {
		var s Scratch
		for b.Loop() {
			for range 32 {
				joinSums(wide[:], &s, 6, 0, 0, src, 0)
			}
		}
		per(b)
	})
}
