package part

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// longSeries are floats of every shape, on grids, with holes and with jitter.
func longSeries(r *rand.Rand, n, samples int) (out []testSeries) {
	for i := range n {
		s := block.Span{Count: samples, Kind: block.KindFloat, Start: dayStart, Step: 10_000}
		if i%3 > 0 {
			for k := range samples {
				s.Times = append(s.Times, dayStart+int64(k+k/100*(i%4))*10_000+r.Int64N(5)*int64(i%2))
			}
		}
		if fillSpan(r, &s); i%5 > 0 {
			s.StartTimes = nil
		}
		if i%7 == 0 {
			s.Floats[samples/2] = math.Float64frombits(staleNaN)
		}
		out = append(out, testSeries{lset: labels.FromStrings("__name__", fmt.Sprintf("a%03d", i)), spans: []block.Span{s}})
	}
	return out
}

// equalReads compares what two parts say of a range of a series, as bits.
func equalReads(plain, kept *Part, series uint32, mint, maxt int64) error {
	want, got := block.Floats{Starts: true}, block.Floats{Starts: true}
	ok, err := plain.AppendFloats(series, mint, maxt, false, &want)
	ok2, err2 := kept.AppendFloats(series, mint, maxt, false, &got)
	if ok != ok2 || err != nil || err2 != nil {
		return fmt.Errorf("series %d: %v and %v, %w", series, ok, ok2, errors.Join(err, err2))
	}
	if ok && (!slices.Equal(want.T, got.T) || !block.EqualBits(want.F, got.F) || !slices.Equal(want.S, got.S) || want.MayBeStale != got.MayBeStale) {
		return fmt.Errorf("series %d from %d to %d: got %d samples, want %d", series, mint, maxt, len(got.T), len(want.T))
	}
	if narrow, ok := kept.AppendNarrow(series, mint, maxt, false, nil); ok {
		if err := equalNarrow(want, narrow); err != nil {
			return fmt.Errorf("series %d from %d to %d as it is kept: %w", series, mint, maxt, err)
		}
	}
	s, found, ok, err := plain.LastFloat(series, mint, maxt, false)
	s2, found2, ok2, err2 := kept.LastFloat(series, mint, maxt, false)
	if ok != ok2 || found != found2 || err != nil || err2 != nil {
		return fmt.Errorf("last of series %d: %v and %v, %v and %v, %w", series, ok, ok2, found, found2, errors.Join(err, err2))
	}
	if found && (s.T != s2.T || s.ST != s2.ST || math.Float64bits(s.F) != math.Float64bits(s2.F)) {
		return fmt.Errorf("last of series %d: got %v, want %v", series, s2, s)
	}
	return nil
}

// equalNarrow compares samples with those of a form in which they are kept.
func equalNarrow(want block.Floats, got []block.Narrow) error {
	k := 0
	for _, n := range got {
		for i := range n.Count {
			if k == len(want.T) || n.Start+int64(i)*n.Step != want.T[k] || math.Float64bits(n.Value(n.Mantissa(i))) != math.Float64bits(want.F[k]) {
				return fmt.Errorf("sample %d differs", k)
			}
			k++
		}
		if len(n.Least) > 0 {
			for z, zone := range slices.Collect(slices.Chunk(n.Bytes, block.ZoneBytes)) {
				if n.Least[z] != slices.Min(zone) || n.Greatest[z] != slices.Max(zone) {
					return fmt.Errorf("zone %d has other extremes", z)
				}
			}
		}
		if want.T[k-1] != n.End() {
			return fmt.Errorf("the end is %d, want %d", n.End(), want.T[k-1])
		}
	}
	if k != len(want.T) {
		return fmt.Errorf("got %d samples, want %d", k, len(want.T))
	}
	return nil
}

