package mem

import (
	"fmt"
	"reflect"
	"sync/atomic"
	"unsafe"
)

// recordBits: a chunk holds 1024 records.
const recordBits = 10

// Records is a growing table of records of type T, which holds no pointers of
// any kind, addressed by numbers from 0. Records never move.
//
// Add and Release are for one goroutine at a time. At, Len and Reserved may be
// called by anyone at any time before Release; who may look into a record is
// the owner's matter. An empty table holds no memory but itself.
type Records[T any] struct {
	chunks   atomic.Pointer[[]unsafe.Pointer]
	count    atomic.Uint32
	regions  []region
	heap     bool
	reserved atomic.Int64
}

// NewRecords returns an empty table. It panics if T is empty or holds pointers:
// the garbage collector would not see them.
func NewRecords[T any](o Options) *Records[T] {
	t := reflect.TypeFor[T]()
	if t.Size() == 0 || hasPointers(t) {
		panic(fmt.Sprintf("mem: records of %s: empty, or not free of pointers", t))
	}
	return &Records[T]{heap: o.Heap}
}

// Add returns the number of a new record, all zero: the number of records
// before it.
func (r *Records[T]) Add() uint32 {
	i := r.count.Load()
	if i&(1<<recordBits-1) == 0 {
		r.grow()
	}
	r.count.Store(i + 1)
	return i
}

// At returns record i, which Add returned. The pointer is valid until Release.
// Cost: three dependent loads.
func (r *Records[T]) At(i uint32) *T {
	base := (*r.chunks.Load())[i>>recordBits]
	var t T
	return (*T)(unsafe.Add(base, uintptr(i&(1<<recordBits-1))*unsafe.Sizeof(t)))
}

// Len returns the number of records.
func (r *Records[T]) Len() int { return int(r.count.Load()) }

// Reserved returns the bytes taken from the system.
func (r *Records[T]) Reserved() int64 { return r.reserved.Load() }

// Release gives all memory back to the system; every record is gone. The table
// is empty then and can be used again.
func (r *Records[T]) Release() {
	r.chunks.Store(nil)
	r.count.Store(0)
	for _, g := range r.regions {
		g.release()
	}
	r.regions = nil
	r.reserved.Store(0)
}

func (r *Records[T]) grow() {
	var chunks []unsafe.Pointer
	if old := r.chunks.Load(); old != nil {
		chunks = *old
	}
	var t T
	const mapGrain = 4 << 10
	size := (int(unsafe.Sizeof(t))<<recordBits + mapGrain - 1) &^ (mapGrain - 1)
	g := newRegion(size, r.heap)
	r.regions = append(r.regions, g)
	chunks = append(chunks, g.base)
	r.chunks.Store(&chunks)
	r.reserved.Add(int64(size))
}

func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return false
	case reflect.Array:
		return t.Len() > 0 && hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return true
}
