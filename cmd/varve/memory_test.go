package main

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIdleMemoryIsGivenBack(t *testing.T) {
	held := make([][]byte, 0, 4)
	for range 4 {
		b := make([]byte, spareMemory)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		held = append(held, b)
	}
	runtime.GC()
	used := idleHeap()
	require.Less(t, used, int64(spareMemory), "what is in use is not idle")
	runtime.KeepAlive(held)
	held = nil
	runtime.GC()
	require.Greater(t, idleHeap(), int64(2*spareMemory))
	giveBack()
	require.Less(t, idleHeap(), int64(spareMemory))
}