// Minis that are kept, of which there is room for all or for few, change nothing
// about what is read, by many at once, and stay within their bytes.
func TestKeptMinis(t *testing.T) {
	const samples = 1500
	for _, limit := range []int{8 << 20, 60 << 10} {
		r := rand.New(rand.NewPCG(7, 7))
		fs := vfs.NewMem()
		m := writePart(t, fs, "a", WriterOptions{}, append(longSeries(r, 40, samples), randomSeries(r, 20, 400)...))
		plain, kept := openPart(t, fs, "a"), openPart(t, fs, "a")
		c := NewMinis(limit)
		kept.UseMinis(c)
		var readers sync.WaitGroup
		for seed := range uint64(3) {
			readers.Go(func() {
				r := rand.New(rand.NewPCG(seed, 1))
				for range 1500 {
					// Ends on samples, beside them and beyond all of them.
					mint := dayStart + (r.Int64N(samples*6/5)-100)*10_000 + r.Int64N(3) - 1
					maxt := mint + r.Int64N(4)*r.Int64N(300)*10_000 + r.Int64N(3)
					if r.IntN(50) == 0 {
						mint = math.MinInt64
					}
					if r.IntN(50) == 0 {
						maxt = math.MaxInt64
					}
					if err := equalReads(plain, kept, uint32(r.Uint64N(m.Series)), mint, maxt); err != nil {
						t.Error(err)
					}
					if n := c.Bytes(); n > limit {
						t.Errorf("%d bytes are kept of %d", n, limit)
					}
				}
			})
		}
		readers.Wait()
		require.Greater(t, c.Bytes(), limit/100)
		require.NoError(t, kept.Close())
		require.Zero(t, c.Bytes())
		require.Empty(t, c.mu.ring)
		require.NoError(t, plain.Close())
	}
}

// Unless there is plenty of room, what is read once is not kept, nor what is many minis
// and not most of a block.
func TestMinisAdmission(t *testing.T) {
	fs := vfs.NewMem()
	writePart(t, fs, "a", WriterOptions{}, tsbs(1, 4000))
	p, c := openPart(t, fs, "a"), NewMinis(1<<20)
	p.UseMinis(c)
	others := c.limit / 4 * 3
	c.bytes.Add(others)
	read := func(from, to int64) int {
		var into block.Floats
		ok, err := p.AppendFloats(0, dayStart+from*10_000, dayStart+to*10_000, false, &into)
		require.True(t, ok)
		require.NoError(t, err)
		require.Len(t, into.T, int(to-from+1))
		return c.Bytes() - int(others)
	}
	for range 3 {
		require.Zero(t, read(10, 1300)) // more than a few minis, less than half of the block
	}
	require.Zero(t, read(1000, 1010))
	one := read(1000, 1010)
	require.Positive(t, one)
	require.Equal(t, one, read(1000, 1010))
	require.Equal(t, one, read(900, 1023)) // of the same mini-block
	require.Equal(t, one, read(1000, 1100))
	two := read(1000, 1100) // and the one behind
	require.Greater(t, two, one)

	require.Equal(t, two, read(0, 3999))
	whole := read(100, 3999) // displaces both
	require.Greater(t, whole, 4000)
	require.Less(t, whole, 4000+2*int(miniOverhead)+int(miniRowsBytes))
	require.Equal(t, whole, read(1000, 1010))
	require.Equal(t, whole, read(0, 3999))
	require.NoError(t, p.Close())
	require.Equal(t, int(others), c.Bytes())
}

// While there is plenty of room the first reading is kept, and one in the form in which
// they are kept takes no other reading before it.
func TestMinisOfFirstReading(t *testing.T) {
	fs := vfs.NewMem()
	writePart(t, fs, "a", WriterOptions{}, append(longSeries(rand.New(rand.NewPCG(2, 1)), 2, 4000), tsbs(2, 4000)...))
	p, plain, c := openPart(t, fs, "a"), openPart(t, fs, "a"), NewMinis(1<<20)
	p.UseMinis(c)
	narrow := func(series uint32, from, to int64) bool {
		pieces, ok := p.AppendNarrow(series, dayStart+from*10_000, dayStart+to*10_000, false, nil)
		if ok {
			want := block.Floats{}
			_, err := plain.AppendFloats(series, dayStart+from*10_000, dayStart+to*10_000, false, &want)
			require.NoError(t, err)
			require.NoError(t, equalNarrow(want, pieces))
		}
		return ok
	}
	const jitter, decimals = 1, 2
	require.True(t, narrow(decimals, 1000, 1010))
	whole := c.Bytes()
	require.Greater(t, whole, 4000, "all of the block is kept while hardly anything is")
	require.True(t, narrow(decimals, 0, 3999))
	require.Equal(t, whole, c.Bytes())

	others := c.limit / 4
	c.bytes.Add(others)
	bytes := func() int { return c.Bytes() - whole - int(others) }
	require.True(t, narrow(decimals+1, 1000, 1010))
	few := bytes()
	require.Positive(t, few)
	require.Less(t, few, 1000)
	require.True(t, narrow(decimals+1, 1000, 1010))
	require.Equal(t, few, bytes())
	require.True(t, narrow(decimals+1, 3000, 3010), "another mini of the block")
	second := bytes()
	require.Greater(t, second, 4000)
	require.True(t, narrow(decimals+1, 100, 3999))
	require.Equal(t, second, bytes())
	require.True(t, narrow(decimals+2, 10, 1300), "many minis and not most of the block")
	require.Greater(t, bytes(), second+4000)
	before := bytes()
	require.False(t, narrow(jitter, 1000, 1010))
	require.Equal(t, before, bytes())

	c.bytes.Add(2 * others)
	require.False(t, narrow(decimals+3, 100, 3999), "there is not plenty of room")
	require.NoError(t, p.Close())
	require.NoError(t, plain.Close())
	require.Equal(t, 3*int(others), c.Bytes())
}

