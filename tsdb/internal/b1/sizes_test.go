package b1

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block/v1"
)

// scaled is a shape of real metrics, and what the rival takes for it in bytes
// per sample when measured with its own code. Our double of its codec counts
// only where it lands within 2 % of that. most is what we may take beside the
// rival.
type scaled struct {
	name   string
	rival  float64
	most   float64
	faster float64 // than XOR chunks, decoding
	values func(r *rand.Rand) []float64
}

func steps(start, unit float64, step func(r *rand.Rand) float64) func(r *rand.Rand) []float64 {
	return func(r *rand.Rand) []float64 {
		v := start
		return fill(MaxSamples, func(int) float64 { v += math.Round(step(r)); return v * unit })
	}
}

func tens(start, divisor float64, step func(r *rand.Rand) float64) func(r *rand.Rand) []float64 {
	return func(r *rand.Rand) []float64 {
		v := start
		return fill(MaxSamples, func(int) float64 { v += step(r); return math.Round(v) / divisor })
	}
}

func accumulated(unit float64, most int) func(r *rand.Rand) []float64 {
	return func(r *rand.Rand) []float64 {
		v := 0.0
		return fill(MaxSamples, func(int) float64 { v += float64(r.IntN(most)) * unit; return v })
	}
}

func normal(mean, sigma float64) func(r *rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return mean + sigma*r.NormFloat64() }
}

var scaledShapes = []scaled{
	{"int walk in 0 to 100", 0.349, 1, 5, func(r *rand.Rand) []float64 {
		v := 50.0
		return fill(MaxSamples, func(int) float64 { v = min(max(v+r.NormFloat64(), 0), 100); return math.Trunc(v) })
	}},
	{"memory, multiples of 4096", 1.406, 1, 5, steps(1e6, 4096, normal(0, 50))},
	{"counter, 1000 a step", 1.654, 1, 5, steps(1e6, 1, normal(1000, 100))},
	{"cpu seconds, 0.01", 1.026, 1, 5, tens(1e6, 100, normal(100, 20))},
	{"temperature, 1 decimal", 0.429, 1, 5, tens(210, 10, normal(0, 2))},
	{"load, 2 decimals", 1.000, 1, 5, tens(2000, 100, normal(0, 10))},
	{"mostly constant", 0.024, 1, 5, func(r *rand.Rand) []float64 {
		v := 5.0
		return fill(MaxSamples, func(int) float64 {
			if r.IntN(145) == 0 {
				v = float64(r.IntN(10))
			}
			return v
		})
	}},
	{"sum of 0.1", 1.000, 1, 3, accumulated(0.1, 44)},
	{"sum of 0.01", 1.464, 1, 3, accumulated(0.01, 200)},
	{"sum of 1e-3", 1.933, 1, 3, accumulated(1e-3, 2000)},
	{"sum of 1e-6", 3.219, 1, 3, accumulated(1e-6, 2e6)},
	{"sum of 1e-9", 5.007, 1, 3, accumulated(1e-9, 2e9)},
	{"100 a/b", 5.899, 1.12, 3, func(r *rand.Rand) []float64 {
		return fill(MaxSamples, func(int) float64 {
			b := int(1e9) + r.IntN(1e9)
			return 100 * float64(b/2+r.IntN(b-b/2)) / float64(b)
		})
	}},
	{"sum of random doubles", 6.091, 1.12, 3, func(r *rand.Rand) []float64 {
		return fill(MaxSamples, func(int) float64 {
			v := 0.0
			for range 10 {
				v += r.Float64()
			}
			return v
		})
	}},
}

// appendUnsummed is AppendPage of headers whose payloads have no checksum of
// their own, as those of a part that are summed as a whole.
func appendUnsummed(dst []byte, headers []Header) []byte {
	headers = slices.Clone(headers)
	for i := range headers {
		headers[i].CRC = 0
	}
	return AppendPage(dst, headers)
}

// ourSize encodes blocks and returns the bytes of payloads and pages of headers.
func ourSize(t testing.TB, e *Encoder, blocks [][]float64, appendPage func([]byte, []Header) []byte) int {
	size := 0
	var headers []Header
	offset := uint64(0)
	flush := func() {
		if len(headers) > 0 {
			size += len(appendPage(nil, headers))
			headers = headers[:0]
		}
	}
	for i, v := range blocks {
		var h Header
		payload, times, err := e.Encode(nil, nil, &h, gridSpan(v))
		require.NoError(t, err)
		size += len(payload) + len(times)
		h.Series, h.Offset = uint32(i), offset
		offset += uint64(len(payload))
		if headers = append(headers, h); len(headers) == PageBlocks {
			flush()
		}
	}
	flush()
	return size
}

// formatOne is the size of the blocks in the format before this one.
func formatOne(t testing.TB, blocks [][]float64) int {
	size := 0
	for _, v := range blocks {
		page, err := v1.AppendBlock(nil, gridSpan(v))
		require.NoError(t, err)
		size += len(page)
	}
	return size
}

