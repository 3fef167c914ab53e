package tail

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
	"github.com/varvedb/varve/tsdb/internal/mem"
)

var _ block.Cursor = (*Cursor)(nil)

type sample struct {
	st, t int64
	bits  uint64
}

// model is the slow, obvious twin of a Tail: a list.
type model []sample

func (m model) within(mint, maxt int64) (out []sample) {
	for _, s := range m {
		if s.t >= mint && s.t <= maxt {
			out = append(out, s)
		}
	}
	return out
}

// collect lists what a cursor yields and holds its spans to what a Span is.
func collect(t *testing.T, c *Cursor) (out []sample) {
	for c.Next() {
		s := c.Span()
		require.Equal(t, block.KindFloat, s.Kind)
		require.LessOrEqual(t, s.Count, c.limit)
		require.True(t, s.Times == nil || len(s.Times) == s.Count)
		require.True(t, s.StartTimes == nil || len(s.StartTimes) == s.Count)
		require.Equal(t, s.Count, len(s.Floats)+len(s.Ints64))
		for i := range s.Count {
			out = append(out, sample{s.StartTime(i), s.Time(i), math.Float64bits(s.Float(i))})
		}
	}
	require.NoError(t, c.Err())
	return out
}

// requireHolds compares a snapshot with the model, over the whole and over
// ranges.
func requireHolds(t *testing.T, want model, s *Snapshot, r *rand.Rand) {
	t.Helper()
	require.Equal(t, len(want), s.Count())
	require.Equal(t, []sample(want), collect(t, s.Cursor(math.MinInt64, math.MaxInt64)))
	if len(want) == 0 {
		return
	}
	require.Equal(t, want[0].t, s.MinT())
	require.Equal(t, want[len(want)-1].t, s.MaxT())
	require.Equal(t, []sample(want), collect(t, s.Drain(1+r.IntN(2*len(want)))))
	var c Cursor
	for range 5 {
		mint, maxt := want[r.IntN(len(want))].t, want[r.IntN(len(want))].t
		switch r.IntN(4) {
		case 0:
			mint++ // may wrap: an empty range
		case 1:
			maxt--
		}
		requireLast(t, want, &c, s, maxt)
		c.Reset(s, mint, maxt, 1+r.IntN(500))
		require.Equal(t, want.within(mint, maxt), collect(t, &c), "from %d to %d", mint, maxt)
	}
}

// requireLast looks for the last sample at or before maxt.
func requireLast(t *testing.T, want model, c *Cursor, s *Snapshot, maxt int64) {
	t.Helper()
	upTo := want.within(math.MinInt64, maxt)
	x, found := c.Last(s, maxt)
	require.Equal(t, len(upTo) > 0, found)
	if found {
		require.Equal(t, upTo[len(upTo)-1], sample{x.ST, x.T, math.Float64bits(x.F)})
	}
	if x, ok := s.Last(); ok {
		require.Equal(t, want[len(want)-1], sample{x.ST, x.T, math.Float64bits(x.F)})
	}
}

func TestTailIsSmall(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(Tail{}), uintptr(64))
	mem.NewRecords[Tail](mem.Options{}) // no pointers
}

// TestModel appends every shape of values at every shape of times and compares
// with the model.
func TestModel(t *testing.T) {
	for valueShape, values := range shapes {
		for timeShape, times := range timeShapes {
			for _, n := range []int{1, 2, 5, 40, 1200} {
				t.Run(fmt.Sprintf("%s/%s/%d", valueShape, timeShape, n), func(t *testing.T) {
					r := rand.New(rand.NewPCG(uint64(n), 3))
					a := mem.New(mem.Options{})
					defer a.Release()
					var tail Tail
					var want model
					var old Snapshot
					vs, ts := values(r, n), times(r, n)
					grown, st := 0, int64(0)
					for i := range n {
						if valueShape == "counter" && r.IntN(300) == 0 {
							st = ts[i] - 1
						}
						grown += tail.Append(a, st, ts[i], vs[i])
						want = append(want, sample{st, ts[i], math.Float64bits(vs[i])})
						if lastT, v := tail.Last(); lastT != ts[i] || math.Float64bits(v) != math.Float64bits(vs[i]) {
							t.Fatalf("sample %d: last is %d %x, want %d %x", i, lastT, math.Float64bits(v), ts[i], math.Float64bits(vs[i]))
						}
						if i == n/2 {
							tail.Snapshot(a, &old)
						}
					}
					require.Equal(t, n, tail.Count())
					require.Equal(t, grown, tail.Bytes())
					require.EqualValues(t, grown, a.Used())
					var s Snapshot
					tail.Snapshot(a, &s)
					requireHolds(t, want, &s, r)
					requireHolds(t, want[:n/2+1], &old, r)
					tail.Free(a)
					require.Zero(t, a.Used())
				})
			}
		}
	}
}