// Where a block is too large for the cache, short reads of it are kept.
func TestMinisOfSmallCache(t *testing.T) {
	fs := vfs.NewMem()
	writePart(t, fs, "a", WriterOptions{}, tsbs(1, 8000))
	p, c := openPart(t, fs, "a"), NewMinis(64<<10)
	p.UseMinis(c)
	for range 3 {
		_, ok := p.AppendNarrow(0, dayStart+1000*10_000, dayStart+1010*10_000, false, nil)
		require.True(t, ok)
		require.Positive(t, c.Bytes())
		require.Less(t, c.Bytes(), 1000+int(miniRowsBytes))
	}
	_, ok := p.AppendNarrow(0, dayStart, dayStart+7000*10_000, false, nil)
	require.False(t, ok)
	require.NoError(t, p.Close())
}

// Damage fails who reads it, is left out afterwards, and is so of what was kept
// before it was found.
func TestMinisDamage(t *testing.T) {
	fs := vfs.NewMem()
	m := writePart(t, fs, "a", WriterOptions{}, longSeries(rand.New(rand.NewPCG(2, 1)), 30, 3000))
	p, c := openPart(t, fs, "a"), NewMinis(1<<20)
	p.UseMinis(c)
	read := func(series uint32, rest bool) (int, error) {
		var into block.Floats
		_, err := p.AppendFloats(series, dayStart+1000*10_000, dayStart+1010*10_000, rest, &into)
		_, found, _, err2 := p.LastFloat(series, dayStart+1000*10_000, dayStart+1010*10_000, rest)
		if (err == nil) != (err2 == nil) || err == nil && found != (len(into.T) > 0) {
			return 0, fmt.Errorf("last: %v after %w", err2, err)
		}
		return len(into.T), err
	}
	kept, other := uint32(3), uint32(4)
	for range 3 {
		n, err := read(kept, true)
		require.NoError(t, err)
		require.Positive(t, n)
	}
	require.Positive(t, c.Bytes())
	damage := map[uint32]bool{kept: true, other: true}
	data, err := vfs.ReadFile(fs, "a/"+DataFile)
	require.NoError(t, err)
	require.NoError(t, p.EachBlock(nil, func(b *BlockInfo) error {
		if damage[b.Series] {
			data[b.Offset+int64(b.Bytes)/2] ^= 1
		}
		return nil
	}, func(Loss) {}))
	overwrite(t, fs, "a/"+DataFile, data)
	for range 3 {
		_, err := read(other, false)
		require.ErrorIs(t, err, block.ErrCorrupt)
	}
	n, err := read(other, true)
	require.NoError(t, err)
	require.Zero(t, n)
	require.NotEmpty(t, p.Damage(other, math.MinInt64, math.MaxInt64))
	problems := 0
	require.NoError(t, p.Verify(func(Problem) { problems++ }))
	require.Equal(t, 2, problems)
	n, err = read(kept, true)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Less(t, uint64(other), m.Series)
	require.NoError(t, p.Close())
}

func TestNarrow(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, bits := range []int{0, 1, 8, 9, 16, 17, 31, 32, 33, 52, 63, 64} {
		v := make([]int64, 300)
		for i := range v {
			if v[i] = r.Int64N(1000); bits > 0 {
				v[i] = int64(r.Uint64()>>(64-bits)) - 5
			}
			if bits == 0 {
				v[i] = -9
			}
		}
		if b, ok := narrowBytes(v, v[0]-3); ok {
			for i := range v {
				require.Equal(t, v[i], b.at(i))
			}
		}
		n := newNarrow(v)
		require.Equal(t, slices.Min(v), n.low)
		got := make([]int64, 100)
		for i := range v {
			require.Equal(t, v[i], n.at(i))
		}
		for _, from := range []int{0, 77, 200} {
			n.fill(got, from)
			require.Equal(t, v[from:from+100], got)
		}
	}
}
