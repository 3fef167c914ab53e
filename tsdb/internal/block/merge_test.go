package block

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/histogram"
)

// listCursor hands out given spans.
type listCursor struct {
	spans []Span
	pos   int
}

func (c *listCursor) Next() bool  { c.pos++; return c.pos <= len(c.spans) }
func (c *listCursor) Span() *Span { return &c.spans[c.pos-1] }
func (c *listCursor) Err() error  { return nil }

type flat struct {
	t  int64
	v  float64
	st int64
}

func flatten(t *testing.T, c Cursor) []flat {
	t.Helper()
	var out []flat
	for c.Next() {
		s := c.Span()
		require.Positive(t, s.Count)
		for i := range s.Count {
			f := flat{t: s.Time(i), st: s.StartTime(i)}
			if s.Kind == KindFloat {
				f.v = s.Float(i)
			} else {
				f.v = s.Histograms[i].Sum
			}
			out = append(out, f)
		}
	}
	require.NoError(t, c.Err())
	require.True(t, slices.IsSortedFunc(out, func(a, b flat) int { return cmp.Compare(a.t, b.t) }))
	return out
}

// randomSpans makes ascending spans, some on a grid, some of histograms, and
// notes their samples in model.
func randomSpans(rng *rand.Rand, model map[int64]flat) []Span {
	var spans []Span
	t := rng.Int64N(500)
	for range rng.IntN(5) {
		n := 1 + rng.IntN(60)
		s := Span{Kind: KindFloat, Count: n}
		if rng.IntN(4) == 0 {
			s.Kind = KindHistogram
		}
		if rng.IntN(2) == 0 {
			s.Start, s.Step = t, 1+rng.Int64N(5)
			t += s.Step * int64(n)
		} else {
			for range n {
				s.Times = append(s.Times, t)
				t += 1 + rng.Int64N(7)
			}
		}
		if rng.IntN(3) == 0 {
			s.StartTimes = make([]int64, n)
			for i := range n {
				s.StartTimes[i] = rng.Int64N(3)
			}
		}
		for i := range n {
			v := rng.Float64()
			if s.Kind == KindHistogram {
				s.Histograms = append(s.Histograms, &histogram.Histogram{Sum: v})
			} else {
				s.Floats = append(s.Floats, v)
			}
			model[s.Time(i)] = flat{t: s.Time(i), v: v, st: s.StartTime(i)}
		}
		spans = append(spans, s)
		t += rng.Int64N(100)
	}
	return spans
}

func sorted(model map[int64]flat) []flat {
	var out []flat
	for _, f := range model {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b flat) int { return cmp.Compare(a.t, b.t) })
	return out
}

func TestMergeEqualsModel(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		model := map[int64]flat{}
		var cursors []Cursor
		for range rng.IntN(5) {
			cursors = append(cursors, &listCursor{spans: randomSpans(rng, model)})
		}
		require.Equal(t, sorted(model), flatten(t, Merge(cursors)), "seed %d", seed)
	}
}

func TestClipAndHideEqualModel(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		model := map[int64]flat{}
		spans := randomSpans(rng, model)
		mint, maxt := rng.Int64N(700), rng.Int64N(1500)
		var intervals []Interval
		for range rng.IntN(4) {
			a := rng.Int64N(1000)
			intervals = append(intervals, Interval{MinT: a, MaxT: a + rng.Int64N(200)})
		}
		for ts := range model {
			gone := ts < mint || ts > maxt
			for _, iv := range intervals {
				gone = gone || ts >= iv.MinT && ts <= iv.MaxT
			}
			if gone {
				delete(model, ts)
			}
		}
		got := flatten(t, Clip(Hide(&listCursor{spans: spans}, intervals), mint, maxt))
		require.Equal(t, sorted(model), got, "seed %d", seed)
	}
}

func hist(hint histogram.CounterResetHint) *histogram.Histogram {
	return &histogram.Histogram{CounterResetHint: hint}
}

// A hint is relative to the sample before it in the same series as it was
// written; where another one now stands there the hint must not lie.
func TestMergeForgetsHintsThatNoLongerHold(t *testing.T) {
	a := &listCursor{spans: []Span{{Kind: KindHistogram, Count: 3, Times: []int64{1, 3, 5}, Histograms: []*histogram.Histogram{
		hist(histogram.CounterReset), hist(histogram.NotCounterReset), hist(histogram.NotCounterReset)}}}}
	b := &listCursor{spans: []Span{{Kind: KindHistogram, Count: 2, Times: []int64{2, 9}, Histograms: []*histogram.Histogram{
		hist(histogram.GaugeType), hist(histogram.NotCounterReset)}}}}
	m := Merge([]Cursor{a, b})
	var got []histogram.CounterResetHint
	for m.Next() {
		for _, h := range m.Span().Histograms {
			got = append(got, h.CounterResetHint)
		}
	}
	require.Equal(t, []histogram.CounterResetHint{
		histogram.CounterReset, histogram.GaugeType, histogram.UnknownCounterReset,
		histogram.NotCounterReset, histogram.UnknownCounterReset,
	}, got)
}

func TestStatEqualsDecoding(t *testing.T) {
	values := []float64{0, 1, -3, 1 << 52, 1 << 53, 0.5, math.Copysign(0, -1), math.NaN(), math.Inf(1)}
	exact := map[StatOp]int{}
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s := Span{Kind: KindFloat, Count: 1 + rng.IntN(20), Step: 1}
		few := 1 + rng.IntN(len(values))
		for range s.Count {
			s.Floats = append(s.Floats, values[rng.IntN(few)])
		}
		i := rng.IntN(s.Count)
		j := i + 1 + rng.IntN(s.Count-i)
		for op := StatCount; op <= StatLast; op++ {
			got, ok := s.Stat(op, i, j)
			if !ok {
				continue
			}
			exact[op]++
			require.Equal(t, math.Float64bits(slowStat(op, s.Floats[i:j])), math.Float64bits(got), "op %d of %v", op, s.Floats[i:j])
		}
	}
	for op := StatCount; op <= StatLast; op++ {
		require.Positive(t, exact[op], "op %d was never exact", op)
	}
}

func slowStat(op StatOp, vs []float64) float64 {
	out := vs[0]
	switch op {
	case StatCount:
		return float64(len(vs))
	case StatFirst:
		return vs[0]
	case StatLast:
		return vs[len(vs)-1]
	}
	for _, v := range vs[1:] {
		switch op {
		case StatSum:
			out += v
		case StatMin:
			out = min(out, v)
		case StatMax:
			out = max(out, v)
		}
	}
	return out
}
