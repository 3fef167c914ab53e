package codec

import (
	"encoding/binary"
	"math"
)

// laneRun is how many symbols are decoded at a time; laneBias is added to their
// running sums, which so fit 16 bits without a sign.
const (
	laneRun  = 1024
	laneBias = 1 << 15
	laneOnes = 1<<48 | 1<<32 | 1<<16 | 1
	// One refill of bits yields up to five times lookupEmit symbols.
	laneSlack = 5 * lookupEmit
	// laneBytes is the next power of two: masking is cheaper than a check.
	laneBytes = 4 * laneRun
)

// Scratch is room for decoding. The zero value is ready; it is for one goroutine
// at a time.
type Scratch struct {
	lanes [laneBytes + 8]byte
}

// lane returns the running sum of the symbols up to the i-th.
func (s *Scratch) lane(i int) int { return int(binary.LittleEndian.Uint16(s.lanes[2*i:])) - laneBias }

// next looks up the words that x begins with: acc with the running sums of their
// symbols added, and the step they are.
func (t *table) next(x, acc uint64) (sums uint64, step uint) {
	k := x & (lookupSize - 1)
	return acc + t.lookup[k], uint(t.step[k])
}

// put stores four lanes from byte at on.
func (s *Scratch) put(at uint, lanes uint64) {
	at &= laneBytes - 1
	binary.LittleEndian.PutUint64(s.lanes[at:at+8], lanes)
}

// sumsAt are the lanes to go on with behind the symbols before byte at.
func (s *Scratch) sumsAt(at uint) uint64 {
	if at == 0 {
		return laneBias * laneOnes
	}
	return uint64(binary.LittleEndian.Uint16(s.lanes[at-2:])) * laneOnes
}

// run decodes up to n <= laneRun symbols, of which those before byte at of the
// lanes are there, from bit pos of src on. It stops early at a word it cannot
// decode, or whose symbols do not fit lanes, and, with exact set, near the n-th
// symbol; otherwise it may go some words too far, and end tells nothing. Bits
// behind the end of src are zero.
func (s *Scratch) run(at uint, n int, src []byte, pos uint, t *table, exact bool) (got int, end uint) {
	for {
		var known bool
		at, pos, known = s.glance(at, n, src, pos, t, exact)
		if known {
			return min(int(at/2), n), pos
		}
		next, end := s.putWord(at, src, pos, t)
		if next == at || exact && int(next) > 2*n {
			return int(at / 2), pos
		}
		at, pos = next, end
	}
}

// glance is run by look-ups alone; known is false if a word they do not know made
// it stop.
func (s *Scratch) glance(at uint, n int, src []byte, pos uint, t *table, exact bool) (next, end uint, known bool) {
	limit := n
	if exact {
		limit = n - laneSlack + 1
	}
	acc, step := s.sumsAt(at), uint(2<<8)
	for int(at) < 2*limit && step>>8 != 0 && pos>>3+8 <= uint(len(src)) {
		x := binary.LittleEndian.Uint64(src[pos>>3:]) >> (pos & 7)
		taken := uint(0)
		acc, step = t.next(x, acc)
		s.put(at+(taken>>8), acc)
		acc, taken, x = acc>>48*laneOnes, taken+step, x>>(step&63)
		acc, step = t.next(x, acc)
		s.put(at+(taken>>8), acc)
		acc, taken, x = acc>>48*laneOnes, taken+step, x>>(step&63)
		acc, step = t.next(x, acc)
		s.put(at+(taken>>8), acc)
		acc, taken, x = acc>>48*laneOnes, taken+step, x>>(step&63)
		acc, step = t.next(x, acc)
		s.put(at+(taken>>8), acc)
		acc, taken, x = acc>>48*laneOnes, taken+step, x>>(step&63)
		acc, step = t.next(x, acc)
		s.put(at+(taken>>8), acc)
		acc, taken = acc>>48*laneOnes, taken+step
		at += taken >> 8
		pos += taken & 0xff
	}
	for int(at) < 2*n && step>>8 != 0 {
		sums, ahead := t.next(window(src, pos), acc)
		if step = ahead; exact && int(at+(step>>8)) > 2*n {
			break
		}
		s.put(at, sums)
		acc = sums >> 48 * laneOnes
		at += step >> 8
		pos += step & 0xff
	}
	return at, pos, int(at) >= 2*n || step>>8 != 0
}

