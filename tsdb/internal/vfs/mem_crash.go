package vfs

import (
	"bytes"
	"maps"
	"math/rand"
	"slices"
)

// CrashClone returns the file system as a power loss at this moment might leave
// it; m goes on unchanged, and nothing is open or locked in the clone.
//
// What was synced is there. Each unsynced change (an entry of a folder made,
// replaced or removed; the cut of a file; what was written to a file) survives
// with the chance keepUnsynced, on its own: 0 leaves what was synced and nothing
// else, 1 leaves everything, as after a kill of the process. In between, what
// was written may also survive in part: a tail cut short or turned to zeros, or
// a hole of zeros in the middle. The same rng state gives the same clone.
func (m *Mem) CrashClone(rng *rand.Rand, keepUnsynced float64) *Mem {
	m.mu.RLock()
	defer m.mu.RUnlock()
	c := crash{rng: rng, keep: keepUnsynced, clones: map[*memNode]*memNode{}}
	out := NewMem()
	out.capacity = m.capacity
	out.root = c.node(m.root)
	for _, n := range c.clones {
		if !n.isDir && n.names > 0 {
			out.used += int64(len(n.data))
		}
	}
	return out
}

type crash struct {
	rng    *rand.Rand
	keep   float64
	clones map[*memNode]*memNode // a file with two names stays one
}

func (c *crash) survives() bool { return c.rng.Float64() < c.keep }

func (c *crash) node(n *memNode) *memNode {
	if out, ok := c.clones[n]; ok {
		return out
	}
	out := &memNode{isDir: n.isDir, mtime: n.mtime}
	c.clones[n] = out
	if !n.isDir {
		out.data = c.content(n)
		out.synced = out.data[:len(out.data):len(out.data)]
		out.stable = len(out.synced)
		return out
	}
	out.entries = map[string]*memNode{}
	names := maps.Clone(n.entries)
	maps.Copy(names, n.durable)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		child := n.durable[name]
		if now := n.entries[name]; now != child && c.survives() {
			child = now
		}
		if child != nil {
			out.entries[name] = c.node(child)
			out.entries[name].names++
		}
	}
	out.durable = maps.Clone(out.entries)
	return out
}

// content returns what is left of a file's bytes.
func (c *crash) content(n *memNode) []byte {
	if n.stable < len(n.synced) && !c.survives() { // the cut is lost, and what followed it
		return bytes.Clone(n.synced)
	}
	tail := bytes.Clone(n.data[n.stable:])
	switch {
	case len(tail) == 0 || c.survives():
	case c.keep <= 0:
		tail = nil
	default:
		tail = c.damage(tail)
	}
	return append(bytes.Clone(n.data[:n.stable]), tail...)
}

// damage returns a part of a written but unsynced tail.
func (c *crash) damage(tail []byte) []byte {
	from := c.rng.Intn(len(tail) + 1)
	switch c.rng.Intn(4) {
	case 0: // the length was written, the bytes were not
		clear(tail[from:])
	case 1: // some pages were written
		to := from + c.rng.Intn(len(tail)-from+1)
		clear(tail[from:to])
	default:
		tail = tail[:from]
	}
	return tail
}
