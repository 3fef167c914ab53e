package chunks_test

import (
	"errors"
	"math"
	"math/rand"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/chunks"
	"github.com/varvedb/varve/tsdb/internal/block"
)

// sample is the slow, obvious form of what a span holds.
type sample struct {
	st, t int64
	v     uint64 // float bits, so that NaNs compare
	h     *histogram.Histogram
	fh    *histogram.FloatHistogram
}

// spanCursor hands out its spans, then err.
type spanCursor struct {
	spans []block.Span
	err   error
	i     int
}

func (c *spanCursor) Next() bool        { c.i++; return c.i <= len(c.spans) }
func (c *spanCursor) Span() *block.Span { return &c.spans[c.i-1] }
func (c *spanCursor) Err() error        { return c.err }

func cursor(spans ...block.Span) *spanCursor { return &spanCursor{spans: spans} }

func floats(times []int64, values []float64, sts []int64) block.Span {
	return block.Span{Kind: block.KindFloat, Count: len(times), Times: times, Floats: values, StartTimes: sts}
}

func histograms(start int64, hs ...*histogram.Histogram) block.Span {
	return block.Span{Kind: block.KindHistogram, Count: len(hs), Start: start, Step: 1000, Histograms: hs}
}

func floatHistograms(start int64, hs ...*histogram.FloatHistogram) block.Span {
	return block.Span{Kind: block.KindFloatHistogram, Count: len(hs), Start: start, Step: 1000, FloatHistograms: hs}
}

// encode runs the Encoder and checks what must hold for all chunks.
func encode(t *testing.T, opts chunks.Options, spans ...block.Span) []chunks.Chunk {
	t.Helper()
	e := chunks.NewEncoder(cursor(spans...), opts)
	var out []chunks.Chunk
	for e.Next() {
		out = append(out, e.At())
	}
	require.NoError(t, e.Err())
	require.False(t, e.Next())
	for i, c := range out {
		require.LessOrEqual(t, c.MinT, c.MaxT)
		if i > 0 {
			require.Greater(t, c.MinT, out[i-1].MaxT) // C1
		}
	}
	return out
}

// decode reads chunks as another Prometheus would: from their bytes.
func decode(t *testing.T, cs []chunks.Chunk) []sample {
	t.Helper()
	var out []sample
	for _, c := range cs {
		chk, err := chunkenc.FromData(c.Chunk.Encoding(), c.Chunk.Bytes())
		require.NoError(t, err)
		first := len(out)
		it := chk.Iterator(nil)
		for typ := it.Next(); typ != chunkenc.ValNone; typ = it.Next() {
			s := sample{st: it.AtST(), t: it.AtT()}
			switch typ {
			case chunkenc.ValFloat:
				_, v := it.At()
				s.v = math.Float64bits(v)
			case chunkenc.ValHistogram:
				_, s.h = it.AtHistogram(nil)
			case chunkenc.ValFloatHistogram:
				_, s.fh = it.AtFloatHistogram(nil)
			}
			out = append(out, s)
		}
		require.NoError(t, it.Err())
		require.Equal(t, c.MinT, out[first].t)
		require.Equal(t, c.MaxT, out[len(out)-1].t)
	}
	return out
}

func samplesOf(spans ...block.Span) []sample {
	var out []sample
	for k := range spans {
		sp := &spans[k]
		for i := range sp.Count {
			s := sample{st: sp.StartTime(i), t: sp.Time(i)}
			switch sp.Kind {
			case block.KindFloat:
				s.v = math.Float64bits(sp.Float(i))
			case block.KindHistogram:
				s.h = sp.Histograms[i]
			case block.KindFloatHistogram:
				s.fh = sp.FloatHistograms[i]
			}
			out = append(out, s)
		}
	}
	return out
}