// TestSizes holds the size of every shape against the rival, headers and
// directories of both counted. Run it with -v for the table.
func TestSizes(t *testing.T) {
	e := NewEncoder(Options{})
	var out bytes.Buffer
	fmt.Fprintf(&out, "%-28s %8s %8s %8s %8s %8s %7s\n", "bytes/sample", "measured", "double", "format 1", "xor", "B1", "B1/riv.")
	for _, shape := range scaledShapes {
		r := rand.New(rand.NewPCG(1, 1))
		var blocks [][]float64
		rival := 0
		for range 16 {
			v := shape.values(r)
			blocks = append(blocks, v)
			rival += rivalSize(v)
		}
		n := float64(len(blocks) * MaxSamples)
		xor := xorSize(t, blocks)
		require.InEpsilon(t, shape.rival, float64(rival)/n, 0.02, shape.name)
		with := float64(rival+rivalHeader*len(blocks)) / n
		ours := float64(ourSize(t, e, blocks, AppendPage)) / n
		fmt.Fprintf(&out, "%-28s %8.3f %8.3f %8.3f %8.3f %8.4f %7.3f\n", shape.name, shape.rival, float64(rival)/n,
			float64(formatOne(t, blocks))/n, float64(xor)/n, ours, ours/with)
		require.Less(t, ours, with*shape.most, shape.name)
	}
	t.Log("\n" + out.String())
}

// xorChunks are the values and times of v in Prometheus' chunks of 120.
func xorChunks(t testing.TB, v []float64) (chunks []chunkenc.Chunk) {
	s := gridSpan(v)
	var app chunkenc.Appender
	for i, x := range v {
		if i%120 == 0 {
			c := chunkenc.NewXORChunk()
			chunks = append(chunks, c)
			var err error
			app, err = c.Appender()
			require.NoError(t, err)
		}
		app.Append(0, s.Time(i), x)
	}
	return chunks
}

func xorSize(t testing.TB, blocks [][]float64) (size int) {
	for _, v := range blocks {
		for _, c := range xorChunks(t, v) {
			size += len(c.Bytes())
		}
	}
	return size
}

// tsbsSeries reads the values of the cpu-only lines named by VARVE_TSBS, a
// zstd-compressed file of line protocol, series by series.
func tsbsSeries(t testing.TB) [][]float64 {
	name := os.Getenv("VARVE_TSBS")
	if name == "" {
		t.Skip("VARVE_TSBS names no file of line protocol")
	}
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	d, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27))
	require.NoError(t, err)
	defer d.Close()
	var out [][]float64
	index := map[string]int{}
	lines := bufio.NewScanner(d)
	for lines.Scan() {
		tags, rest, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		fields, _, _ := bytes.Cut(rest, []byte(" "))
		first, ok := index[string(tags)]
		if !ok {
			first = len(out)
			index[string(tags)] = first
		}
		for k, field := range bytes.Split(fields, []byte(",")) {
			_, text, _ := bytes.Cut(field, []byte("="))
			x, err := strconv.ParseFloat(string(bytes.TrimRight(text, "i")), 64)
			require.NoError(t, err)
			if first+k == len(out) {
				out = append(out, nil)
			}
			out[first+k] = append(out[first+k], x)
		}
	}
	require.NoError(t, lines.Err())
	return out
}

// halves cuts series into blocks of equal length.
func halves(series [][]float64) (blocks [][]float64) {
	for _, v := range series {
		n := (len(v) + MaxSamples - 1) / MaxSamples
		for k := range n {
			blocks = append(blocks, v[k*len(v)/n:(k+1)*len(v)/n])
		}
	}
	return blocks
}

// TestSizeOfTSBS holds the walk of the benchmark everybody runs.
func TestSizeOfTSBS(t *testing.T) {
	series := tsbsSeries(t)
	blocks := halves(series)
	samples := 0
	for _, v := range series {
		samples += len(v)
	}
	for _, mini := range []int{64, 128, 256, 512, 1024} {
		size := float64(ourSize(t, NewEncoder(Options{MiniSamples: mini}), blocks, AppendPage)) / float64(samples)
		t.Logf("%d series, mini-blocks of %4d: %.4f bytes/sample", len(series), mini, size)
		if mini == 256 {
			require.LessOrEqual(t, size, 0.296)
		}
	}
	t.Logf("format 1: %.4f bytes/sample", float64(formatOne(t, blocks))/float64(samples))
}

// TestSizeOfShortBlocks holds what little blocks take, headers included.
func TestSizeOfShortBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var series [][]float64
	for range 128 {
		series = append(series, scaledShapes[0].values(r)[:720])
	}
	f := func(name string, series [][]float64, n int, most float64) {
		t.Helper()
		var blocks [][]float64
		for at := 0; at+n <= len(series[0]) && len(blocks) < 20*PageBlocks; at += n {
			for _, v := range series {
				blocks = append(blocks, v[at:at+n])
			}
		}
		size := float64(ourSize(t, NewEncoder(Options{}), blocks, appendUnsummed)) / float64(len(blocks)*n)
		t.Logf("%s, %4d samples a block: %.4f bytes/sample", name, n, size)
		require.LessOrEqual(t, size, most)
	}
	most := map[int]float64{30: 0.45, 60: 0.37, 120: 0.33, 720: 0.325}
	for n, most := range most {
		f("walk", series, n, most)
	}
	if os.Getenv("VARVE_TSBS") == "" {
		return
	}
	series = tsbsSeries(t)
	for n, most := range most {
		f("tsbs", series, n, most)
	}
}
