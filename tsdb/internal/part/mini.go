package part

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sort"
	"sync/atomic"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// mini is b1.MiniSamples samples of a block, or those at its end, or all of it: all
// that reading them takes. Mostly they are a mini-block; longer ones, of samples that
// compress badly, are cut. But for the first fields it does not change.
type mini struct {
	used    atomic.Bool // since the hand last came by
	dropped bool        // guarded by Minis.mu
	rows    *miniRows   // which it is among
	row     int
	bytes   int64

	first, count  int   // samples of the block
	before, after int64 // times of the samples before and behind; the ends of int64 if there is none
	start, step   int64 // the time of sample i is start + i*step + times.at(i)
	times         narrow
	values        narrow // mantissas
	zones         []byte // the least of each block.ZoneBytes bytes of values, then the greatest; may be nil
	floats        []float64
	scale         uint8
	mayBeStale    bool
}

func (m *mini) size() int {
	return miniOverhead + len(m.times.b) + len(m.values.b) + len(m.zones) + 8*len(m.floats)
}

// findZones finds the extremes of stretches of values that are bytes.
func (m *mini) findZones() {
	if m.values.width != 1 {
		return
	}
	n := (m.count + block.ZoneBytes - 1) / block.ZoneBytes
	m.zones = make([]byte, 2*n)
	for k := range n {
		from := k * block.ZoneBytes
		zone := m.values.b[from:min(from+block.ZoneBytes, m.count)]
		// Words, of which the processor picks one without a branch.
		a, b := uint32(zone[0]), uint32(zone[0])
		for _, x := range zone {
			a, b = min(a, uint32(x)), max(b, uint32(x))
		}
		m.zones[k], m.zones[n+k] = byte(a), byte(b)
	}
}

// touch notes that m was read.
func (m *mini) touch() {
	if !m.used.Load() {
		m.used.Store(true)
	}
}

func (m *mini) time(i int) int64 { return m.start + int64(i)*m.step + m.times.at(i) }

// search returns the first sample at t or later.
func (m *mini) search(t int64) int {
	switch {
	case t <= m.start:
		return 0
	case m.times.width == 0 && m.step > 0:
		return int(min((uint64(t)-uint64(m.start)-1)/uint64(m.step)+1, uint64(m.count)))
	}
	return sort.Search(m.count, func(i int) bool { return m.time(i) >= t })
}

// end returns how many samples are at maxt or before.
func (m *mini) end(maxt int64) int {
	if m.after > maxt && m.start+int64(m.count-1)*m.step+m.times.at(m.count-1) <= maxt {
		return m.count
	}
	return m.search(maxt + 1)
}

func (m *mini) value(i int) float64 {
	if m.floats != nil {
		return m.floats[i]
	}
	return codec.Decimal(m.values.at(i), m.scale)
}

// fill fills t and v with the samples from i on; room is for as many.
func (m *mini) fill(t []int64, v []float64, i int, room []int64) {
	codec.FillGrid(t, m.start, m.step, i)
	if m.times.width > 0 {
		m.times.fill(room, i)
		for k, d := range room {
			t[k] += d
		}
	}
	if m.floats != nil {
		copy(v, m.floats[i:])
		return
	}
	m.values.fill(room, i)
	codec.Decimals(v, room, 1, 0, m.scale)
}

// narrow is a column of integers: low plus so many bytes each.
type narrow struct {
	low   int64
	width uint8 // 0, 1, 2, 4 or 8
	b     []byte
}

// narrowBytes returns v as a column of bytes above low; ok is false if they are none, or
// all the same.
func narrowBytes(v []int64, low int64) (n narrow, ok bool) {
	n = narrow{low: low, width: 1, b: make([]byte, len(v))}
	all := uint64(0)
	for i, x := range v {
		above := uint64(x) - uint64(low)
		all |= above
		n.b[i] = byte(above)
	}
	return n, all > 0 && all <= math.MaxUint8
}

// newNarrow returns v, which is not empty, as one.
func newNarrow(v []int64) narrow {
	low, high := extremes(v)
	n := narrow{low: low}
	switch width := bits.Len64(uint64(high) - uint64(low)); {
	case width == 0:
		return n
	case width <= 8:
		n, _ = narrowBytes(v, low)
		return n
	case width <= 16:
		n.width = 2
	case width <= 32:
		n.width = 4
	default:
		n.width = 8
	}
	n.b = make([]byte, 0, int(n.width)*len(v))
	var word [8]byte
	for _, x := range v {
		binary.LittleEndian.PutUint64(word[:], uint64(x)-uint64(low))
		n.b = append(n.b, word[:n.width]...)
	}
	return n
}

// extremes returns the least and the greatest of v, which is not empty. It looks at two
// at a time, so that none waits for the one before.
func extremes(v []int64) (least, greatest int64) {
	a, b, c, d := v[0], v[0], v[0], v[0]
	for len(v) >= 2 {
		a, b = min(a, v[0]), max(b, v[0])
		c, d = min(c, v[1]), max(d, v[1])
		v = v[2:]
	}
	for _, x := range v {
		a, b = min(a, x), max(b, x)
	}
	return min(a, c), max(b, d)
}

func (n *narrow) at(i int) int64 {
	switch n.width {
	case 0:
		return n.low
	case 1:
		return n.low + int64(n.b[i])
	case 2:
		return n.low + int64(binary.LittleEndian.Uint16(n.b[2*i:]))
	case 4:
		return n.low + int64(binary.LittleEndian.Uint32(n.b[4*i:]))
	}
	return n.low + int64(binary.LittleEndian.Uint64(n.b[8*i:]))
}

// fill fills dst with the numbers from i on.
func (n *narrow) fill(dst []int64, i int) {
	switch n.width {
	case 0:
		for k := range dst {
			dst[k] = n.low
		}
	case 1:
		b := n.b[i:][:len(dst)]
		for k, x := range b {
			dst[k] = n.low + int64(x)
		}
	default:
		for k := range dst {
			dst[k] = n.at(i + k)
		}
	}
}
