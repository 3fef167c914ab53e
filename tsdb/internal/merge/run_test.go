package merge

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/part"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

const day = int64(1790035200000) // 2026-09-22T00:00:00Z

// spans is a cursor over spans in memory.
type spans struct {
	list []block.Span
	at   int
}

func (c *spans) Next() bool        { c.at++; return c.at <= len(c.list) }
func (c *spans) Span() *block.Span { return &c.list[c.at-1] }
func (*spans) Err() error          { return nil }

// samplesOf lists samples in a comparable form.
func samplesOf(t testing.TB, c block.Cursor) (out []string) {
	for c.Next() {
		s := c.Span()
		for i := range s.Count {
			line := fmt.Sprint(s.Time(i), " ", s.StartTime(i), " ")
			switch s.Kind {
			case block.KindHistogram:
				line += fmt.Sprintf("%+v", *s.Histograms[i])
			case block.KindFloatHistogram:
				line += fmt.Sprintf("%+v", *s.FloatHistograms[i])
			default:
				line += fmt.Sprintf("%016x", math.Float64bits(s.Float(i)))
			}
			out = append(out, line)
		}
	}
	require.NoError(t, c.Err())
	return out
}

func lset(i int) labels.Labels {
	return labels.FromStrings("__name__", "m", "i", fmt.Sprintf("%04d", i))
}

// randomPart holds n series or fewer with samples between from and to.
func randomPart(t testing.TB, r *rand.Rand, fs vfs.FS, dir string, n int, from, to int64) *part.Part {
	w, err := part.Create(fs, dir, part.WriterOptions{})
	require.NoError(t, err)
	for i := range n {
		if r.IntN(4) == 0 {
			continue
		}
		begin := from + r.Int64N(max(1, (to-from)/2))
		list := randomSpans(r, i, begin, to)
		require.NoError(t, w.Add(lset(i), &spans{list: list}))
		if r.IntN(3) == 0 {
			require.NoError(t, w.AddExemplars(lset(i), []exemplar.Exemplar{{Labels: labels.FromStrings("a", fmt.Sprint(r.IntN(9))), Ts: begin, Value: 1}}))
		}
	}
	_, err = w.Commit(1, 1)
	require.NoError(t, err)
	p, err := part.Open(fs, dir)
	require.NoError(t, err)
	return p
}

func randomSpans(r *rand.Rand, series int, begin, to int64) (list []block.Span) {
	step := []int64{1000, 10000, 60000}[series%3]
	n := 1 + r.Int64N(max(1, (to-begin)/step))
	s := block.Span{Kind: block.KindFloat, Count: int(n), Start: begin, Step: step}
	if series%5 == 1 {
		s.Kind = block.KindHistogram
		s.Count = min(s.Count, 50)
	}
	if series%7 == 2 {
		for i := range s.Count {
			s.Times = append(s.Times, begin+int64(i)*step+r.Int64N(step/2)*int64(i%2))
		}
	}
	v := r.IntN(100)
	for i := range s.Count {
		if series%11 == 3 {
			s.StartTimes = append(s.StartTimes, day+int64(i%5))
		}
		if s.Kind == block.KindHistogram {
			s.Histograms = append(s.Histograms, &histogram.Histogram{CounterResetHint: histogram.CounterResetHint(r.IntN(4)), Count: uint64(i), Sum: float64(i),
				PositiveSpans: []histogram.Span{{Offset: 0, Length: 1}}, PositiveBuckets: []int64{int64(i)}})
			continue
		}
		v = max(0, v+r.IntN(5)-2)
		x := float64(v) / []float64{1, 10, 7}[series%3]
		if r.IntN(200) == 0 {
			x = []float64{math.Float64frombits(0x7ff0000000000002), math.Inf(1), math.Copysign(0, -1)}[r.IntN(3)]
		}
		s.Floats = append(s.Floats, x)
	}
	cut := r.IntN(s.Count + 1)
	for _, piece := range []block.Span{s.Slice(0, cut), s.Slice(cut, s.Count)} {
		if piece.Count > 0 {
			list = append(list, piece)
		}
	}
	return list
}

// expected is what a series of the inputs merges to: decoded, sample by sample.
func expected(t testing.TB, inputs []Input, l labels.Labels, mint, maxt int64) []string {
	var cursors []block.Cursor
	for _, in := range inputs {
		idx, err := in.Part.Index()
		require.NoError(t, err)
		if o, ok := idx.Lookup(l); ok {
			cursors = append(cursors, block.Hide(in.Part.Cursor(o, mint, maxt), in.Hidden[o]))
		}
	}
	return samplesOf(t, block.Merge(cursors))
}