// requireSame compares all but the hints; empty buckets do not count.
func requireSame(t *testing.T, want, got []sample) {
	t.Helper()
	require.Len(t, got, len(want))
	for i, w := range want {
		g := got[i]
		require.Equal(t, w.t, g.t, i)
		require.Equal(t, w.st, g.st, i)
		require.Equal(t, w.v, g.v, i)
		require.Equal(t, w.h == nil, g.h == nil, i)
		require.Equal(t, w.fh == nil, g.fh == nil, i)
		if w.h != nil && !value.IsStaleNaN(w.h.Sum) {
			require.Equal(t, w.h.Copy().Compact(0).String(), g.h.Copy().Compact(0).String(), i)
			require.Equal(t, math.Float64bits(w.h.Sum), math.Float64bits(g.h.Sum), i)
		} else if w.h != nil {
			require.True(t, value.IsStaleNaN(g.h.Sum), i)
		}
		if w.fh != nil && !value.IsStaleNaN(w.fh.Sum) {
			require.Equal(t, strip(w.fh).TestExpression(), strip(g.fh).TestExpression(), i)
			require.Equal(t, math.Float64bits(w.fh.Sum), math.Float64bits(g.fh.Sum), i)
		} else if w.fh != nil {
			require.True(t, value.IsStaleNaN(g.fh.Sum), i)
		}
	}
}

func strip(h *histogram.FloatHistogram) *histogram.FloatHistogram {
	h = h.Copy().Compact(0)
	if h.CounterResetHint != histogram.GaugeType {
		h.CounterResetHint = histogram.UnknownCounterReset
	}
	return h
}

func encodings(cs []chunks.Chunk) (out []chunkenc.Encoding, counts []int) {
	for _, c := range cs {
		out = append(out, c.Chunk.Encoding())
		counts = append(counts, c.Chunk.NumSamples())
	}
	return out, counts
}

func grid(n int, start, step int64) []int64 {
	ts := make([]int64, n)
	for i := range ts {
		ts[i] = start + int64(i)*step
	}
	return ts
}

func TestFloatsBitForBit(t *testing.T) {
	special := []float64{
		0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(),
		math.Float64frombits(value.StaleNaN), math.Float64frombits(0x7ff8000000000123),
		math.Float64frombits(0xfff0000000000001), math.SmallestNonzeroFloat64, math.MaxFloat64, 0.1,
	}
	rnd := rand.New(rand.NewSource(1))
	values, sts := make([]float64, 1000), make([]int64, 1000)
	times := grid(1000, math.MinInt32, 15000)
	for i := range values {
		values[i] = special[rnd.Intn(len(special))]
		times[i] += int64(rnd.Intn(5000))
		sts[i] = times[i] - int64(rnd.Intn(100000))
		if rnd.Intn(3) == 0 {
			sts[i] = 0
		}
	}
	for name, sp := range map[string]block.Span{
		"without start times": floats(times, values, nil),
		"with start times":    floats(times, values, sts),
		"zero start times":    floats(times, values, make([]int64, 1000)),
		"decimals on a grid":  {Kind: block.KindFloat, Count: 300, Start: 5, Step: 7, Ints64: grid(300, -99, 13), Scale: 3},
	} {
		t.Run(name, func(t *testing.T) {
			got := encode(t, chunks.Options{}, sp)
			requireSame(t, samplesOf(sp), decode(t, got))
			for _, c := range got {
				require.LessOrEqual(t, c.Chunk.NumSamples(), 120)
			}
		})
	}
}

func TestFloatChunksJoinSpansAndCutAt120(t *testing.T) {
	a, b, c := floats(grid(50, 0, 10), make([]float64, 50), nil), floats(grid(100, 500, 10), make([]float64, 100), nil), floats(grid(90, 1500, 10), make([]float64, 90), nil)
	got := encode(t, chunks.Options{}, a, b, c)
	enc, counts := encodings(got)
	require.Equal(t, []chunkenc.Encoding{chunkenc.EncXOR, chunkenc.EncXOR}, enc)
	require.Equal(t, []int{120, 120}, counts)
	requireSame(t, samplesOf(a, b, c), decode(t, got))

	_, counts = encodings(encode(t, chunks.Options{MaxSamples: 100}, a, b, c))
	require.Equal(t, []int{100, 100, 40}, counts)
}