// Between these running sums may be behind a word that is escaped: all symbols of
// a run together do not take them out of a lane then.
const (
	laneLow  = 8 * laneRun
	laneHigh = 1<<16 - laneLow
)

// putWord stores the symbols of the word at pos behind those before byte at; next
// is at if that cannot be done.
func (s *Scratch) putWord(at uint, src []byte, pos uint, t *table) (next, end uint) {
	a, b, end, ok := oneWord(src, pos, t)
	sum := int64(s.sumsAt(at) & 0xffff)
	fits := func(x int64) bool { return x > -1<<16 && x < 1<<16 && sum+x >= laneLow && sum+x < laneHigh }
	if !ok || !fits(a) {
		return at, pos
	}
	sum += a
	if t.width == 1 {
		s.put(at, uint64(sum))
		return at + 2, end
	}
	if !fits(b) {
		return at, pos
	}
	s.put(at, uint64(sum)|uint64(sum+b)<<16)
	return at + 4, end
}

// run2 begins to run two streams of the same table at a time, which hides the
// time that look-ups take. It tells how far it came, for run to go on with.
func run2(s1, s2 *Scratch, n int, src1, src2 []byte, pos1, pos2 uint, t *table) (at1, end1, at2, end2 uint) {
	for {
		var first, second bool
		at1, pos1, at2, pos2, first, second = glance2(s1, s2, n, src1, src2, at1, pos1, at2, pos2, t)
		if first && second {
			return at1, pos1, at2, pos2
		}
		before1, before2 := at1, at2
		if !first {
			at1, pos1 = s1.putWord(at1, src1, pos1, t)
		}
		if !second {
			at2, pos2 = s2.putWord(at2, src2, pos2, t)
		}
		if at1 == before1 && at2 == before2 {
			return at1, pos1, at2, pos2
		}
	}
}

// glance2 is run2 by look-ups alone; known1 or known2 is false if a word they do
// not know made it stop.
func glance2(s1, s2 *Scratch, n int, src1, src2 []byte, at1, pos1, at2, pos2 uint, t *table) (next1, end1, next2, end2 uint, known1, known2 bool) {
	acc1, acc2, step1, step2 := s1.sumsAt(at1), s2.sumsAt(at2), uint(2<<8), uint(2<<8)
	for int(max(at1, at2)) < 2*n && step1>>8 != 0 && step2>>8 != 0 && pos1>>3+8 <= uint(len(src1)) && pos2>>3+8 <= uint(len(src2)) {
		x1 := binary.LittleEndian.Uint64(src1[pos1>>3:]) >> (pos1 & 7)
		x2 := binary.LittleEndian.Uint64(src2[pos2>>3:]) >> (pos2 & 7)
		taken1, taken2 := uint(0), uint(0)
		acc1, step1 = t.next(x1, acc1)
		s1.put(at1+(taken1>>8), acc1)
		acc1, taken1, x1 = acc1>>48*laneOnes, taken1+step1, x1>>(step1&63)
		acc2, step2 = t.next(x2, acc2)
		s2.put(at2+(taken2>>8), acc2)
		acc2, taken2, x2 = acc2>>48*laneOnes, taken2+step2, x2>>(step2&63)
		acc1, step1 = t.next(x1, acc1)
		s1.put(at1+(taken1>>8), acc1)
		acc1, taken1, x1 = acc1>>48*laneOnes, taken1+step1, x1>>(step1&63)
		acc2, step2 = t.next(x2, acc2)
		s2.put(at2+(taken2>>8), acc2)
		acc2, taken2, x2 = acc2>>48*laneOnes, taken2+step2, x2>>(step2&63)
		acc1, step1 = t.next(x1, acc1)
		s1.put(at1+(taken1>>8), acc1)
		acc1, taken1, x1 = acc1>>48*laneOnes, taken1+step1, x1>>(step1&63)
		acc2, step2 = t.next(x2, acc2)
		s2.put(at2+(taken2>>8), acc2)
		acc2, taken2, x2 = acc2>>48*laneOnes, taken2+step2, x2>>(step2&63)
		acc1, step1 = t.next(x1, acc1)
		s1.put(at1+(taken1>>8), acc1)
		acc1, taken1, x1 = acc1>>48*laneOnes, taken1+step1, x1>>(step1&63)
		acc2, step2 = t.next(x2, acc2)
		s2.put(at2+(taken2>>8), acc2)
		acc2, taken2, x2 = acc2>>48*laneOnes, taken2+step2, x2>>(step2&63)
		acc1, step1 = t.next(x1, acc1)
		s1.put(at1+(taken1>>8), acc1)
		acc1, taken1 = acc1>>48*laneOnes, taken1+step1
		acc2, step2 = t.next(x2, acc2)
		s2.put(at2+(taken2>>8), acc2)
		acc2, taken2 = acc2>>48*laneOnes, taken2+step2
		at1, pos1 = at1+(taken1>>8), pos1+(taken1&0xff)
		at2, pos2 = at2+(taken2>>8), pos2+(taken2&0xff)
	}
	done := int(max(at1, at2)) >= 2*n
	return at1, pos1, at2, pos2, done || step1>>8 != 0, done || step2>>8 != 0
}

