package bitmap

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// model is the slow twin of Set.
type model map[uint32]bool

func (m model) sorted() []uint32 { return slices.Sorted(maps.Keys(m)) }

// randomIDs returns ascending ordinals below limit with stretches of every kind
// of container.
func randomIDs(r *rand.Rand, limit uint32) []uint32 {
	m := model{}
	for range r.IntN(5) {
		base := r.Uint32N(limit)
		width := uint32(1) << r.IntN(18)
		switch r.IntN(3) {
		case 0:
			for i := range width {
				m[(base+i)%limit] = true
			}
		case 1:
			for range 1 + width/8 {
				m[(base+r.Uint32N(width))%limit] = true
			}
		default:
			for i := uint32(0); i < width; i += 2 + r.Uint32N(3) {
				m[(base+i)%limit] = true
			}
		}
	}
	return m.sorted()
}

func toModel(ids []uint32) model {
	m := model{}
	for _, id := range ids {
		m[id] = true
	}
	return m
}

func (m model) where(keep func(uint32) bool) []uint32 {
	out := model{}
	for id := range m {
		if keep(id) {
			out[id] = true
		}
	}
	return out.sorted()
}

// requireSet checks a set in every way it can be read.
func requireSet(t testing.TB, want []uint32, s *Set) {
	t.Helper()
	require.Equal(t, len(want), s.Count())
	if len(want) == 0 {
		require.Empty(t, s.AppendTo(nil))
		return
	}
	require.Equal(t, want, s.AppendTo(nil))
	require.NoError(t, s.check(^uint32(0)))
	var all []uint32
	for i := range s.Containers() {
		c := s.Container(i)
		buf := make([]uint32, c.Count()+2*MinBuffer)
		all = append(all, buf[:c.DecodeInto(buf)]...)
	}
	require.Equal(t, want, all)
	for _, id := range want[:min(50, len(want))] {
		require.True(t, s.Contains(id))
	}
}

func TestOperationsEqualMaps(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		limit := uint32(1) << (3 + r.IntN(16))
		a, b := randomIDs(r, limit), randomIDs(r, limit)
		ma, mb := toModel(a), toModel(b)
		x, y := FromSorted(a), FromSorted(b)
		requireSet(t, a, x)
		requireSet(t, ma.where(func(id uint32) bool { return mb[id] }), And(x, y))
		requireSet(t, ma.where(func(id uint32) bool { return !mb[id] }), AndNot(x, y))
		both := maps.Clone(ma)
		maps.Copy(both, mb)
		requireSet(t, both.sorted(), Or(x, y))
		all := model{}
		for id := range limit {
			all[id] = true
		}
		requireSet(t, all.sorted(), All(limit))
		requireSet(t, all.where(func(id uint32) bool { return !ma[id] }), AndNot(All(limit), x))
		require.Equal(t, And(x, y).Count() > 0, Intersects(x, y))
		requireSet(t, ma.sorted(), And(x, All(limit)))
		cut := r.Uint32N(limit + 1)
		requireSet(t, ma.where(func(id uint32) bool { return id < cut }), Below(x, cut))
		requireSet(t, ma.where(func(id uint32) bool { return id%3 == 0 }), x.Filter(func(ids []uint32) int {
			n := 0
			for _, id := range ids {
				if id%3 == 0 {
					ids[n] = id
					n++
				}
			}
			return n
		}))
		var acc Accumulator
		acc.AddSet(x)
		acc.AddAll(b)
		requireSet(t, both.sorted(), acc.Set())
		for range 20 {
			id := r.Uint32N(limit)
			require.Equal(t, ma[id], x.Contains(id))
		}
	}
}

func TestRangesReachEveryBoundary(t *testing.T) {
	for _, ends := range [][2]uint32{{0, 1}, {5, 5}, {65535, 65537}, {1, 200000}, {65536, 131072}, {^uint32(0) - 70000, ^uint32(0)}} {
		var want []uint32
		for id := ends[0]; id < ends[1]; id++ {
			want = append(want, id)
		}
		requireSet(t, want, Range(ends[0], ends[1]))
		var b Builder
		b.AddRange(ends[0], ends[1])
		requireSet(t, want, b.Set())
		if ends[1] < 1<<20 {
			var acc Accumulator
			acc.AddRange(ends[0], ends[1])
			requireSet(t, want, acc.Set())
		}
	}
}

