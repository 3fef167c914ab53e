package codec

// Codec is how residuals are turned into bytes. Numbers are part of the format.
type Codec uint8

// The residual codecs.
const (
	Zero  Codec = 0
	Pack  Codec = 1
	Huff  Codec = 2
	Class Codec = 3
)

func (c Codec) String() string {
	return [...]string{"zero", "pack", "huff", "class"}[c&3]
}

// maxShift bounds the low bits that Huff sends raw, so that one window holds
// them.
const maxShift = 56

// Params are how a column of integers is coded, the same for all its streams.
//
// The residual of a number is its difference of Order from those before it,
// less Centre. A stream of n numbers has n - Order residuals: with order 1 and
// 2 its first number, with order 2 also the difference to the second, are kept
// by the caller.
type Params struct {
	Codec  Codec
	Order  uint8 // 0 to 2
	Table  uint8 // Huff and Class
	Shift  uint8 // Huff: low bits sent raw; Class: origin of the bit lengths
	Centre int64
}

// Valid tells whether p can be decoded.
func (p *Params) Valid() bool {
	if p.Order > 2 || p.Codec > Class {
		return false
	}
	switch p.Codec {
	case Huff:
		return validTable(p.Table) && p.Shift <= maxShift
	case Class:
		return validTable(p.Table) && p.Shift <= 64
	}
	return p.Table == 0 && p.Shift == 0
}

// Prefix tells whether Decode can stop before the end of a stream.
func (p *Params) Prefix() bool { return p.Codec != Class }

// Decode fills dst, which is not empty, with the numbers a stream of total
// numbers begins with: all of them, or, if p.Prefix says so, fewer. start is the
// first of them and slope the second less the first, where the order asks for
// them. src begins with the stream and may go on behind it. With exact set and
// all numbers asked for, used is the length of the stream; without, a stream may
// claim a few bits more and ok says less. p must be valid. What s holds does not
// matter.
func Decode[T Lane](dst []T, total int, p *Params, start, slope T, src []byte, exact bool, s *Scratch) (used int, ok bool) {
	rest := dst
	total -= int(p.Order)
	if p.Order > 0 {
		dst[0] = start
		rest = dst[1:]
	}
	if p.Order == 2 && len(rest) > 0 {
		dst[1] = start + slope
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return 0, true
	}
	var end uint
	centre := T(p.Centre)
	switch p.Codec {
	case Zero:
		for i := range rest {
			rest[i] = centre
		}
	case Pack:
		if used, ok = unpacked(rest, total, src); !ok {
			return 0, false
		}
		if centre != 0 {
			add(rest, centre)
		}
		end = uint(used) * 8
	case Class:
		if end, ok = classes(rest, src, int(p.Shift), tables[p.Table](), centre, s); !ok {
			return 0, false
		}
	case Huff:
		return huffman(rest, total, p, start, slope, src, exact, s)
	}
	switch p.Order {
	case 1:
		integrate(rest, start)
	case 2:
		integrate2(rest, start+slope, slope)
	}
	return int(end+7) / 8, end <= uint(len(src))*8
}

func add[T Lane](r []T, x T) {
	for i := range r {
		r[i] += x
	}
}

// integrate makes running sums from acc on.
func integrate[T Lane](r []T, acc T) {
	for i, x := range r {
		acc += x
		r[i] = acc
	}
}

// integrate2 makes running sums of running sums.
func integrate2[T Lane](r []T, acc, slope T) {
	for i, x := range r {
		slope += x
		acc += slope
		r[i] = acc
	}
}

// plain tells whether the numbers of streams are nothing but running sums of
// symbols.
func (p *Params) plain() bool {
	return p.Codec == Huff && p.Order == 1 && p.Shift == 0 && p.Centre == 0
}

// DecimalTable has the decimals of TableSize mantissas from Low on: looking one
// up takes less than dividing.
type DecimalTable struct {
	Low    int64
	values [TableSize]float64
}

// TableSize is the number of decimals in a DecimalTable.
const TableSize = 1024

// Fill makes t the table of the first n <= TableSize mantissas from low on.
func (t *DecimalTable) Fill(low int64, n int, scale uint8) {
	t.Low = low
	for i := range t.values[:n] {
		t.values[i] = Decimal(low+int64(i), scale)
	}
}

// Tens says what decimals numbers stand for: Decimal(Base + Divisor*q, Scale).
type Tens struct {
	Divisor, Base int64
	Scale         uint8
	Small         bool          // no mantissa is 2^53 - Divisor from zero, or further
	Table         *DecimalTable // of all that the stream holds, or nil
}