func TestStartTimesChooseTheEncoding(t *testing.T) {
	plain := floats(grid(10, 0, 10), make([]float64, 10), nil)
	withST := floats(grid(10, 100, 10), make([]float64, 10), grid(10, 1, 1))
	after := floats(grid(10, 200, 10), make([]float64, 10), nil)

	enc, counts := encodings(encode(t, chunks.Options{}, plain, withST, after))
	require.Equal(t, []chunkenc.Encoding{chunkenc.EncXOR, chunkenc.EncXOR2}, enc)
	require.Equal(t, []int{10, 20}, counts)

	enc, _ = encodings(encode(t, chunks.Options{DropStartTimes: true}, plain, withST, after))
	require.Equal(t, []chunkenc.Encoding{chunkenc.EncXOR}, enc)

	h, fh := histograms(300, tsdbutil.GenerateTestHistograms(10)...), floatHistograms(20000, tsdbutil.GenerateTestFloatHistograms(10)...)
	h.StartTimes, fh.StartTimes = grid(10, 1, 1), grid(10, 1, 1)
	got := encode(t, chunks.Options{}, h, fh)
	enc, _ = encodings(got)
	require.Equal(t, []chunkenc.Encoding{chunkenc.EncHistogramST, chunkenc.EncFloatHistogramST}, enc)
	requireSame(t, samplesOf(h, fh), decode(t, got))
}

func TestKindsNeverShareAChunk(t *testing.T) {
	spans := []block.Span{
		floats(grid(3, 0, 10), []float64{1, 2, 3}, nil),
		histograms(1000, tsdbutil.GenerateTestHistograms(3)...),
		floatHistograms(5000, tsdbutil.GenerateTestFloatHistograms(3)...),
		histograms(9000, tsdbutil.GenerateTestHistograms(3)...),
		floats(grid(3, 20000, 10), []float64{1, 2, 3}, nil),
	}
	got := encode(t, chunks.Options{}, spans...)
	enc, _ := encodings(got)
	require.Equal(t, []chunkenc.Encoding{
		chunkenc.EncXOR, chunkenc.EncHistogram, chunkenc.EncFloatHistogram, chunkenc.EncHistogram, chunkenc.EncXOR,
	}, enc)
	requireSame(t, samplesOf(spans...), decode(t, got))
}

// header returns the counter-reset header of a histogram chunk.
func header(t *testing.T, c chunks.Chunk) chunkenc.CounterResetHeader {
	h, ok := c.Chunk.(interface {
		GetCounterResetHeader() chunkenc.CounterResetHeader
	})
	require.True(t, ok)
	return h.GetCounterResetHeader()
}

func TestCounterResetsStartChunks(t *testing.T) {
	hs := tsdbutil.GenerateTestHistograms(40)
	for _, h := range hs {
		h.CounterResetHint = histogram.UnknownCounterReset
	}
	explicit, dropped := hs[10].Copy(), hs[0].Copy()
	explicit.CounterResetHint = histogram.CounterReset
	sp := histograms(0, hs[0], hs[1], explicit, hs[11], dropped, hs[1])
	got := encode(t, chunks.Options{}, sp)
	_, counts := encodings(got)
	require.Equal(t, []int{2, 2, 2}, counts)
	require.Equal(t, chunkenc.UnknownCounterReset, header(t, got[0]))
	require.Equal(t, chunkenc.CounterReset, header(t, got[1]))
	require.Equal(t, chunkenc.CounterReset, header(t, got[2]))
	requireSame(t, samplesOf(sp), decode(t, got))

	first := histograms(0, explicit, hs[11])
	require.Equal(t, chunkenc.CounterReset, header(t, encode(t, chunks.Options{}, first)[0]))

	// A claim about the sample before, which is not there, is not repeated.
	claim := hs[3].Copy()
	claim.CounterResetHint = histogram.NotCounterReset
	require.Equal(t, chunkenc.UnknownCounterReset, header(t, encode(t, chunks.Options{}, histograms(0, claim))[0]))

	// A cut for size says what the comparison says.
	got = encode(t, chunks.Options{MaxSamples: 4}, histograms(0, hs[0], hs[1], hs[2], hs[3], hs[4], hs[5]))
	require.Len(t, got, 2)
	require.Equal(t, chunkenc.NotCounterReset, header(t, got[1]))
	for _, s := range decode(t, got)[1:4] {
		require.Equal(t, histogram.NotCounterReset, s.h.CounterResetHint)
	}
}