func TestStoredSetsComeBack(t *testing.T) {
	forms := map[byte]int{}
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 2))
		limit := uint32(1) << (3 + r.IntN(18))
		ids := randomIDs(r, limit)
		if len(ids) == 0 {
			continue
		}
		section := make([]byte, r.IntN(100))
		section, off := AppendIDs(section, 0, ids)
		forms[section[off]]++
		section = append(section, 1, 2, 3)
		got, err := Open(section, uint64(off), len(ids), limit)
		require.NoError(t, err)
		requireSet(t, ids, got)
		lo, hi := uint64(len(section)), uint64(0) // what it says that it reads
		read := func(from, to uint64) { lo, hi = min(lo, from), max(hi, to) }
		got, err = Peek(section, uint64(off), len(ids), limit, read)
		require.NoError(t, err)
		requireSet(t, ids, got)
		require.EqualValues(t, off, lo)
		got, err = Peek(append(section[:hi:hi], make([]byte, len(section)-int(hi))...), uint64(off), len(ids), limit, read)
		require.NoError(t, err)
		requireSet(t, ids, got)
		var acc Accumulator
		require.NoError(t, acc.AddStored(section, uint64(off), len(ids), limit, read))
		requireSet(t, ids, acc.Set())
		if section[off] == formContainers { // the others have no length of their own
			_, err = Open(section, uint64(off), len(ids)+1, limit)
			require.ErrorIs(t, err, ErrStored)
		}
		_, err = Open(section, uint64(off), len(ids), ids[len(ids)-1])
		require.ErrorIs(t, err, ErrStored)
		for range 20 {
			_, _ = Open(section[:off+r.IntN(len(section)-off)], uint64(off), len(ids), limit)
		}
		moved := append(make([]byte, 1, len(section)+1), section...)[1:] // at an odd address
		got, err = Open(moved, uint64(off), len(ids), limit)
		require.NoError(t, err)
		requireSet(t, ids, got)
	}
	require.Len(t, forms, 3, "%v", forms)
}

// FuzzOpen opens anything; what is accepted keeps the invariants, and stored
// anew it is the same set.
func FuzzOpen(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 20 {
		if ids := randomIDs(r, 1<<17); len(ids) > 0 {
			b, off := AppendIDs(nil, 0, ids)
			f.Add(b[off:], len(ids), uint32(1<<17))
		}
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, b []byte, count int, limit uint32) {
		tally.Input()
		s, err := Open(b, 0, count, limit)
		if err != nil {
			require.ErrorIs(t, err, ErrStored)
			return
		}
		tally.Accepted()
		if count > 1<<20 {
			return // a run may be as long as one likes
		}
		ids := s.AppendTo(nil)
		require.Len(t, ids, count)
		require.True(t, slices.IsSorted(ids) && ids[count-1] < limit)
		again, off := AppendIDs(nil, 0, ids)
		other, err := Open(again, uint64(off), count, limit)
		require.NoError(t, err)
		requireSet(t, ids, other)
		var acc Accumulator
		read := func(uint64, uint64) {}
		peeked, err := Peek(b, 0, count, limit, read)
		require.NoError(t, err)
		require.NoError(t, acc.AddStored(b, 0, count, limit, read))
		requireSet(t, ids, peeked)
		requireSet(t, ids, acc.Set())
	})
}

func TestGrowingSnapshots(t *testing.T) {
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 4))
		var g Growing
		var ids []uint32
		id := r.Uint32N(1 << 16)
		mode := 0
		for range r.IntN(40_000) {
			if r.IntN(5000) == 0 {
				mode = r.IntN(4)
			}
			id += []uint32{1, 1 + r.Uint32N(3), 1 + r.Uint32N(100), 1 + r.Uint32N(20_000)}[mode]
			g.Append(id)
			ids = append(ids, id)
			if r.IntN(3000) == 0 || len(ids) < 4 {
				limit := id + 1 - r.Uint32N(min(id, 200_000)+1)
				n, _ := slices.BinarySearch(ids, limit)
				requireSet(t, ids[:n], g.Snapshot(limit))
				var acc Accumulator
				g.AddTo(&acc, limit)
				requireSet(t, ids[:n], acc.Set())
			}
		}
		require.Equal(t, len(ids), g.Count())
		require.Equal(t, ids, g.Snapshot(^uint32(0)).AppendTo(nil))
	}
}

func TestGrowingIsReadWhileAppended(t *testing.T) {
	var g Growing
	done := make(chan error, 2)
	const total = 90_000
	limits := make(chan uint32, 1)
	for range cap(done) {
		go func() {
			for limit := range limits {
				s := g.Snapshot(limit)
				if want := int(limit+2) / 3; s.Count() != want {
					done <- errCount{limit, s.Count(), want}
					return
				}
			}
			done <- nil
		}()
	}
	for id := uint32(0); id < total; id += 3 {
		g.Append(id)
		if id%51 == 0 {
			select {
			case limits <- id + 1:
			default:
			}
		}
	}
	close(limits)
	for range cap(done) {
		require.NoError(t, <-done)
	}
}

type errCount struct {
	limit     uint32
	got, want int
}

func (e errCount) Error() string { return "wrong count in a snapshot" }

func BenchmarkIterate(b *testing.B) {
	var buf [4096]uint32
	for name, step := range map[string]uint32{"runs": 1, "bitmap": 3, "array": 25} {
		var build Builder
		for id := uint32(0); id < 5_000_000; id += step {
			build.Add(id)
		}
		s := build.Set()
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				it := s.Iterator()
				for n := it.Next(buf[:]); n > 0; n = it.Next(buf[:]) {
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(s.Count()), "ns/id")
		})
	}
}
