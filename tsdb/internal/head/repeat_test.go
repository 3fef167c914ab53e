package head

import (
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

// A request that comes again is looked for in one pass: it takes no memory, and
// not much longer than the first time.
func TestRepeatedRequestCostsLittle(t *testing.T) {
	h := New()
	const series, samples = 3, 5000
	var batch Samples
	fill := func() {
		batch.Reset()
		for k := range series {
			ref, _ := register(t, h, labels.FromStrings("k", string(rune('a'+k))))
			for i := range int64(samples) {
				batch.AddFloat(ref.Slot(), 0, i*1000, float64(i*7919%1000))
			}
		}
	}
	seq := uint64(0)
	again := func() {
		seq++
		h.Enqueue(seq, &batch)
		h.Drain(&batch)
	}
	fill()
	again()
	before := h.Active().Bytes()
	require.Less(t, testing.AllocsPerRun(5, again), 20.0)
	require.Equal(t, before, h.Active().Bytes())
}

// Samples are found whatever came and went between two that repeat.
func TestRepeatsAmidOtherWrites(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		h := New()
		model := map[int64]float64{}
		ref, _ := register(t, h, labels.FromStrings("a", "1"))
		other, _ := register(t, h, labels.FromStrings("a", "2"))
		next := int64(10)
		for seq := range uint64(60) {
			var adds []func(*Samples)
			for range r.IntN(30) {
				switch r.IntN(5) {
				case 0: // one that is there, again
					if at := r.Int64N(next); true {
						if v, ok := model[at]; ok {
							adds = append(adds, floatAt(ref, at, v))
						}
					}
				case 1:
					adds = append(adds, floatAt(other, 1000+r.Int64N(50), 1))
				case 2: // another value, or one in a gap
					if r.IntN(40) == 0 {
						at := r.Int64N(next)
						v := float64(r.IntN(3))
						model[at] = v
						adds = append(adds, floatAt(ref, at, v))
					}
				default:
					v := float64(r.IntN(3)) / 7
					model[next] = v
					adds = append(adds, floatAt(ref, next, v))
					next += 1 + r.Int64N(3)
				}
			}
			put(h, seq+1, adds...)
			if r.IntN(8) == 0 {
				lo := r.Int64N(next)
				hi := lo + r.Int64N(10)
				remove(t, h, lo, hi, eq("a", "1"))
				for at := lo; at <= hi; at++ {
					delete(model, at)
				}
			}
			got := map[int64]float64{}
			if found := selected(t, h, []*Generation{h.Active()}, 0, next, eq("a", "1")); len(found) > 0 {
				got = read(t, found[0])
			}
			require.Equal(t, model, got, "seed %d", seed)
		}
	}
}
