package head

// atomicOrdered is an atomic integer.
type atomicOrdered[T uint64 | int64] interface {
	Load() T
	CompareAndSwap(old, v T) bool
}

// storeMin keeps the lower of two numbers in a.
func storeMin[T uint64 | int64](a atomicOrdered[T], v T) {
	for {
		old := a.Load()
		if v >= old || a.CompareAndSwap(old, v) {
			return
		}
	}
}

// storeMax keeps the higher of two numbers in a.
func storeMax[T uint64 | int64](a atomicOrdered[T], v T) {
	for {
		old := a.Load()
		if v <= old || a.CompareAndSwap(old, v) {
			return
		}
	}
}
