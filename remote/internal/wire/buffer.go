package wire

import (
	"math/bits"
	"sync"
)

const (
	minBufferShift = 12 // 4 KiB, the smallest pooled class
	maxBufferShift = 22 // 4 MiB, the largest: rarely is one more needed, and it is not to be held for long
)

// bufferPools holds released buffers by the power of two of their capacity; the
// garbage collector empties it.
var bufferPools [maxBufferShift - minBufferShift + 1]sync.Pool

// Buffer is a pooled byte slice with one owner at a time.
type Buffer struct {
	// B is the owner's to slice, append to and replace until Release.
	B []byte
}

// NewBuffer returns an empty buffer with room for at least size bytes. The
// caller owns it until Release.
func NewBuffer(size int) *Buffer {
	class := bufferClass(size)
	if class > maxBufferShift {
		return &Buffer{B: make([]byte, 0, size)}
	}
	if b, ok := bufferPools[class-minBufferShift].Get().(*Buffer); ok {
		return b
	}
	return &Buffer{B: make([]byte, 0, 1<<class)}
}

// Release gives the buffer back; neither b nor any part of b.B may be used
// afterwards. Releasing nil does nothing.
func (b *Buffer) Release() {
	if b == nil || cap(b.B) < 1<<minBufferShift {
		return
	}
	class := bits.Len(uint(cap(b.B))) - 1 // rounded down: the class promises its size
	if class > maxBufferShift {
		return
	}
	b.B = b.B[:0]
	bufferPools[class-minBufferShift].Put(b)
}

// Grow makes room for n more bytes, keeping the contents. Room is at least
// doubled, and taken from the pool.
func (b *Buffer) Grow(n int) {
	if cap(b.B)-len(b.B) >= n {
		return
	}
	bigger := NewBuffer(max(len(b.B)+n, 2*cap(b.B)))
	bigger.B = append(bigger.B, b.B...)
	b.B, bigger.B = bigger.B, b.B
	bigger.Release()
}

// bufferClass returns the power of two that holds size bytes.
func bufferClass(size int) int {
	if size <= 1<<minBufferShift {
		return minBufferShift
	}
	return bits.Len(uint(size - 1))
}