// oneWord decodes the code word at pos, escape or not, to t.width symbols.
func oneWord(src []byte, pos uint, t *table) (a, b int64, end uint, ok bool) {
	word, length := t.word(window(src, pos))
	if length == 0 || pos > uint(len(src))*8 {
		return 0, 0, pos, false
	}
	pos += length
	if word != t.escape {
		x, y := t.symbolsOf(word)
		return int64(x), int64(y), pos, true
	}
	a, pos = escaped(src, pos)
	if t.width == 2 {
		b, pos = escaped(src, pos)
	}
	return a, b, pos, true
}

func escaped(src []byte, pos uint) (int64, uint) {
	n := uint(window(src, pos)&63) + 1
	return Unzigzag(bits64(src, pos+6, n)), pos + 6 + n
}

// huffState is where decoding a Huff stream stands.
type huffState[T Lane] struct {
	p          *Params
	t          *table
	src        []byte
	low        uint // bit of the next low part
	cur, slope T    // last number and last difference
}

// huffman decodes a Huff stream behind what the caller keeps of it.
func huffman[T Lane](dst []T, total int, p *Params, start, slope T, src []byte, exact bool, s *Scratch) (used int, ok bool) {
	h := huffState[T]{p: p, t: tables[p.Table](), src: src, cur: start, slope: slope}
	if p.Order == 2 {
		h.cur += slope
	}
	pos := uint(p.Shift) * uint(total)
	if pos > uint(len(src))*8 {
		return 0, false
	}
	for len(dst) > 0 {
		n := min(len(dst), laneRun)
		var got int
		got, pos = s.run(0, n, src, pos, h.t, exact || n < len(dst))
		if got > 0 {
			h.segment(dst[:got], s)
			dst = dst[got:]
		}
		if got == n {
			continue
		}
		a, b, end, ok := oneWord(src, pos, h.t)
		if !ok {
			return 0, false
		}
		pos = end
		dst[0] = h.next(a)
		if dst = dst[1:]; h.t.width == 2 && len(dst) > 0 {
			dst[0] = h.next(b)
			dst = dst[1:]
		}
	}
	return int(pos+7) / 8, !exact || pos <= uint(len(src))*8
}

// next returns the number that comes of one symbol.
func (h *huffState[T]) next(symbol int64) T {
	shift := uint(h.p.Shift)
	r := T(symbol)<<(shift&63) + T(window(h.src, h.low)&maskOf(shift)) + T(h.p.Centre)
	h.low += shift
	switch h.p.Order {
	case 0:
		h.cur = r
	case 1:
		h.cur += r
	default:
		h.slope += r
		h.cur += h.slope
	}
	return h.cur
}

