package part

import (
	"encoding/binary"
	"hash/crc32"
	"hash/maphash"
	"math"

	"github.com/varvedb/varve/tsdb/internal/b1"
	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index/section"
)

const (
	// maxKnownTimes bounds the columns of times a Writer remembers, 32 bytes
	// each.
	maxKnownTimes = 1 << 18
	// trimSamples is up to how many samples a block has no statistics beyond
	// the least and greatest value: they would be a quarter of it.
	trimSamples = 128
	// oneMini is up to how many samples a block is one mini-block, without a
	// directory, which would be a tenth of it.
	oneMini = 1024
	// groupTimes is how many bytes of times end a group.
	groupTimes = 256 << 10
)

// groupWriter collects blocks into groups and writes them to the data file.
type groupWriter struct {
	file *fileWriter
	enc  *b1.Encoder
	one  *b1.Encoder // of blocks that need not be cut, nil before the first

	begin         int64 // of the group
	headers       []b1.Header
	crc           uint32 // of the body so far
	payload, time []byte // of the block being encoded
	scratch       []byte
	times         timesWriter
	rows          [groupColumns][]uint64
}

func newGroupWriter(file *fileWriter) *groupWriter {
	g := &groupWriter{file: file, enc: b1.NewEncoder(b1.Options{}), begin: file.offset}
	g.headers = make([]b1.Header, 0, b1.PageBlocks)
	g.times.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	g.times.known = map[[2]uint64]uint64{}
	return g
}

// encode writes a block of the samples of s. The header is valid until the next
// call.
func (g *groupWriter) encode(series uint32, s *block.Span) (*b1.Header, error) {
	var h b1.Header
	var err error
	enc := g.enc
	if s.Count > b1.MiniSamples && s.Count <= oneMini {
		if g.one == nil {
			g.one = b1.NewEncoder(b1.Options{MiniSamples: oneMini})
		}
		enc = g.one
	}
	if g.payload, g.time, err = enc.Encode(g.payload[:0], g.time[:0], &h, s); err != nil {
		return nil, err
	}
	return g.add(series, &h, g.payload, g.time), nil
}

// add writes a block that is encoded already.
func (g *groupWriter) add(series uint32, h *b1.Header, payload, times []byte) *b1.Header {
	if len(g.headers) == b1.PageBlocks || len(g.times.bytes) >= groupTimes {
		g.flush()
	}
	g.headers = append(g.headers, *h)
	h = &g.headers[len(g.headers)-1]
	h.Series, h.Offset, h.TimesRef = series, uint64(g.file.offset-g.begin), 0
	if !h.IsGrid() {
		h.TimesRef = g.times.ref(times)
	}
	if h.Count <= trimSamples {
		h.Trim()
	}
	g.body(payload)
	return h
}

// body appends b to the body of the group.
func (g *groupWriter) body(b []byte) {
	g.crc = crc32.Update(g.crc, castagnoli, b)
	g.file.write(b)
}

// flush ends the group.
func (g *groupWriter) flush() {
	if len(g.headers) == 0 {
		return
	}
	size := g.file.offset - g.begin + int64(len(g.times.bytes)+binary.MaxVarintLen32*len(g.times.lengths))
	shared := size <= sharedBody
	g.flushTimes(shared)
	g.row(shared)
	first := g.headers[0].Series
	for i := range g.headers {
		h := &g.headers[i]
		h.Series -= first - 1
		if shared {
			h.CRC = 0
		}
	}
	before := g.file.offset
	g.scratch = b1.AppendPage(g.scratch[:0], g.headers)
	g.file.write(g.scratch)
	g.rows[groupPageSize] = append(g.rows[groupPageSize], uint64(g.file.offset-before))
	g.headers, g.crc, g.begin = g.headers[:0], 0, g.file.offset
}