// Joint tells whether DecodeDecimals and DecodeDecimals2 can be called: in one
// pass over the code and one over what it yields they make doubles of the
// commonest streams. For others there are Decode and Decimals. Numbers that are
// not Small, of damaged streams, yield others.
func (p *Params) Joint(tens *Tens) bool {
	return p.Codec == Huff && p.Order == 1 && tens.Small && (p.plain() && tens.Divisor == 1 || p.Shift > 0 && p.Shift <= maxJoin)
}

// DecodeDecimals is Decode, of any number of the total, to doubles.
func DecodeDecimals(dst []float64, total int, p *Params, start int64, src []byte, tens *Tens, s *Scratch) bool {
	return decimalsFrom(dst, 0, uint(p.Shift)*uint(total-1), total, p, start, src, tens, s)
}

// DecodeDecimals2 is DecodeDecimals for two streams of as many numbers, which
// takes less than one after the other. s1 and s2 are different.
func DecodeDecimals2(dst1, dst2 []float64, p *Params, start1, start2 int64, src1, src2 []byte, tens *Tens, s1, s2 *Scratch) bool {
	n := len(dst1)
	pos := uint(p.Shift) * uint(n-1)
	var at1, at2 uint
	pos1, pos2 := pos, pos
	if n > 1 && n <= laneRun {
		at1, pos1, at2, pos2 = run2(s1, s2, n-1, src1, src2, pos, pos, tables[p.Table]())
	}
	return decimalsFrom(dst1, at1, pos1, n, p, start1, src1, tens, s1) && decimalsFrom(dst2, at2, pos2, n, p, start2, src2, tens, s2)
}

// decimalsFrom is DecodeDecimals with the symbols before byte at of the lanes
// there already and pos behind them.
func decimalsFrom(dst []float64, at, pos uint, total int, p *Params, start int64, src []byte, tens *Tens, s *Scratch) bool {
	t := tables[p.Table]()
	if p.Shift == 0 {
		return plainStream(dst, at, pos, t, start, src, tens, s)
	}
	if uint(p.Shift)*uint(total-1) > uint(len(src))*8 {
		return false
	}
	j, low, cur := newJoint(p, tens), uint(0), start
	dst[0] = tens.value(cur)
	for dst = dst[1:]; len(dst) > 0; at = 0 {
		n := min(len(dst), laneRun)
		var got int
		if got, pos = s.run(at, n, src, pos, t, n < len(dst)); got > 0 {
			cur = j.decimals(dst[:got], s, cur, src, low)
			low += j.shift * uint(got)
			dst = dst[got:]
		}
		if got == n {
			continue
		}
		a, b, end, ok := oneWord(src, pos, t)
		if !ok {
			return false
		}
		pos = end
		pair := [2]int64{a, b}
		for _, symbol := range pair[:min(t.width, len(dst))] {
			cur += j.step + symbol<<(j.shift&31) + int64(window(src, low)&maskOf(j.shift))
			low += j.shift
			dst[0] = tens.value(cur)
			dst = dst[1:]
		}
	}
	return true
}

// plainStream is decimalsFrom for plain streams without a divisor.
func plainStream(dst []float64, at, pos uint, t *table, start int64, src []byte, tens *Tens, s *Scratch) bool {
	dst[0] = tens.value(start)
	for dst = dst[1:]; len(dst) > 0; at = 0 {
		n := min(len(dst), laneRun)
		var got int
		if got, pos = s.run(at, n, src, pos, t, n < len(dst)); got > 0 {
			plainDecimals(dst[:got], s, start, tens)
			start += int64(s.lane(got - 1))
			dst = dst[got:]
		}
		if got == n {
			continue
		}
		a, b, end, ok := oneWord(src, pos, t)
		if !ok {
			return false
		}
		pos = end
		start += a
		dst[0] = tens.value(start)
		if dst = dst[1:]; t.width == 2 && len(dst) > 0 {
			start += b
			dst[0] = tens.value(start)
			dst = dst[1:]
		}
	}
	return true
}

func (t *Tens) value(q int64) float64 { return Decimal(t.Base+t.Divisor*q, t.Scale) }

// DecodeNears decodes a stream of ulps and fills dst with the decimals of m moved
// by them; ulps is room for as many.
func DecodeNears(dst []float64, m, ulps []int64, total int, p *Params, start int64, scale uint8, src []byte, s *Scratch) bool {
	if p.plain() && len(dst) > 1 && len(dst) <= laneRun {
		var got int
		if got, _ = s.run(0, len(dst)-1, src, 0, tables[p.Table](), false); got == len(dst)-1 {
			plainNears(dst[1:], m[1:], s, start, pow10[scale])
			ulps[0] = start
			Nears(dst[:1], m, ulps, scale)
			return true
		}
	}
	if _, ok := Decode(ulps[:len(dst)], total, p, start, 0, src, false, s); !ok {
		return false
	}
	Nears(dst, m, ulps, scale)
	return true
}