// TestForms names the form of spans: the cheapest that is faithful.
func TestForms(t *testing.T) {
	a := mem.New(mem.Options{})
	defer a.Release()
	f := func(want string, times []int64, values ...float64) {
		t.Helper()
		var tail Tail
		for i, v := range values {
			tail.Append(a, 0, times[i], v)
		}
		var s Snapshot
		tail.Snapshot(a, &s)
		c := s.Drain(maxSpan)
		require.True(t, c.Next())
		got := c.Span()
		require.Equal(t, len(values), got.Count)
		form := fmt.Sprintf("floats %t", got.Floats != nil)
		if got.Floats == nil {
			form = fmt.Sprintf("ints %v scale %d", got.Ints64, got.Scale)
		}
		if got.Times == nil {
			form += fmt.Sprintf(" from %d step %d", got.Start, got.Step)
		}
		require.Equal(t, want, form)
		require.False(t, c.Next())
	}
	grid := []int64{100, 110, 120, 130, 140}
	f("ints [7] scale 0 from 100 step 0", grid, 7)
	f("ints [7 8 9 9 -100] scale 0 from 100 step 10", grid, 7, 8, 9, 9, -100)
	f("ints [70 75 80 -1234567] scale 1 from 100 step 10", grid, 7, 7.5, 8, -123456.7)
	f("ints [7 8 9] scale 0", []int64{100, 110, 121}, 7, 8, 9)
	f("floats true from 100 step 10", grid, 7, math.NaN(), 9)
	f("floats true from 100 step 10", grid, math.Pi, 1, 2)
	f("floats true from 100 step 10", grid, 1<<52, 0.5, 0.25)
}

// TestJoinsBlocks says that spans go on where blocks begin anew.
func TestJoinsBlocks(t *testing.T) {
	a := mem.New(mem.Options{})
	defer a.Release()
	var tail Tail
	for i := range int64(10_000) {
		tail.Append(a, 0, i*1000, float64(i*i%97))
	}
	var s Snapshot
	tail.Snapshot(a, &s)
	c := s.Drain(maxSpan)
	require.True(t, c.Next())
	require.Equal(t, maxSpan, c.Span().Count)
	require.Nil(t, c.Span().Times)
	require.NotNil(t, c.Span().Ints64)
	require.True(t, c.Next())
	require.Equal(t, 10_000-maxSpan, c.Span().Count)
	require.False(t, c.Next())

	c.Reset(&s, 9_000_000, 9_000_999, maxSpan)
	require.Less(t, len(c.blocks), 4, "blocks outside the range are skipped")
	require.True(t, c.Next())
	require.Equal(t, 1, c.Span().Count)
}

func TestIntegerAndDecimal(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	check := func(v float64) {
		for scale := range uint8(codec.MaxScale + 1) {
			want, ok := codec.Mantissa(v, scale)
			got, gotOK := decimal(v, scale)
			require.Equal(t, ok, gotOK, "%v with scale %d", v, scale)
			if ok {
				require.Equal(t, want, got)
			}
			if scale == 0 {
				_, gotOK = integer(v)
				require.Equal(t, ok, gotOK, "%v", v)
			}
		}
	}
	for _, values := range shapes {
		for _, v := range values(r, 200) {
			check(v)
		}
	}
}

func TestRemove(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	a := mem.New(mem.Options{})
	defer a.Release()
	var tail Tail
	removed, grown := tail.Remove(a, 0, 100)
	require.Zero(t, removed+grown)
	var want model
	for i := range int64(2000) {
		tail.Append(a, i/500, i*10, float64(i%13))
		want = append(want, sample{i / 500, i * 10, math.Float64bits(float64(i % 13))})
	}
	var before, after Snapshot
	tail.Snapshot(a, &before)
	removed, grown = tail.Remove(a, 5000, 9999)
	require.Equal(t, 500, removed)
	require.Equal(t, tail.Bytes(), grown)
	left := append(append(model{}, want[:500]...), want[1000:]...)
	tail.Snapshot(a, &after)
	requireHolds(t, left, &after, r)
	requireHolds(t, want, &before, r) // still readable

	used := a.Used()
	removed, grown = tail.Remove(a, 5001, 5009)
	require.Zero(t, removed+grown)
	require.Equal(t, used, a.Used())

	removed, grown = tail.Remove(a, math.MinInt64, math.MaxInt64)
	require.Equal(t, 1500, removed)
	require.Zero(t, grown)
	require.Zero(t, tail.Count())
	require.Positive(t, tail.Append(a, 0, 1, 2))
}

func TestAppendAllocatesNothing(t *testing.T) {
	a := mem.New(mem.Options{})
	defer a.Release()
	for name, values := range shapes {
		vs := values(rand.New(rand.NewPCG(1, 1)), 1001)
		var tail Tail
		i := 0
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			tail.Append(a, 0, int64(i)*1000, vs[i])
			i++
		}), name)
	}
}