// requireMerged merges and compares all samples with those of decoding.
func requireMerged(t testing.TB, fs vfs.FS, inputs []Input, mint, maxt int64) part.Meta {
	w, err := part.Create(fs, "tmp-out", part.WriterOptions{})
	require.NoError(t, err)
	require.NoError(t, Run(context.Background().Err, w, inputs, mint, maxt))
	m, err := w.Commit(1, 2)
	require.NoError(t, err)
	if m.Series == 0 {
		return m
	}
	out, err := part.Open(fs, "tmp-out")
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Close()) }()
	require.NoError(t, out.Verify(func(p part.Problem) { require.Fail(t, "damage", "%v", p) }))
	idx, err := out.Index()
	require.NoError(t, err)
	var b labels.ScratchBuilder
	total := 0
	for o := range uint32(idx.Len()) {
		l, err := idx.Labels(o, &b)
		require.NoError(t, err)
		want := expected(t, inputs, l, mint, maxt)
		require.Equal(t, want, samplesOf(t, out.Cursor(o, math.MinInt64, math.MaxInt64)), "%s", l)
		total += len(want)
	}
	require.EqualValues(t, m.Samples, total)
	return m
}

// TestMergesEqualDecoding merges random parts, apart in time and overlapping,
// with samples hidden and cut off.
func TestMergesEqualDecoding(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 3))
		fs := vfs.NewMem()
		var inputs []Input
		for k := range int64(1 + r.IntN(5)) {
			from := day + k*4*3600_000
			to := from + []int64{600_000, 4 * 3600_000, 8 * 3600_000}[r.IntN(3)]
			p := randomPart(t, r, fs, fmt.Sprint("p", k), 40, from, min(to, day+24*3600_000))
			in := Input{Part: p, Hidden: map[uint32][]block.Interval{}}
			for o := range uint32(p.Meta().Series) {
				if r.IntN(5) == 0 {
					at := from + r.Int64N(to-from)
					in.Hidden[o] = []block.Interval{{MinT: at, MaxT: at + r.Int64N(600_000)}}
				}
			}
			inputs = append(inputs, in)
		}
		mint, maxt := int64(math.MinInt64), int64(math.MaxInt64)
		if seed%2 == 1 {
			mint, maxt = day+3600_000, day+9*3600_000
		}
		require.NotZero(t, requireMerged(t, fs, inputs, mint, maxt).Samples)
	}
}

// TestOldPartsMerge joins parts of every format.
func TestOldPartsMerge(t *testing.T) {
	var inputs []Input
	for version := part.Version; version >= 1; version-- {
		p, err := part.Open(vfs.OS{}, filepath.Join("..", "part", "testdata", fmt.Sprint("v", version)))
		require.NoError(t, err)
		inputs = append(inputs, Input{Part: p})
	}
	require.EqualValues(t, 167, requireMerged(t, vfs.NewMem(), inputs, math.MinInt64, math.MaxInt64).Samples)
	slices.Reverse(inputs)
	requireMerged(t, vfs.NewMem(), inputs[:1], math.MinInt64, math.MaxInt64)
}

// walkPart holds walks of integers of the given number of samples that go on from
// last, one for each series.
func walkPart(b testing.TB, r *rand.Rand, fs vfs.FS, dir string, last []float64, samples int, from int64) *part.Part {
	w, err := part.Create(fs, dir, part.WriterOptions{})
	require.NoError(b, err)
	for i := range last {
		s := block.Span{Kind: block.KindFloat, Count: samples, Start: from, Step: 10000}
		v := last[i]
		for range samples {
			v = min(100, max(0, v+r.NormFloat64()))
			s.Floats = append(s.Floats, math.Trunc(v))
		}
		last[i] = v
		require.NoError(b, w.Add(lset(i), &spans{list: []block.Span{s}}))
	}
	_, err = w.Commit(1, 1)
	require.NoError(b, err)
	p, err := part.Open(fs, dir)
	require.NoError(b, err)
	return p
}

// BenchmarkMerge joins parts that follow each other in time.
func BenchmarkMerge(b *testing.B) {
	for _, c := range []struct{ parts, samples int }{{16, 30}, {16, 500}, {2, 4320}} {
		b.Run(fmt.Sprintf("%dx%d", c.parts, c.samples), func(b *testing.B) {
			fs := vfs.NewMem()
			r := rand.New(rand.NewPCG(1, 1))
			last := make([]float64, 500)
			for i := range last {
				last[i] = float64(r.IntN(101))
			}
			var inputs []Input
			for k := range c.parts {
				p := walkPart(b, r, fs, fmt.Sprint("p", k), last, c.samples, day+int64(k*c.samples)*10000)
				inputs = append(inputs, Input{Part: p})
			}
			var m part.Meta
			for b.Loop() {
				w, err := part.Create(fs, "tmp-out", part.WriterOptions{})
				require.NoError(b, err)
				require.NoError(b, Run(context.Background().Err, w, inputs, math.MinInt64, math.MaxInt64))
				m, err = w.Commit(1, 2)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(m.Bytes)/float64(m.Samples), "bytes/sample")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(m.Samples), "ns/sample")
		})
	}
}
