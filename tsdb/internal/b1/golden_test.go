package b1

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

var update = flag.Bool("update", false, "write the golden files anew: only for blocks that were never written to a disk")

// goldenSpans are fixed samples, made with integer arithmetic alone, one for
// every layout, domain, residual codec and form of times.
func goldenSpans() map[string]*block.Span {
	state := uint64(1)
	next := func(n int) int { // a small generator that will never change
		state = state*6364136223846793005 + 1442695040888963407
		return int(state >> 33 % uint64(n))
	}
	bell := func(n int) int { return next(n) + next(n) + next(n) + next(n) - 2*n + 2 }
	spans := map[string]*block.Span{}
	add := func(name string, n int, at func(i int) float64) *block.Span {
		s := gridSpan(fill(n, at))
		spans[name] = s
		return s
	}
	walk, tens, counter, sum := 50, 2000, 1<<30, 0.0
	add("walk", 700, func(int) float64 { walk += bell(2); return float64(walk) })
	add("decimals", 600, func(int) float64 { tens += bell(20); return float64(tens) / 100 })
	add("counter", 600, func(int) float64 { counter += 1000 + bell(60); return float64(counter) * 2048 })
	add("noise", 300, func(int) float64 { return float64(next(1 << 20)) })
	add("classes", 300, func(int) float64 { return float64(int64(next(1<<30)) >> next(30)) })
	add("sum", 600, func(int) float64 { sum += float64(next(40)) * 0.1; return sum })
	add("doubles", 300, func(int) float64 {
		return math.Float64frombits(0x3ff<<52 | uint64(next(1<<30))<<22 | uint64(next(1<<22)))
	})
	add("any bits", 100, func(int) float64 { return math.Float64frombits(uint64(next(1<<30))<<34 | uint64(next(1<<30))<<4) })
	add("constant", 300, func(int) float64 { return 0.25 })
	add("line", 300, func(i int) float64 { return float64(i * 15) })
	add("parabola", 300, func(i int) float64 { return float64(i * i) })
	add("runs", 500, func(i int) float64 { return float64(i / 70 * 3) })
	add("one", 1, func(int) float64 { return 42 })
	s := add("stale", 300, func(i int) float64 { return float64(next(9)) })
	s.Floats[5], s.Floats[299] = math.Float64frombits(value.StaleNaN), math.Copysign(0, -1)
	s.Floats[70], s.Floats[71] = math.Inf(-1), 1e300
	for form, name := range []string{"", "holes", "jitter", "holes and jitter"} {
		if form == 0 {
			continue
		}
		s := add(name, 200, func(i int) float64 { return float64(i % 3) })
		s.Times, s.StartTimes = make([]int64, 200), make([]int64, 200)
		for i := range s.Times {
			s.Times[i] = s.Start + int64(i)*s.Step
			if form&1 != 0 && i >= 90 {
				s.Times[i] += 7 * s.Step
			}
			if form&2 != 0 {
				s.Times[i] += int64(bell(3))
			}
			s.StartTimes[i] = int64(i / 90)
		}
	}
	h := &block.Span{Kind: block.KindHistogram, Count: 300, Start: 1000, Step: 1000}
	f := &block.Span{Kind: block.KindFloatHistogram, Count: 300, Start: 1000, Step: 1000}
	a, b := int64(0), int64(0)
	for i := range 300 {
		a, b = a+int64(next(5)), b+int64(next(50))
		x := &histogram.Histogram{Schema: int32(i / 200), ZeroThreshold: 0.001, Count: uint64(a + b), ZeroCount: uint64(i), Sum: float64(b) * 0.1,
			PositiveSpans: []histogram.Span{{Offset: -1, Length: 2}}, PositiveBuckets: []int64{a, b - a}, CounterResetHint: histogram.CounterResetHint(i % 2)}
		h.Histograms = append(h.Histograms, x)
		y := x.ToFloat(nil)
		y.PositiveBuckets[1] *= 0.5
		f.FloatHistograms = append(f.FloatHistograms, y)
	}
	spans["histograms"], spans["float histograms"] = h, f
	return spans
}

// TestGolden reads blocks of version 1 as they were first written, and holds the
// Encoder to writing what it can read, however it chooses to write now.
func TestGolden(t *testing.T) {
	e := NewEncoder(Options{MiniSamples: 128})
	for name, s := range goldenSpans() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "v1", strings.ReplaceAll(name, " ", "_")+".hex")
			if *update {
				var h Header
				payload, times, err := e.Encode(nil, nil, &h, s)
				require.NoError(t, err)
				var out bytes.Buffer
				for _, part := range [][]byte{AppendPage(nil, []Header{h}), payload, times} {
					fmt.Fprintf(&out, "%x\n", part)
				}
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var parts [3][]byte
			for k, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
				parts[k], err = hex.DecodeString(line)
				require.NoError(t, err)
			}
			requireGolden(t, s, parts[0], parts[1], parts[2])
		})
	}
}

func requireGolden(t *testing.T, s *block.Span, page, payload, times []byte) {
	headers, err := appendHeaders(nil, page)
	require.NoError(t, err)
	h := &headers[0]
	require.Equal(t, s.Count, h.Count)
	require.Equal(t, s.MinT(), h.MinT)
	require.Equal(t, s.MaxT(), h.MaxT)
	var b Block
	require.Equal(t, h.CRC, crc32.Checksum(payload, castagnoli))
	require.NoError(t, b.Open(h, payload))
	got := make([]int64, s.Count)
	require.NoError(t, h.DecodeTimes(got, times, new(codec.Scratch)))
	for i, x := range got {
		require.Equal(t, s.Time(i), x)
	}
	has, err := b.StartTimes(got)
	require.NoError(t, err)
	if has {
		require.Equal(t, s.StartTimes, got)
	}
	require.Equal(t, s.StartTimes != nil, has)
	if s.Kind != block.KindFloat {
		requireHistograms(t, &b, s, 0, s.Count)
		return
	}
	values := make([]float64, s.Count)
	require.NoError(t, b.Floats(values, 0))
	requireBits(t, s.Floats, values)
}

// TestGoldenPage reads a page of many headers as it was first written.
func TestGoldenPage(t *testing.T) {
	const file = "testdata/v1/page.txt"
	var headers []Header
	offset := uint64(5)
	for k := range 90 {
		name := []string{"walk", "one", "constant", "runs", "walk", "walk"}[k%6]
		text, err := os.ReadFile(filepath.Join("testdata", "v1", name+".hex"))
		require.NoError(t, err)
		line, _, _ := strings.Cut(string(text), "\n")
		page, err := hex.DecodeString(line)
		require.NoError(t, err)
		list, err := appendHeaders(nil, page)
		require.NoError(t, err)
		h := list[0]
		h.Series, h.Offset, h.TimesRef, h.Length = uint32(k/3), offset, 0, uint32(20+k*k*7%13+k*k*k%17+k*29%11+k*k*k*k%19)
		if k == 50 {
			h.TimesRef = 1000
		}
		offset += uint64(h.Length)
		headers = append(headers, h)
	}
	if *update {
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "%x\n", AppendPage(nil, headers)), 0o644))
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	page, err := hex.DecodeString(strings.TrimSuffix(string(text), "\n"))
	require.NoError(t, err)
	got, err := appendHeaders(nil, page)
	require.NoError(t, err)
	require.Equal(t, headers, got)
}