// flushTimes writes the new columns of times and makes the references to them
// offsets.
func (g *groupWriter) flushTimes(shared bool) {
	t := &g.times
	rest := t.bytes
	for i, n := range t.lengths {
		t.offsets = append(t.offsets, uint64(g.file.offset))
		g.scratch = binary.AppendUvarint(g.scratch[:0], uint64(n))
		if !shared {
			g.scratch = binary.LittleEndian.AppendUint32(g.scratch, crc32.Checksum(rest[:n], castagnoli))
		}
		g.body(g.scratch)
		g.body(rest[:n])
		rest = rest[n:]
		if _, ok := t.known[t.keys[i]]; ok {
			t.known[t.keys[i]] = t.offsets[i]
		}
	}
	for i := range g.headers {
		if h := &g.headers[i]; h.TimesRef&pendingTimes != 0 {
			h.TimesRef = t.offsets[h.TimesRef&^pendingTimes]
		}
	}
	t.bytes, t.lengths, t.keys, t.offsets = t.bytes[:0], t.lengths[:0], t.keys[:0], t.offsets[:0]
}

// row appends that of the group to the table. Times are not yet relative.
func (g *groupWriter) row(shared bool) {
	var v [groupColumns]uint64
	minT, maxMinT, minMaxT, maxT := int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt64), int64(math.MinInt64)
	for i := range g.headers {
		h := &g.headers[i]
		v[groupSamples] += uint64(h.Count)
		minT, maxMinT = min(minT, h.MinT), max(maxMinT, h.MinT)
		minMaxT, maxT = min(minMaxT, h.MaxT), max(maxT, h.MaxT)
	}
	v[groupOffset], v[groupBody] = uint64(g.begin), uint64(g.file.offset-g.begin)
	v[groupFirst], v[groupLast] = uint64(g.headers[0].Series), uint64(g.headers[len(g.headers)-1].Series)
	v[groupRows] = uint64(len(g.headers))
	v[groupMinT], v[groupMaxMinT], v[groupMinMaxT], v[groupMaxT] = uint64(minT), uint64(maxMinT-minT), uint64(maxT-minMaxT), uint64(maxT)
	if shared {
		v[groupShared], v[groupCRC] = 1, uint64(g.crc)
	}
	for c := range g.rows {
		if c != groupPageSize {
			g.rows[c] = append(g.rows[c], v[c])
		}
	}
}

// table returns the table of groups, with times from minSample on. No group may
// follow.
func (g *groupWriter) table(minSample int64) []byte {
	for i := range g.rows[groupMinT] {
		g.rows[groupMinT][i] -= uint64(minSample)
		g.rows[groupMaxT][i] -= uint64(minSample)
	}
	var columns [groupColumns]section.Column
	for c := range columns {
		columns[c] = section.Column{Values: g.rows[c], Running: c == groupOffset || c == groupFirst || c == groupLast}
	}
	return section.AppendTable(nil, columns[:]...)
}

// pendingTimes marks a reference to times that are not written yet: the rest is
// their number in the group.
const pendingTimes = 1 << 63

// timesWriter keeps the new columns of times of a group, and knows those of
// groups before.
type timesWriter struct {
	seeds   [2]maphash.Seed
	known   map[[2]uint64]uint64
	bytes   []byte // one payload after the other
	lengths []int
	keys    [][2]uint64
	offsets []uint64 // scratch
}

// ref returns the reference of a payload, taking it up unless it is known. Two
// payloads are taken for the same by 128 bits of hash under a random key.
func (t *timesWriter) ref(payload []byte) uint64 {
	key := [2]uint64{maphash.Bytes(t.seeds[0], payload), maphash.Bytes(t.seeds[1], payload)}
	if ref, ok := t.known[key]; ok {
		return ref
	}
	ref := pendingTimes | uint64(len(t.lengths))
	t.bytes = append(t.bytes, payload...)
	t.lengths = append(t.lengths, len(payload))
	t.keys = append(t.keys, key)
	if len(t.known) < maxKnownTimes {
		t.known[key] = ref
	}
	return ref
}
