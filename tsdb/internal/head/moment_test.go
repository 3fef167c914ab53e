package head

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// shown returns the samples that a moment selects, by series.
func shown(t *testing.T, m *Moment, gens []*Generation, mint, maxt int64) map[string]map[int64]told {
	t.Helper()
	found, err := m.Select(gens, mint, maxt, nil)
	require.NoError(t, err)
	out := map[string]map[int64]told{}
	for i := range found.Len() {
		var cs []block.Cursor
		for _, h := range found.Held(i) {
			cs = append(cs, h.Cursors(math.MinInt64, math.MaxInt64)...)
		}
		if samples := readAll(t, cs); len(samples) > 0 {
			out[found.Labels(i).Get("i")] = samples
		}
	}
	return out
}

// What is selected of a moment late is what was selected at once, whatever was
// written, deleted and sealed in between.
func TestMomentStays(t *testing.T) {
	type seen struct {
		*Moment
		gens []*Generation
		want map[string]map[int64]told
	}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 9))
		h := New()
		gens := []*Generation{h.Active()}
		var open []seen
		seq, at := uint64(0), int64(0)
		for range 150 {
			seq++
			var s Samples
			for range 1 + rng.IntN(5) {
				// A stripe apart, so in shards of their own. New ones come late.
				i := rng.IntN(1+int(seq)/10) * stripe
				for h.SeriesCount() <= i {
					register(t, h, labels.FromStrings("i", fmt.Sprint(h.SeriesCount())))
				}
				ref, _ := register(t, h, labels.FromStrings("i", fmt.Sprint(i)))
				if at += rng.Int64N(3); rng.IntN(5) == 0 {
					at = rng.Int64N(at + 1)
				}
				switch rng.IntN(12) {
				case 0:
					s.AddHistogram(ref.Slot(), at, Histogram{Int: &histogram.Histogram{Count: seq}})
				case 1:
					s.AddFloat(ref.Slot(), at/2, at, float64(seq))
				default:
					s.AddFloat(ref.Slot(), 0, at, float64(seq))
				}
			}
			h.Enqueue(seq, &s)
			if rng.IntN(8) == 0 { // it is still in line
				m := h.Moment()
				open = append(open, seen{m, gens[:len(gens):len(gens)], shown(t, m, gens, 0, math.MaxInt64)})
			}
			h.Drain(&s)
			switch rng.IntN(25) {
			case 0:
				lo := rng.Int64N(at + 1)
				remove(t, h, lo, lo+30)
			case 1:
				h.Seal()
				gens = append(gens, h.Active())
			}
			if n := len(open); n > 3 {
				k := rng.IntN(n)
				requireStays(t, open[k].Moment, open[k].gens, open[k].want, seed)
				open[k].Close()
				open = append(open[:k], open[k+1:]...)
			}
		}
		for _, s := range open {
			requireStays(t, s.Moment, s.gens, s.want, seed)
			s.Close()
		}
		require.Empty(t, h.line.open)
		require.Zero(t, h.line.count.Load())
		require.Zero(t, h.line.waiting.Load())
	}
}

func requireStays(t *testing.T, m *Moment, gens []*Generation, want map[string]map[int64]told, seed uint64) {
	t.Helper()
	require.Equal(t, want, shown(t, m, gens, 0, math.MaxInt64), "seed %d", seed)
}

// A frame that stands in line before the moment is seen, though nobody applied it,
// and one behind it is not, though the same goroutine applies both.
func TestMomentStandsInLine(t *testing.T) {
	h := New()
	ref, _ := register(t, h, labels.FromStrings("i", "0"))
	var before, after Samples
	before.AddFloat(ref.Slot(), 0, 10, 1)
	after.AddFloat(ref.Slot(), 0, 10, 2)
	after.AddFloat(ref.Slot(), 0, 20, 2)
	h.Enqueue(1, &before)
	m := h.Moment()
	h.Enqueue(2, &after)
	gens := []*Generation{h.Active()}
	sample := func(v float64) told { return told{bits: math.Float64bits(v), kind: block.KindFloat} }
	one := map[string]map[int64]told{"0": {10: sample(1)}}
	require.Equal(t, one, shown(t, m, gens, 0, 15), "the range is not known yet")
	h.Drain(&before)
	h.Drain(&after)
	require.Equal(t, one, shown(t, m, gens, 0, 30))
	require.Empty(t, shown(t, m, gens, 15, 30))
	late := h.Moment()
	require.Equal(t, map[string]map[int64]told{"0": {10: sample(2), 20: sample(2)}}, shown(t, late, gens, 0, 30))
	m.Close()
	late.Close()
}

// While no moment is open nobody keeps anything.
func TestMomentKeepsOnce(t *testing.T) {
	h := New()
	ref, _ := register(t, h, labels.FromStrings("i", "0"))
	m := h.Moment()
	for seq := range uint64(100) {
		put(h, seq+1, floatAt(ref, int64(seq), 1))
	}
	require.Len(t, m.kept.series, 1)
	m.Close()
	next := h.Moment()
	next.Close()
	put(h, 101, floatAt(ref, 101, 1))
	require.Empty(t, next.kept.series)
}