func TestGaugesKeepToThemselves(t *testing.T) {
	gauges, counters := tsdbutil.GenerateTestGaugeHistograms(6), tsdbutil.GenerateTestHistograms(6)
	stale := &histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN)}
	sp := histograms(0, counters[4], counters[5], gauges[3], gauges[1], stale, gauges[2], counters[0], counters[1])
	got := encode(t, chunks.Options{}, sp)
	requireSame(t, samplesOf(sp), decode(t, got))
	var headers []chunkenc.CounterResetHeader
	for _, c := range got {
		headers = append(headers, header(t, c))
	}
	_, counts := encodings(got)
	require.Equal(t, []int{2, 3, 1, 2}, counts)
	require.Equal(t, []chunkenc.CounterResetHeader{
		chunkenc.UnknownCounterReset, chunkenc.GaugeType, chunkenc.GaugeType, chunkenc.UnknownCounterReset,
	}, headers)
	for i, s := range decode(t, got) {
		require.Equal(t, i == 2 || i == 3 || i == 5, s.h.CounterResetHint == histogram.GaugeType, i)
	}
}

// 200 histograms whose bucket layouts have little in common: every join of two
// layouts must stay decodable and small.
func TestSparseLayouts(t *testing.T) {
	rnd := rand.New(rand.NewSource(7))
	hs := make([]*histogram.Histogram, 200)
	for i := range hs {
		picked := map[int32]bool{}
		for range 12 {
			picked[int32(rnd.Intn(80)-40)] = true
		}
		h := &histogram.Histogram{Schema: 3, Count: uint64(i + 1), Sum: float64(i)}
		last := int32(0)
		for b := int32(-40); b < 40; b++ {
			if !picked[b] {
				continue
			}
			h.PositiveSpans = append(h.PositiveSpans, histogram.Span{Offset: b - last, Length: 1})
			var delta, prev int64
			for _, d := range h.PositiveBuckets {
				prev += d
			}
			if b == 5 {
				delta = int64(i+1) - prev
			} else {
				delta = -prev
			}
			h.PositiveBuckets = append(h.PositiveBuckets, delta)
			last = b + 1
		}
		if !picked[5] {
			h.ZeroCount = uint64(i + 1)
		}
		hs[i] = h
	}
	sp := histograms(0, hs...)
	before := make([]*histogram.Histogram, len(hs))
	for i, h := range hs {
		before[i] = h.Copy()
	}
	got := encode(t, chunks.Options{}, sp)
	requireSame(t, samplesOf(sp), decode(t, got))
	size := 0
	for _, c := range got {
		size += len(c.Chunk.Bytes())
	}
	require.Less(t, size, 200*200)
	require.Equal(t, before, hs, "the encoder must not change what the cursor owns")
}

func TestFloatHistogramsOfAllShapes(t *testing.T) {
	rnd := rand.New(rand.NewSource(3))
	var fhs []*histogram.FloatHistogram
	fhs = append(fhs, tsdbutil.GenerateTestFloatHistograms(50)...)
	fhs = append(fhs, tsdbutil.GenerateTestGaugeFloatHistograms(50)...)
	fhs = append(fhs, tsdbutil.GenerateTestCustomBucketsFloatHistograms(50)...)
	rnd.Shuffle(len(fhs), func(i, j int) { fhs[i], fhs[j] = fhs[j], fhs[i] })
	sp := floatHistograms(0, fhs...)
	for name, sts := range map[string][]int64{"plain": nil, "start times": grid(150, 5, 3)} {
		t.Run(name, func(t *testing.T) {
			sp.StartTimes = sts
			requireSame(t, samplesOf(sp), decode(t, encode(t, chunks.Options{}, sp)))
		})
	}
}

