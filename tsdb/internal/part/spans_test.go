package part

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// hardValues are sequences that statistics could get wrong.
func hardValues(r *rand.Rand, shape, n int) []float64 {
	out := make([]float64, n)
	v := float64(r.IntN(1000))
	for i := range out {
		switch shape % 9 {
		case 0: // walk
			v = min(100, max(0, v+math.Trunc(2*r.NormFloat64())))
		case 1: // counter that starts anew now and then
			if v += float64(r.IntN(50)); r.IntN(n/3+2) == 0 {
				v = 0
			}
		case 2: // the sum loses bits
			v = float64(1<<53-int64(r.IntN(9))) / float64(1+r.IntN(3))
		case 3: // sums of decimals
			v += 0.1 * float64(r.IntN(9))
		case 4:
			v = r.NormFloat64()
		case 5:
			v = math.Float64frombits(r.Uint64())
		case 6: // decimals, seldom something strange
			v = float64(r.IntN(2000)-1000) / 100
			if r.IntN(70) == 0 {
				v = math.Float64frombits(specials[r.IntN(len(specials))])
			}
		case 7: // runs
			if r.IntN(40) == 0 {
				v = float64(r.IntN(9) - 4)
			}
		case 8: // line
			v += 15
		}
		out[i] = v
	}
	return out
}

// naive computes a statistic in time order; ok is false where no answer is exact:
// with NaN, and with -0 where the answer depends on who asks.
func naive(op block.StatOp, v []float64) (value float64, ok bool) {
	best := v[0]
	sum, increase := 0.0, v[len(v)-1]-v[0]
	nan, negative := false, false
	for i, x := range v {
		nan, negative = nan || x != x, negative || math.Float64bits(x) == 1<<63
		sum += x
		if i > 0 && x < v[i-1] {
			increase += v[i-1]
		}
		if op == block.StatMin && x < best || op == block.StatMax && x > best {
			best = x
		}
	}
	switch op {
	case block.StatCount:
		return float64(len(v)), true
	case block.StatFirst:
		return v[0], true
	case block.StatLast:
		return v[len(v)-1], true
	case block.StatSum:
		return sum, !nan && !negative
	case block.StatIncrease:
		return increase, !nan
	default:
		return best, !nan && !negative
	}
}

// requireStats holds what s answers for [i, j) to the values.
func requireStats(t *testing.T, s *block.Span, i, j int, values []float64) (exact int) {
	for op := block.StatCount; op <= block.StatIncrease; op++ {
		got, ok := s.Stat(op, i, j)
		if !ok {
			continue
		}
		exact++
		want, defined := naive(op, values[i:j])
		require.True(t, defined, "statistic %d", op)
		require.Equal(t, math.Float64bits(want), math.Float64bits(got), "statistic %d of %v: want %v, got %v", op, values[i:j], want, got)
	}
	return exact
}

// hardPart has a series of every shape, some in many blocks, and their values.
func hardPart(t testing.TB, r *rand.Rand, fs vfs.FS) [][]float64 {
	var list []testSeries
	var values [][]float64
	for shape := range 27 {
		n := []int{1, 17, 300, 1000, 3000}[r.IntN(5)]
		s := block.Span{Kind: block.KindFloat, Count: n, Start: dayStart, Step: 1000, Floats: hardValues(r, shape, n)}
		if shape%4 == 3 {
			for i := range n {
				s.Times = append(s.Times, dayStart+int64(i)*1000+r.Int64N(300))
			}
		}
		if shape%5 == 4 {
			for i := range n {
				s.StartTimes = append(s.StartTimes, dayStart-int64(i%3))
			}
		}
		list = append(list, testSeries{lset: labels.FromStrings("a", string(rune('A'+shape))), spans: []block.Span{s}})
		values = append(values, s.Floats)
	}
	writePart(t, fs, "a", WriterOptions{BlockSamples: []int{0, 400}[r.IntN(2)]}, list)
	return values
}

// TestStatisticsEqualDecoding asks spans of a part, not loaded and loaded, whole,
// clipped and sliced.
func TestStatisticsEqualDecoding(t *testing.T) {
	exact := 0
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 12))
		fs := vfs.NewMem()
		values := hardPart(t, r, fs)
		p := openPart(t, fs, "a")
		for o, all := range values {
			for range 12 {
				mint := dayStart + r.Int64N(int64(len(all))*1000)
				maxt := mint + r.Int64N(int64(len(all))*1000)
				if r.IntN(3) == 0 {
					mint, maxt = math.MinInt64, math.MaxInt64
				}
				exact += requireWindow(t, r, p, uint32(o), mint, maxt, all)
			}
		}
		require.NoError(t, p.Close())
	}
	require.Greater(t, exact, 3000)
}

