package mem

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestSize(t *testing.T) {
	seen := map[int]int{}
	for n := 1; n <= maxClass; n++ {
		size := Size(n)
		require.GreaterOrEqual(t, size, n)
		require.Zero(t, size%unit, "size %d", size)
		require.Equal(t, size, Size(size))
		if n > 3*unit {
			require.LessOrEqual(t, float64(size-n), 0.25*float64(size), "for %d bytes", n)
		}
		class := classOf(size)
		require.Less(t, class, classCount)
		if other, ok := seen[class]; ok {
			require.Equal(t, other, size)
		}
		seen[class] = size
	}
	require.Len(t, seen, classCount)
	require.Equal(t, maxClass+unit, Size(maxClass+1))
	for n := unit; n <= 2*maxClass; n += unit {
		fit := fitting(n)
		require.LessOrEqual(t, fit, n)
		require.Equal(t, fit, Size(fit))
		require.True(t, fit == maxClass || Size(fit+1) > n, "%d into %d", fit, n)
	}
}

// backends are both ways to get memory.
var backends = map[string]Options{"mapped": {}, "heap": {Heap: true, MaxRegion: 1}}

// TestArenaModel holds an arena to a model: every block keeps what was written
// into it until it is freed, whatever else is allocated and freed.
func TestArenaModel(t *testing.T) {
	for name, o := range backends {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			a := New(o)
			type held struct {
				h    Handle
				n    int
				fill byte
			}
			var blocks []held
			used := 0
			check := func(b held) {
				for _, c := range a.Bytes(b.h, b.n) {
					if c != b.fill {
						require.Equal(t, b.fill, c, "block %d of %d bytes", b.h, b.n)
					}
				}
			}
			for range 20_000 {
				if len(blocks) > 0 && r.IntN(5) < 2 {
					i := r.IntN(len(blocks))
					check(blocks[i])
					used -= Size(blocks[i].n)
					a.Free(blocks[i].h, blocks[i].n)
					blocks[i] = blocks[len(blocks)-1]
					blocks = blocks[:len(blocks)-1]
					continue
				}
				n := 1 + r.IntN(1<<r.IntN(10))
				if r.IntN(500) == 0 {
					n = r.IntN(200_000) + 1
				}
				h, b := a.Alloc(n)
				require.NotZero(t, h)
				require.Len(t, b, Size(n))
				require.Equal(t, Size(n), cap(b))
				require.Zero(t, uintptr(unsafe.Pointer(&b[0]))%unit)
				used += len(b)
				blocks = append(blocks, held{h, len(b), byte(r.Uint32())})
				for i := range b {
					b[i] = blocks[len(blocks)-1].fill
				}
			}
			for _, b := range blocks {
				check(b)
			}
			require.EqualValues(t, used, a.Used())
			require.GreaterOrEqual(t, a.Reserved(), a.Used())
			a.Release()
			require.Zero(t, a.Used())
			require.Zero(t, a.Reserved())
			h, b := a.Alloc(100) // an arena begins anew
			b[99] = 7
			require.EqualValues(t, 7, a.Bytes(h, 100)[99])
			a.Release()
		})
	}
}

func TestArenaReusesBlocks(t *testing.T) {
	a := New(Options{})
	defer a.Release()
	for _, n := range []int{1, 16, 100, 4096, 5000, 1 << 20} {
		h, b := a.Alloc(n)
		a.Free(h, len(b))
		again, _ := a.Alloc(n)
		require.Equal(t, h, again, "%d bytes", n)
	}
	require.Panics(t, func() { a.Alloc(0) })
}

func TestArenaStartsSmall(t *testing.T) {
	a := New(Options{})
	defer a.Release()
	require.Zero(t, a.Reserved())
	a.Alloc(32)
	require.EqualValues(t, pageSize, a.Reserved())
	for a.Used() < 32<<20 {
		a.Alloc(512)
	}
	require.Less(t, a.Reserved(), a.Used()+4<<20)
	require.Less(t, len(a.regions), 60)
}

// TestArenaReaders reads blocks while others are allocated.
func TestArenaReaders(t *testing.T) {
	a := New(Options{MaxRegion: pageSize})
	defer a.Release()
	handles := make([]Handle, 5000)
	var ready atomic.Int32
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for i := 0; i < len(handles); {
				for ; i < int(ready.Load()); i++ {
					if b := a.Bytes(handles[i], 100); b[0] != byte(i) || b[99] != byte(i) {
						t.Errorf("block %d holds %d and %d", i, b[0], b[99])
					}
				}
			}
		})
	}
	for i := range handles {
		h, b := a.Alloc(100)
		b[0], b[99] = byte(i), byte(i)
		handles[i] = h
		ready.Store(int32(i + 1))
	}
	readers.Wait()
}

type point struct {
	t     int64
	_     float64
	flags [3]byte
}

func TestRecords(t *testing.T) {
	for name, o := range backends {
		t.Run(name, func(t *testing.T) {
			r := NewRecords[point](o)
			require.Zero(t, r.Len())
			require.Zero(t, r.Reserved())
			var pointers []*point
			for i := range 5000 {
				require.EqualValues(t, i, r.Add())
				p := r.At(uint32(i))
				require.Equal(t, point{}, *p)
				p.t, p.flags[2] = int64(i), byte(i)
				pointers = append(pointers, p)
			}
			require.Equal(t, 5000, r.Len())
			for i, p := range pointers {
				require.Same(t, p, r.At(uint32(i)))
				require.Equal(t, point{t: int64(i), flags: [3]byte{2: byte(i)}}, *p)
			}
			require.Panics(t, func() { r.At(1 << 20) })
			r.Release()
			require.Zero(t, r.Len())
			require.Zero(t, r.Add())
			require.Equal(t, point{}, *r.At(0))
			r.Release()
		})
	}
}

func TestRecordsReaders(t *testing.T) {
	r := NewRecords[point](Options{})
	defer r.Release()
	const n = 5000
	var readers sync.WaitGroup
	readers.Go(func() {
		for i := 0; i < n; {
			for ; i < r.Len(); i++ {
				r.At(uint32(i)).t = 1 // the record is this reader's, the table is not
			}
		}
	})
	for range n {
		r.Add()
	}
	readers.Wait()
}

func TestRecordsRefusePointers(t *testing.T) {
	require.Panics(t, func() { NewRecords[struct{ s string }](Options{}) })
	require.Panics(t, func() { NewRecords[[1]*int](Options{}) })
	require.Panics(t, func() { NewRecords[struct{}](Options{}) })
	require.Panics(t, func() { NewRecords[struct{ m [2]map[int]int }](Options{}) })
	require.NotPanics(t, func() { NewRecords[[4]struct{ a complex128 }](Options{}) })
}

func BenchmarkAlloc(b *testing.B) {
	a := New(Options{})
	defer a.Release()
	for b.Loop() {
		h, block := a.Alloc(100)
		a.Free(h, len(block))
	}
}

func BenchmarkBytes(b *testing.B) {
	a := New(Options{})
	defer a.Release()
	var handles [1024]Handle
	for i := range handles {
		handles[i], _ = a.Alloc(64)
	}
	i, sum := 0, 0
	for b.Loop() {
		sum += int(a.Bytes(handles[i&1023], 64)[0])
		i++
	}
	require.GreaterOrEqual(b, sum, 0)
}