func TestHugeHistogramsMakeSmallChunks(t *testing.T) {
	h := &histogram.Histogram{Schema: 8, PositiveSpans: []histogram.Span{{Length: 20000}}, PositiveBuckets: make([]int64, 20000)}
	rnd := rand.New(rand.NewSource(1))
	for i := range h.PositiveBuckets {
		h.PositiveBuckets[i] = int64(rnd.Intn(1<<40) - 1<<39)
	}
	got := encode(t, chunks.Options{}, histograms(0, h, h, h))
	require.Len(t, got, 3)
}

// Whatever follows whatever, all samples come back.
func TestRandomSpans(t *testing.T) {
	for seed := range int64(200) {
		rnd := rand.New(rand.NewSource(seed))
		var spans []block.Span
		next := int64(0)
		for range rnd.Intn(8) + 1 {
			sp := randomSpan(rnd, next, rnd.Intn(60)+1)
			next = sp.MaxT() + 1 + int64(rnd.Intn(5000))
			spans = append(spans, sp)
		}
		opts := chunks.Options{MaxSamples: rnd.Intn(200)}
		requireSame(t, samplesOf(spans...), decode(t, encode(t, opts, spans...)))
	}
}

func randomSpan(rnd *rand.Rand, start int64, n int) block.Span {
	sp := block.Span{Kind: block.Kind(rnd.Intn(3) + 1), Count: n, Start: start, Step: int64(rnd.Intn(1000) + 1)}
	if rnd.Intn(2) == 0 {
		for i := range n {
			sp.StartTimes = append(sp.StartTimes, int64(rnd.Intn(2))*(sp.Time(i)-int64(rnd.Intn(3))*1000))
		}
	}
	stale := math.Float64frombits(value.StaleNaN)
	for range n {
		h := randomHistogram(rnd)
		switch sp.Kind {
		case block.KindFloat:
			sp.Floats = append(sp.Floats, []float64{1, stale, rnd.NormFloat64()}[rnd.Intn(3)])
		case block.KindHistogram:
			if rnd.Intn(10) == 0 {
				h = &histogram.Histogram{Sum: stale}
			}
			sp.Histograms = append(sp.Histograms, h)
		case block.KindFloatHistogram:
			fh := h.ToFloat(nil)
			if rnd.Intn(10) == 0 {
				fh = &histogram.FloatHistogram{Sum: stale}
			}
			sp.FloatHistograms = append(sp.FloatHistograms, fh)
		}
	}
	return sp
}

func randomHistogram(rnd *rand.Rand) *histogram.Histogram {
	i := int64(rnd.Intn(10))
	switch rnd.Intn(5) {
	case 0:
		return tsdbutil.GenerateTestGaugeHistogram(i)
	case 1:
		return tsdbutil.GenerateTestCustomBucketsHistogram(i)
	default:
		h := tsdbutil.GenerateTestHistogram(i)
		h.CounterResetHint = []histogram.CounterResetHint{histogram.UnknownCounterReset, histogram.CounterReset, histogram.NotCounterReset}[rnd.Intn(3)]
		return h
	}
}

func TestErrorsStopTheEncoder(t *testing.T) {
	failing := &spanCursor{spans: []block.Span{floats(grid(3, 0, 1), make([]float64, 3), nil)}, err: errors.New("torn page")}
	e := chunks.NewEncoder(failing, chunks.Options{})
	require.False(t, e.Next(), "what was read before the error is not passed off as whole")
	require.EqualError(t, e.Err(), "torn page")

	e.Reset(cursor(block.Span{Kind: 9, Count: 1, Times: []int64{1}}))
	require.False(t, e.Next())
	require.ErrorContains(t, e.Err(), "unknown kind of samples 9")

	e.Reset(cursor())
	require.False(t, e.Next())
	require.NoError(t, e.Err())
}

func BenchmarkFloats(b *testing.B) {
	values := make([]float64, 120)
	for i := range values {
		values[i] = float64(i * i)
	}
	sp := floats(grid(120, 0, 15000), values, nil)
	e := chunks.NewEncoder(cursor(sp), chunks.Options{})
	b.ReportAllocs()
	for b.Loop() {
		e.Reset(cursor(sp))
		for e.Next() {
		}
	}
}
