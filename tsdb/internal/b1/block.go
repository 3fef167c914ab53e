package b1

import (
	"math"
	"sort"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// Block reads one block. Open gives it another one; what it needs for that it
// keeps, so that reading many blocks through one Block allocates nothing but
// for histograms. It is for one goroutine. A Block is some 30 KiB.
//
// The payload given to Open is referred to until the next Open.
type Block struct {
	h          Header
	data       []byte // mini-blocks, or histograms
	startTimes []byte
	exceptions []codec.Exception
	ulps       codec.Params
	dir        dirReader
	offsets    [maxMinis + 1]uint32

	runValues, runEnds []int64

	narrow   [1 << maxMiniLog]int32
	wide     [1 << maxMiniLog]int64
	second   [1 << maxMiniLog]int64
	scratch  codec.Scratch
	scratch2 codec.Scratch
	tens     codec.DecimalTable
	table    *codec.DecimalTable // &tens once it is filled for this block
}

// Open makes b read the block of h, which must have passed Check. Whoever read
// the payload has compared its checksum. Open parses the directory; errors wrap
// block.ErrCorrupt.
func (b *Block) Open(h *Header, payload []byte) error {
	b.h = *h
	if uint64(len(payload)) != uint64(h.Length) {
		return block.Corruptf("payload of %d bytes, want %d", len(payload), h.Length)
	}
	return b.parse(payload)
}

func (b *Block) parse(payload []byte) error {
	h := &b.h
	r := codec.NewReader(payload)
	b.startTimes, b.table = nil, nil
	if h.Flags&FlagStartTimes != 0 {
		b.startTimes = r.Take(r.Uvarint())
	}
	b.exceptions = b.exceptions[:0]
	if h.Exceptions > 0 && !r.Bad() {
		list, rest, ok := codec.DecodeExceptions(b.exceptions, r.Rest(), h.Exceptions, h.Count)
		if !ok {
			return block.Corruptf("exceptions do not parse")
		}
		b.exceptions = list
		r.Skip(rest, true)
	}
	switch h.Layout {
	case LayoutLinear:
		if r.Len() > 0 {
			r.Fail()
		}
	case LayoutRuns:
		b.parseRuns(&r)
	case LayoutMinis:
		b.parseMinis(&r)
	}
	b.data = r.Rest()
	if r.Bad() {
		return block.Corruptf("payload does not parse")
	}
	return nil
}

func (b *Block) parseRuns(r *codec.Reader) {
	n := r.Uvarint()
	if r.Bad() || n < 2 || n > uint64(b.h.Count/runRatio) {
		r.Fail()
		return
	}
	b.runValues, b.runEnds = resize(b.runValues, int(n)), resize(b.runEnds, int(n))
	rest, ok := codec.DecodeColumn(b.runValues, r.Rest(), &b.scratch)
	if ok {
		rest, ok = codec.DecodeColumn(b.runEnds[:n-1], rest, &b.scratch)
	}
	if r.Skip(rest, ok && len(rest) == 0); r.Bad() {
		return
	}
	end, left := int64(0), int64(b.h.Count)
	for k, length := range b.runEnds[:n-1] {
		if length < 1 || length >= left {
			r.Fail()
			return
		}
		end, left = end+length, left-length
		b.runEnds[k] = end
	}
	b.runEnds[n-1] = int64(b.h.Count)
}

func (b *Block) parseMinis(r *codec.Reader) {
	h := &b.h
	if h.Domain == codec.NearTens {
		mode := r.Byte()
		b.ulps = codec.Params{Codec: codec.Codec(mode & 3), Order: mode >> 2, Table: r.Byte(), Shift: r.Byte(), Centre: r.Varint()}
		if b.ulps.Order > 1 || !b.ulps.Valid() {
			r.Fail()
		}
	}
	n := h.minis()
	if h.oneMini() {
		first := (h.First - h.Base) / h.Divisor
		b.dir = dirReader{}
		b.dir.set(dirLength, int64(r.Len()))
		b.dir.set(dirStart, first)
		b.dir.set(dirBelow, first-(h.Min-h.Base)/h.Divisor)
		b.dir.set(dirAbove, (h.Max-h.Base)/h.Divisor-first)
		b.dir.set(dirSum, (h.Sum-int64(h.Count)*h.Min)/h.Divisor)
	} else {
		b.dir.parse(h, r)
	}
	if r.Bad() {
		return
	}
	at, left := uint32(0), uint64(r.Len())
	packed, low, width, pos := b.dir.packed, uint64(b.dir.low[dirLength]), b.dir.width[dirLength], b.dir.pos[dirLength]
	offsets := b.offsets[:n+1]
	for k := range n {
		offsets[k] = at
		length := low + codec.Bits(packed, pos, width) // as dirReader.at
		if length > left {
			r.Fail()
			return
		}
		at, left, pos = at+uint32(length), left-length, pos+width
	}
	offsets[n] = at
	if left > 0 {
		r.Fail()
	}
}

// Header returns that of the block.
func (b *Block) Header() *Header { return &b.h }

// Exceptions returns the values that are no mantissas, ascending by index. It is
// valid until the next Open.
func (b *Block) Exceptions() []codec.Exception { return b.exceptions }

// exceptionsIn returns those of [i, j).
func (b *Block) exceptionsIn(i, j int) []codec.Exception {
	list := b.exceptions
	if len(list) == 0 {
		return nil
	}
	from := sort.Search(len(list), func(k int) bool { return list[k].Index >= i })
	to := from
	for to < len(list) && list[to].Index < j {
		to++
	}
	return list[from:to]
}

// StartTimes fills dst, one for each sample of the block, and tells whether
// there are any; without, dst is left as it was.
func (b *Block) StartTimes(dst []int64) (bool, error) {
	if b.startTimes == nil {
		return false, nil
	}
	if rest, ok := codec.DecodeColumn(dst[:b.h.Count], b.startTimes, &b.scratch); !ok || len(rest) > 0 {
		return false, block.Corruptf("start timestamps do not parse")
	}
	return true, nil
}

// Narrow tells whether Ints32 may be asked.
func (b *Block) Narrow() bool { return b.h.Flags&FlagNarrow != 0 }

// Decimal tells whether Ints64 may be asked and what the values are, but for
// exceptions: mantissa / 10^scale.
func (b *Block) Decimal() (scale uint8, ok bool) {
	return b.h.Scale, b.h.Domain == codec.Decimals10 && b.h.Kind == block.KindFloat
}

// Ints32 fills dst with the mantissas of the samples from i on. Exceptions have
// the mantissa of a neighbour. Only the mini-blocks of those samples are
// decoded.
func (b *Block) Ints32(dst []int32, i int) error {
	if !b.Narrow() {
		return errNotDecimal
	}
	return ints(b, dst, b.narrow[:], i)
}

// Ints64 is Ints32 for blocks that Decimal allows.
func (b *Block) Ints64(dst []int64, i int) error {
	if _, ok := b.Decimal(); !ok {
		return errNotDecimal
	}
	return ints(b, dst, b.wide[:], i)
}

// Floats fills dst with the values of the samples from i on, exceptions among
// them. Only the mini-blocks of those samples are decoded.
func (b *Block) Floats(dst []float64, i int) error {
	if b.h.Kind != block.KindFloat {
		return errNotDecimal
	}
	if err := b.checkRange(i, i+len(dst)); err != nil {
		return err
	}
	var ok bool
	if b.Narrow() {
		ok = floats(b, dst, b.narrow[:], i)
	} else {
		ok = floats(b, dst, b.wide[:], i)
	}
	if !ok {
		return block.Corruptf("mini-blocks do not decode")
	}
	codec.PatchFloats(dst, b.exceptionsIn(i, i+len(dst)), i)
	return nil
}

func (b *Block) checkRange(i, j int) error {
	if i < 0 || j > b.h.Count || i > j {
		return errRange
	}
	return nil
}

// ints decodes mantissas: whole mini-blocks into dst, cut ones by way of
// scratch.
func ints[T codec.Lane](b *Block, dst, scratch []T, i int) error {
	j := i + len(dst)
	if err := b.checkRange(i, j); err != nil {
		return err
	}
	for len(dst) > 0 {
		k := i >> b.h.MiniLog
		from := k << b.h.MiniLog
		end := min(from+b.h.mini(), b.h.Count)
		n := min(end, j) - i
		ok := false
		if i == from && (i+n == end || b.prefix()) {
			ok = decode(b, dst[:n], k)
		} else if ok = decodeTail(b, dst[:n], k, i-from); !ok {
			part := scratch[:b.need(i+n-from, end-from)]
			ok = decode(b, part, k)
			copy(dst[:n], part[i-from:])
		}
		if !ok {
			return block.Corruptf("mini-block %d does not decode", k)
		}
		dst, i = dst[n:], i+n
	}
	return nil
}

// prefix tells whether a mini-block can be decoded in part.
func (b *Block) prefix() bool { return b.h.Layout != LayoutMinis || b.h.Params.Prefix() }

// need returns how many samples of a mini-block of total must be decoded to
// have n of them.
func (b *Block) need(n, total int) int {
	if b.prefix() {
		return n
	}
	return total
}

// decode fills dst with the first mantissas, or ordered doubles, of mini-block
// k: all of them, or fewer if prefix says so.
func decode[T codec.Lane](b *Block, dst []T, k int) bool {
	h := &b.h
	from := k << h.MiniLog
	switch h.Layout {
	case LayoutLinear:
		slope := T(0)
		if h.Params.Order == 1 {
			slope = T(h.Divisor * h.Params.Centre)
		}
		x := T(h.First) + T(from)*slope
		for i := range dst {
			dst[i] = x
			x += slope
		}
		return true
	case LayoutRuns:
		b.runFill(from, len(dst), func(at, n int, v int64) {
			for i := range n {
				dst[at+i] = T(v)
			}
		})
		return true
	case LayoutMinis:
		_, ok := decodeQ(b, dst, k, false)
		if h.Divisor != 1 {
			codec.Multiply(dst, h.Divisor, h.Base)
		}
		return ok
	}
	return false
}

// decodeQ is decode before Divisor and Base; used is the length of the stream
// if exact is set.
func decodeQ[T codec.Lane](b *Block, dst []T, k int, exact bool) (used int, ok bool) {
	total := min(b.h.mini(), b.h.Count-k<<b.h.MiniLog)
	slope := int64(0)
	if b.h.Params.Order == 2 {
		slope = b.dir.at(dirSlope, k)
	}
	return codec.Decode(dst, total, &b.h.Params, T(b.dir.at(dirStart, k)), T(slope), b.data[b.offsets[k]:], exact, &b.scratch)
}

// decodeTail is decode of the mantissas, or ordered doubles, of mini-block k from the
// skip-th on; it is false, and nothing done, unless they are few and that saves time.
func decodeTail[T codec.Lane](b *Block, dst []T, k, skip int) bool {
	h := &b.h
	if h.Layout != LayoutMinis || !tailOfQ(b, dst, k, skip) {
		return false
	}
	if h.Divisor != 1 {
		codec.Multiply(dst, h.Divisor, h.Base)
	}
	return true
}

// tailOfQ is decodeTail before Divisor and Base.
func tailOfQ[T codec.Lane](b *Block, dst []T, k, skip int) bool {
	total := min(b.h.mini(), b.h.Count-k<<b.h.MiniLog)
	return codec.DecodeTail(dst, skip, total, &b.h.Params, T(b.dir.at(dirStart, k)), b.data[b.offsets[k]:], &b.scratch)
}

// runFill calls fill for every run of the n samples from i on; at counts from i.
func (b *Block) runFill(i, n int, fill func(at, n int, v int64)) {
	k := sort.Search(len(b.runEnds), func(k int) bool { return b.runEnds[k] > int64(i) })
	for at := 0; at < n; k++ {
		length := min(int(b.runEnds[k])-i-at, n-at)
		fill(at, length, b.runValues[k])
		at += length
	}
}

// floats decodes values without exceptions.
func floats[T codec.Lane](b *Block, dst []float64, scratch []T, i int) bool {
	h := &b.h
	switch h.Layout {
	case LayoutLinear:
		if h.Params.Order == 0 {
			x := h.value(h.First)
			for k := range dst {
				dst[k] = x
			}
			return true
		}
	case LayoutRuns:
		b.runFill(i, len(dst), func(at, n int, v int64) {
			x := h.value(v)
			part := dst[at : at+n]
			for k := range part {
				part[k] = x
			}
		})
		return true
	}
	b.useTable(len(dst))
	j := i + len(dst)
	for len(dst) > 0 {
		k := i >> h.MiniLog
		from := k << h.MiniLog
		end := min(from+h.mini(), h.Count)
		n := min(end, j) - i
		if i == from && j >= from+2*h.mini() && h.Layout == LayoutMinis && h.Domain == codec.Decimals10 {
			handled, ok := b.decimals2(dst[:2*h.mini()], k)
			if !ok {
				return false
			}
			if handled {
				dst, i = dst[2*h.mini():], i+2*h.mini()
				continue
			}
		}
		ok := false
		switch h.Domain {
		case codec.Decimals10:
			ok = decimals(b, dst[:n], scratch[:b.need(i+n-from, end-from)], k, i-from)
		case codec.Doubles:
			part := b.wide[:b.need(i+n-from, end-from)]
			ok = decode(b, part, k)
			for x, o := range part[i-from:] {
				dst[x] = math.Float64frombits(codec.FromOrdered(o))
				if x == n-1 {
					break
				}
			}
		case codec.NearTens:
			ok = b.nears(dst[:n], k, i-from, end-from)
		}
		if !ok {
			return false
		}
		dst, i = dst[n:], i+n
	}
	return true
}

// useTable makes a table of the decimals of the block if n values are to be
// read and that is many more.
func (b *Block) useTable(n int) {
	h := &b.h
	if b.table != nil || h.Domain != codec.Decimals10 || h.Scale == 0 || h.Max-h.Min >= min(int64(n)/4, codec.TableSize) {
		return
	}
	b.table = &b.tens
	b.tens.Fill(h.Min, int(h.Max-h.Min)+1, h.Scale)
}

// sayTens says what q stands for.
func (b *Block) sayTens() codec.Tens {
	h := &b.h
	small := max(h.Max, -h.Min) < maxMantissa-h.Divisor
	return codec.Tens{Divisor: h.Divisor, Base: h.Base, Scale: h.Scale, Small: small, Table: b.table}
}

// decimals2 fills dst with the values of the whole mini-blocks k and k+1, if that
// can be done at once.
func (b *Block) decimals2(dst []float64, k int) (handled, ok bool) {
	h := &b.h
	tens := b.sayTens()
	if !h.Params.Joint(&tens) {
		return false, true
	}
	n := h.mini()
	return true, codec.DecodeDecimals2(dst[:n], dst[n:], &h.Params, b.dir.at(dirStart, k), b.dir.at(dirStart, k+1),
		b.data[b.offsets[k]:], b.data[b.offsets[k+1]:], &tens, &b.scratch, &b.scratch2)
}

// decimals fills dst with the values of mini-block k from the skip-th on, by way
// of q.
func decimals[T codec.Lane](b *Block, dst []float64, q []T, k, skip int) bool {
	h := &b.h
	if h.Layout != LayoutMinis {
		ok := decode(b, q, k)
		codec.Decimals(dst, q[skip:], 1, 0, h.Scale)
		return ok
	}
	tens := b.sayTens()
	if skip == 0 && h.Params.Joint(&tens) {
		total := min(h.mini(), h.Count-k<<h.MiniLog)
		return codec.DecodeDecimals(dst, total, &h.Params, b.dir.at(dirStart, k), b.data[b.offsets[k]:], &tens, &b.scratch)
	}
	ok := tailOfQ(b, q[skip:skip+len(dst)], k, skip)
	if !ok {
		_, ok = decodeQ(b, q, k, false)
	}
	codec.Decimals(dst, q[skip:], h.Divisor, h.Base, h.Scale)
	return ok
}

// ordered fills dst with the doubles of mini-block k in the form of
// codec.Ordered, for domains that are not decimal.
func (b *Block) ordered(dst []int64, k int) bool {
	if b.h.Domain == codec.Doubles {
		return decode(b, dst, k)
	}
	if !b.near(dst, k) {
		return false
	}
	ulps := b.second[:len(dst)]
	if _, ok := codec.Decode(ulps, len(ulps), &b.ulps, b.dir.at(dirUlps, k), 0, b.secondStream(k), false, &b.scratch); !ok {
		return false
	}
	for i, m := range dst {
		dst[i] = nearOrdered(m, ulps[i], b.h.Scale)
	}
	return true
}

// near fills m with the first mantissas of mini-block k of NearTens.
func (b *Block) near(m []int64, k int) bool {
	if b.h.Layout != LayoutMinis {
		return false
	}
	_, ok := decodeQ(b, m, k, false)
	codec.Multiply(m, b.h.Divisor, b.h.Base)
	return ok
}

// secondStream is the stream of ulps of mini-block k.
func (b *Block) secondStream(k int) []byte {
	end := int64(b.offsets[k+1])
	return b.data[end-min(max(b.dir.at(dirSecond, k), 0), end-int64(b.offsets[k])):]
}

// nears fills dst with the values of mini-block k, of total samples, from the
// skip-th on.
func (b *Block) nears(dst []float64, k, skip, total int) bool {
	m := b.wide[:total]
	if !b.near(m, k) {
		return false
	}
	if skip == 0 && len(dst) == total {
		return codec.DecodeNears(dst, m, b.second[:total], total, &b.ulps, b.dir.at(dirUlps, k), b.h.Scale, b.secondStream(k), &b.scratch)
	}
	ulps := b.second[:total]
	_, ok := codec.Decode(ulps, total, &b.ulps, b.dir.at(dirUlps, k), 0, b.secondStream(k), false, &b.scratch)
	codec.Nears(dst, m[skip:], ulps[skip:], b.h.Scale)
	return ok
}