// segment makes numbers of the running sums in s.
func (h *huffState[T]) segment(dst []T, s *Scratch) {
	shift, centre := uint(h.p.Shift), T(h.p.Centre)
	switch {
	case h.p.Order == 1 && shift == 0:
		plainSums(dst, s, h.cur, centre)
	case h.p.Order == 1:
		joinSums(dst, s, shift, centre, h.cur, h.src, h.low)
	case h.p.Order == 0:
		joinValues(dst, s, shift, centre, h.src, h.low)
	default:
		before := 0
		for i := range dst {
			sum := s.lane(i)
			dst[i] = h.next(int64(sum - before))
			before = sum
		}
		return
	}
	h.low += shift * uint(len(dst))
	h.cur = dst[len(dst)-1]
}

// plainSums is for order 1 without low parts.
func plainSums[T Lane](dst []T, s *Scratch, cur, centre T) {
	cur -= laneBias
	lanes := s.lanes[:2*len(dst)]
	if centre == 0 {
		i := 0
		for ; i+4 <= len(dst); i += 4 {
			d, x := (*[4]T)(dst[i:]), binary.LittleEndian.Uint64(lanes[2*i:])
			d[0] = cur + T(uint16(x))
			d[1] = cur + T(uint16(x>>16))
			d[2] = cur + T(uint16(x>>32))
			d[3] = cur + T(x>>48)
		}
		for ; i < len(dst); i++ {
			dst[i] = cur + T(binary.LittleEndian.Uint16(lanes[2*i:]))
		}
		return
	}
	for i := range dst {
		cur += centre
		dst[i] = cur + T(binary.LittleEndian.Uint16(lanes[2*i:]))
	}
}

// joinSums is for order 1 with low parts, of which the first is at bit pos.
func joinSums[T Lane](dst []T, s *Scratch, shift uint, centre, cur T, src []byte, pos uint) {
	mask := maskOf(shift)
	cur -= T(laneBias) << (shift & 63)
	lanes := s.lanes[:2*len(dst)]
	if pos&7 == 0 && shift <= byteJoin && pos>>3 <= uint(len(src)) {
		var done int
		done, cur = joinBytes(dst, lanes, src[pos>>3:], shift, centre, cur)
		dst, lanes, pos = dst[done:], lanes[2*done:], pos+uint(done)*shift
	}
	i := 0
	for ; i < len(dst) && pos>>3+8 <= uint(len(src)); i++ {
		cur += T(binary.LittleEndian.Uint64(src[pos>>3:])>>(pos&7)&mask) + centre
		dst[i] = T(binary.LittleEndian.Uint16(lanes[2*i:]))<<(shift&63) + cur
		pos += shift
	}
	for ; i < len(dst); i++ {
		cur += T(window(src, pos)&mask) + centre
		dst[i] = T(binary.LittleEndian.Uint16(lanes[2*i:]))<<(shift&63) + cur
		pos += shift
	}
}

// joinValues is for order 0: of the running sums only the differences count.
func joinValues[T Lane](dst []T, s *Scratch, shift uint, centre T, src []byte, pos uint) {
	mask := maskOf(shift)
	lanes := s.lanes[:2*len(dst)]
	before := T(laneBias)
	i := 0
	if shift == 0 {
		for ; i < len(dst); i++ {
			sum := T(binary.LittleEndian.Uint16(lanes[2*i:]))
			dst[i] = sum - before + centre
			before = sum
		}
	}
	for ; shift <= 14 && i+4 <= len(dst) && pos>>3+8 <= uint(len(src)); i += 4 {
		x := binary.LittleEndian.Uint64(src[pos>>3:]) >> (pos & 7)
		d, sum := (*[4]T)(dst[i:]), binary.LittleEndian.Uint64(lanes[2*i:])
		s0, s1, s2, s3 := T(uint16(sum)), T(uint16(sum>>16)), T(uint16(sum>>32)), T(sum>>48)
		d[0] = (s0-before)<<(shift&31) + centre + T(x&mask)
		d[1] = (s1-s0)<<(shift&31) + centre + T(x>>(shift&63)&mask)
		d[2] = (s2-s1)<<(shift&31) + centre + T(x>>(2*shift&63)&mask)
		d[3] = (s3-s2)<<(shift&31) + centre + T(x>>(3*shift&63)&mask)
		before = s3
		pos += 4 * shift
	}
	for ; i < len(dst) && pos>>3+8 <= uint(len(src)); i++ {
		sum := T(binary.LittleEndian.Uint16(lanes[2*i:]))
		dst[i] = (sum-before)<<(shift&63) + centre + T(binary.LittleEndian.Uint64(src[pos>>3:])>>(pos&7)&mask)
		before = sum
		pos += shift
	}
	for ; i < len(dst); i++ {
		sum := T(binary.LittleEndian.Uint16(lanes[2*i:]))
		dst[i] = (sum-before)<<(shift&63) + centre + T(window(src, pos)&mask)
		before = sum
		pos += shift
	}
}