// requireWindow compares one range of a series in all forms.
func requireWindow(t *testing.T, r *rand.Rand, p *Part, series uint32, mint, maxt int64, all []float64) (exact int) {
	lazy, loaded := p.Spans(series, mint, maxt), p.Cursor(series, mint, maxt)
	for lazy.Next() {
		require.True(t, loaded.Next())
		s, twin := lazy.Span(), loaded.Span()
		require.False(t, s.Loaded())
		require.True(t, twin.Loaded())
		require.Equal(t, []int64{int64(twin.Count), twin.MinT(), twin.MaxT()}, []int64{int64(s.Count), s.MinT(), s.MaxT()})
		at := int((s.MinT() - dayStart) / 1000)
		values := all[at : at+s.Count]
		for range 6 {
			i := r.IntN(s.Count)
			j := i + 1 + r.IntN(s.Count-i)
			exact += requireStats(t, s, i, j, values)
			part := s.Slice(i, j)
			exact += requireStats(t, &part, 0, j-i, values[i:j])
			clip := part.Clip(s.Time(i+(j-i)/3), s.Time(j-1))
			exact += requireStats(t, &clip, 0, clip.Count, values[i+(j-i)/3:j])
			exact += requireStats(t, twin, i, j, values)
		}
		exact += requireStats(t, s, 0, s.Count, values)
		requireLoads(t, r, s, twin, values)
	}
	require.NoError(t, lazy.Err())
	require.False(t, loaded.Next())
	return exact
}

// requireLoads loads pieces of a span: what was loaded before stays.
func requireLoads(t *testing.T, r *rand.Rand, s, twin *block.Span, values []float64) {
	cut := r.IntN(s.Count + 1)
	pieces := []block.Span{s.Slice(cut, s.Count), s.Slice(0, cut), *s}
	from := []int{cut, 0, 0}
	for k := range pieces {
		if pieces[k].Count > 0 {
			require.NoError(t, pieces[k].Load())
		}
	}
	for k := range pieces {
		for i := range pieces[k].Count {
			require.Equal(t, math.Float64bits(values[from[k]+i]), math.Float64bits(pieces[k].Float(i)))
			require.Equal(t, twin.StartTime(from[k]+i), pieces[k].StartTime(i))
		}
	}
	require.False(t, s.Loaded())
}

// TestMergedSpansAnswer merges spans that are not loaded with others, hides some:
// statistics and values are those of the same cursors loaded.
func TestMergedSpansAnswer(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	fs := vfs.NewMem()
	values := hardPart(t, r, fs)
	p := openPart(t, fs, "a")
	for o, all := range values {
		at := dayStart + r.Int64N(int64(len(all))*1000)
		hidden := []block.Interval{{MinT: at + 5000, MaxT: at + 9000}}
		other := block.Span{Kind: block.KindFloat, Count: 5, Start: at, Step: 400, Floats: []float64{1, 2, 3, 4, 5}}
		join := func(c block.Cursor) block.Cursor {
			return block.Merge([]block.Cursor{block.Hide(c, hidden), &sliceCursor{spans: []block.Span{other}}})
		}
		lazy := join(p.Spans(uint32(o), math.MinInt64, math.MaxInt64))
		want := samplesOf(t, join(p.Cursor(uint32(o), math.MinInt64, math.MaxInt64)), math.MinInt64, math.MaxInt64)
		require.Equal(t, want, samplesOf(t, loadAll(join(p.Spans(uint32(o), math.MinInt64, math.MaxInt64))), math.MinInt64, math.MaxInt64))
		for lazy.Next() {
			s := *lazy.Span()
			require.NoError(t, s.Load())
			var v []float64
			for i := range s.Count {
				v = append(v, s.Float(i))
			}
			requireStats(t, lazy.Span(), 0, s.Count, v)
			requireStats(t, &s, s.Count/3, s.Count, v)
		}
		require.NoError(t, lazy.Err())
	}
}

// TestReadingAllocatesCursorsOnly reads many series one after the other: blocks
// and buffers come from a pool.
func TestReadingAllocatesCursorsOnly(t *testing.T) {
	if raceDetector {
		t.Skip("pools forget at random under the race detector")
	}
	fs := vfs.NewMem()
	m := writePart(t, fs, "a", WriterOptions{}, tsbs(5, 3000))
	p := openPart(t, fs, "a")
	read := func() {
		for o := range uint32(m.Series) {
			c := p.Cursor(o, dayStart+5000, dayStart+9_000_000)
			for c.Next() {
				if c.Span().Count != 900 {
					t.Fail()
				}
			}
		}
	}
	read()
	require.LessOrEqual(t, testing.AllocsPerRun(10, read), 1.5*float64(m.Series))
}