// TestResetAllocatesNothing says that a Cursor kept over many series does not.
func TestResetAllocatesNothing(t *testing.T) {
	a := mem.New(mem.Options{})
	defer a.Release()
	var tail Tail
	for i, v := range shapes["sprinkled"](rand.New(rand.NewPCG(1, 1)), 3000) {
		tail.Append(a, int64(i/100), int64(i)*1000, v)
	}
	var c Cursor
	count := 0
	read := func() {
		var s Snapshot
		tail.Snapshot(a, &s)
		c.Reset(&s, math.MinInt64, math.MaxInt64, 1000)
		for c.Next() {
			count += c.Span().Count
		}
	}
	read()
	require.Zero(t, testing.AllocsPerRun(9, read))
	require.Equal(t, 11*3000, count)
}

// TestReaders reads snapshots while samples are appended.
func TestReaders(t *testing.T) {
	a := mem.New(mem.Options{})
	defer a.Release()
	const n = 6000
	values := shapes["sprinkled"](rand.New(rand.NewPCG(2, 2)), n)
	for i := range values {
		if i/500%2 == 1 {
			values[i] = 3 // long runs too
		}
	}
	var tail Tail
	var latest atomic.Pointer[Snapshot]
	latest.Store(new(Snapshot))
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			var c Cursor
			for seen := 0; seen < n; {
				s := latest.Load()
				c.Reset(s, math.MinInt64, math.MaxInt64, maxSpan)
				seen = 0
				for c.Next() {
					for i := range c.Span().Count {
						if math.Float64bits(c.Span().Float(i)) != math.Float64bits(values[seen]) {
							t.Errorf("sample %d of %d: got %v, want %v", seen, s.Count(), c.Span().Float(i), values[seen])
							return
						}
						seen++
					}
				}
				if seen != s.Count() {
					t.Errorf("got %d samples, want %d", seen, s.Count())
					return
				}
			}
		})
	}
	for i, v := range values {
		tail.Append(a, 0, int64(i)*1000, v)
		if i%7 == 0 || i == n-1 {
			s := new(Snapshot)
			tail.Snapshot(a, s)
			latest.Store(s)
		}
	}
	readers.Wait()
}

// FuzzTail runs any sequence of operations against the model: each is a byte
// that says how the time and the value move, and what follows it.
func FuzzTail(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"), int64(0))
	f.Add([]byte("\x10\x20\x30\x40\x50\x60\x70\x80\x90\xa0\xb0\xc0\xd0\xe0\xf0\xff01234567"), int64(math.MinInt64))
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaabaaaaaaaaaaaaaaaa"), int64(1767225600000))
	f.Fuzz(func(t *testing.T, ops []byte, at int64) {
		a := mem.New(mem.Options{Heap: true})
		defer a.Release()
		var tail Tail
		var want model
		take := func(n int) uint64 {
			var x [8]byte
			k := copy(x[:n], ops)
			ops = ops[k:]
			return binary.LittleEndian.Uint64(x[:])
		}
		step, v, st := int64(1000), 0.0, int64(0)
		for removals := 0; len(ops) > 0 && len(want) < 3000; {
			op := take(1)
			repeat := 1
			switch op & 15 {
			case 0, 1: // the same again
			case 2:
				v += float64(int8(take(1)))
			case 3:
				v = float64(int16(take(2))) / pow10[take(1)%23]
			case 4:
				v = math.Float64frombits(take(8))
			case 5:
				v = -v
			case 6:
				v *= 1.1
			case 7:
				v = float64(int64(take(8))>>11) / 10
			case 8:
				st = int64(take(8))
			case 9:
				repeat = int(take(2)) % 700
			case 10:
				if n := len(want); n > 0 && removals < 10 {
					removals++
					mint, maxt := want[take(2)%uint64(n)].t, want[take(2)%uint64(n)].t
					removed, _ := tail.Remove(a, mint, maxt)
					if mint <= maxt {
						require.Equal(t, len(want.within(mint, maxt)), removed)
						kept := want.within(math.MinInt64, mint-1)
						if mint == math.MinInt64 {
							kept = nil
						}
						if maxt < math.MaxInt64 {
							kept = append(kept, want.within(maxt+1, math.MaxInt64)...)
						}
						want = kept
					}
				}
			}
			for range repeat {
				delta := step
				switch op >> 4 {
				case 1:
					delta += int64(take(1))
				case 2:
					delta = int64(take(2)) + 1
				case 3:
					delta = int64(take(8) & math.MaxInt64)
				case 4:
					step = int64(take(3)) + 1
				}
				if len(want) > 0 {
					next := at + delta
					if next <= want[len(want)-1].t {
						break
					}
					at = next
				}
				tail.Append(a, st, at, v)
				want = append(want, sample{st, at, math.Float64bits(v)})
			}
		}
		var s Snapshot
		tail.Snapshot(a, &s)
		requireHolds(t, want, &s, rand.New(rand.NewPCG(1, 1)))
	})
}