// maxJoin is the most low bits that four numbers can have in one window.
const maxJoin = 14

// plainDecimals makes doubles of the running sums in s and cur.
func plainDecimals(dst []float64, s *Scratch, cur int64, tens *Tens) {
	if tens.Table != nil {
		plainLookups(dst, s, cur, tens.Table)
		return
	}
	cur -= laneBias
	lanes := s.lanes[:2*len(dst)]
	i := 0
	if tens.Scale == 0 && max(cur, -cur) < 1<<30 {
		c := int32(cur) // conversions of 32 bits are cheaper
		for ; i+4 <= len(dst); i += 4 {
			d, x := (*[4]float64)(dst[i:]), binary.LittleEndian.Uint64(lanes[2*i:])
			d[0] = float64(c + int32(uint16(x)))
			d[1] = float64(c + int32(uint16(x>>16)))
			d[2] = float64(c + int32(uint16(x>>32)))
			d[3] = float64(c + int32(x>>48))
		}
	}
	power := pow10[tens.Scale]
	for ; i < len(dst); i++ {
		dst[i] = float64(cur+int64(binary.LittleEndian.Uint16(lanes[2*i:]))) / power
	}
}

// plainLookups is plainDecimals by table. Numbers that are not in it, of damaged
// streams, yield others.
func plainLookups(dst []float64, s *Scratch, cur int64, table *DecimalTable) {
	off := uint(cur - laneBias - table.Low)
	lanes := s.lanes[:2*len(dst)]
	values := &table.values
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		d, x := (*[4]float64)(dst[i:]), binary.LittleEndian.Uint64(lanes[2*i:])
		d[0] = values[(off+uint(uint16(x)))%TableSize]
		d[1] = values[(off+uint(uint16(x>>16)))%TableSize]
		d[2] = values[(off+uint(uint16(x>>32)))%TableSize]
		d[3] = values[(off+uint(x>>48))%TableSize]
	}
	for ; i < len(dst); i++ {
		dst[i] = values[(off+uint(binary.LittleEndian.Uint16(lanes[2*i:])))%TableSize]
	}
}

// plainNears moves the decimals of m by the running sums in s.
func plainNears(dst []float64, m []int64, s *Scratch, cur int64, power float64) {
	cur -= laneBias
	lanes := s.lanes[:2*len(dst)]
	m = m[:len(dst)]
	for len(dst) >= 4 && len(m) >= 4 && len(lanes) >= 8 {
		d, q, x := (*[4]float64)(dst), (*[4]int64)(m), binary.LittleEndian.Uint64(lanes)
		d[0] = math.Float64frombits(math.Float64bits(float64(q[0])/power) + uint64(cur) + uint64(uint16(x)))
		d[1] = math.Float64frombits(math.Float64bits(float64(q[1])/power) + uint64(cur) + uint64(uint16(x>>16)))
		d[2] = math.Float64frombits(math.Float64bits(float64(q[2])/power) + uint64(cur) + uint64(uint16(x>>32)))
		d[3] = math.Float64frombits(math.Float64bits(float64(q[3])/power) + uint64(cur) + x>>48)
		dst, m, lanes = dst[4:], m[4:], lanes[8:]
	}
	for i := range dst {
		u := uint64(cur) + uint64(binary.LittleEndian.Uint16(lanes[2*i:]))
		dst[i] = math.Float64frombits(math.Float64bits(float64(m[i])/power) + u)
	}
}
