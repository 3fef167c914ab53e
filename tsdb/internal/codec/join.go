package codec

import "encoding/binary"

// joint joins running sums of symbols with low parts to doubles. A number is the
// sum of the symbols shifted, that of the low parts, and a step for each.
type joint struct {
	shift         uint
	step, rest    int64 // rest is what all sums count from
	divisor, base int64
	scale         uint8
}

func newJoint(p *Params, tens *Tens) joint {
	return joint{shift: uint(p.Shift), step: p.Centre, divisor: tens.Divisor, base: tens.Base, scale: tens.Scale}
}

// byteJoin is the most low bits that eight numbers can have in one window. Eight
// numbers have whole bytes of them.
const byteJoin = 7

// decimals makes doubles of the running sums in s and the low parts from bit pos
// of src on; cur is the number before and what it returns the last one.
func (j *joint) decimals(dst []float64, s *Scratch, cur int64, src []byte, pos uint) int64 {
	lanes, done := s.lanes[:2*len(dst)], 0
	j.rest = cur - laneBias<<(j.shift&31)
	if pos&7 == 0 && j.shift <= byteJoin && pos>>3 <= uint(len(src)) {
		switch from := src[pos>>3:]; {
		case j.scale == 0 && j.divisor == 1:
			done = j.wholes(dst, lanes, from)
		case j.scale == 0:
			done = j.multiples(dst, lanes, from)
		case j.divisor == 1:
			done = j.tens(dst, lanes, from, pow10[j.scale])
		}
	}
	pos += uint(done) * j.shift
	mask, power, rest := maskOf(j.shift), pow10[j.scale], j.rest
	for i := done; i < len(dst); i++ {
		rest += j.step + int64(window(src, pos)&mask)
		dst[i] = float64((int64(binary.LittleEndian.Uint16(lanes[2*i:]))<<(j.shift&31)+rest)*j.divisor+j.base) / power
		pos += j.shift
	}
	return int64(binary.LittleEndian.Uint16(lanes[2*len(dst)-2:]))<<(j.shift&31) + rest
}

// wholes makes integers, eight at a time, and returns how many.
func (j *joint) wholes(dst []float64, lanes, src []byte) (done int) {
	mask, shift, step, cur, n := maskOf(j.shift), j.shift&7, j.step, j.rest, len(dst)
	for len(dst) >= 8 && len(lanes) >= 16 && len(src) >= 8 {
		x, l, d := binary.LittleEndian.Uint64(src), (*[16]byte)(lanes), (*[8]float64)(dst)
		cur += step + int64(x&mask)
		d[0] = float64(int64(binary.LittleEndian.Uint16(l[0:]))<<shift + cur)
		x >>= shift
		cur += step + int64(x&mask)
		d[1] = float64(int64(binary.LittleEndian.Uint16(l[2:]))<<shift + cur)
		x >>= shift
		cur += step + int64(x&mask)
		d[2] = float64(int64(binary.LittleEndian.Uint16(l[4:]))<<shift + cur)
		x >>= shift
		cur += step + int64(x&mask)
		d[3] = float64(int64(binary.LittleEndian.Uint16(l[6:]))<<shift + cur)
		x >>= shift
		cur += step + int64(x&mask)
		d[4] = float64(int64(binary.LittleEndian.Uint16(l[8:]))<<shift + cur)
		x >>= shift
		cur += step + int64(x&mask)
		d[5] = float64(int64(binary.LittleEndian.Uint16(l[10:]))<<shift + cur)
		x >>= shift
		cur += step + int64(x&mask)
		d[6] = float64(int64(binary.LittleEndian.Uint16(l[12:]))<<shift + cur)
		x >>= shift
		cur += step + int64(x&mask)
		d[7] = float64(int64(binary.LittleEndian.Uint16(l[14:]))<<shift + cur)
		dst, lanes, src = dst[8:], lanes[16:], src[shift:]
	}
	j.rest = cur
	return n - len(dst)
}

// multiples is wholes with a divisor: small numbers are exact as doubles, too.
func (j *joint) multiples(dst []float64, lanes, src []byte) (done int) {
	mask, shift, step, cur, n := maskOf(j.shift), j.shift&7, j.step, j.rest, len(dst)
	divisor, base := float64(j.divisor), float64(j.base)
	for len(dst) >= 8 && len(lanes) >= 16 && len(src) >= 8 {
		x, l, d := binary.LittleEndian.Uint64(src), (*[16]byte)(lanes), (*[8]float64)(dst)
		cur += step + int64(x&mask)
		d[0] = float64(int64(binary.LittleEndian.Uint16(l[0:]))<<shift+cur)*divisor + base
		x >>= shift
		cur += step + int64(x&mask)
		d[1] = float64(int64(binary.LittleEndian.Uint16(l[2:]))<<shift+cur)*divisor + base
		x >>= shift
		cur += step + int64(x&mask)
		d[2] = float64(int64(binary.LittleEndian.Uint16(l[4:]))<<shift+cur)*divisor + base
		x >>= shift
		cur += step + int64(x&mask)
		d[3] = float64(int64(binary.LittleEndian.Uint16(l[6:]))<<shift+cur)*divisor + base
		x >>= shift
		cur += step + int64(x&mask)
		d[4] = float64(int64(binary.LittleEndian.Uint16(l[8:]))<<shift+cur)*divisor + base
		x >>= shift
		cur += step + int64(x&mask)
		d[5] = float64(int64(binary.LittleEndian.Uint16(l[10:]))<<shift+cur)*divisor + base
		x >>= shift
		cur += step + int64(x&mask)
		d[6] = float64(int64(binary.LittleEndian.Uint16(l[12:]))<<shift+cur)*divisor + base
		x >>= shift
		cur += step + int64(x&mask)
		d[7] = float64(int64(binary.LittleEndian.Uint16(l[14:]))<<shift+cur)*divisor + base
		dst, lanes, src = dst[8:], lanes[16:], src[shift:]
	}
	j.rest = cur
	return n - len(dst)
}

// tens is wholes with a scale.
func (j *joint) tens(dst []float64, lanes, src []byte, power float64) (done int) {
	mask, shift, step, cur, n := maskOf(j.shift), j.shift&7, j.step, j.rest, len(dst)
	for len(dst) >= 8 && len(lanes) >= 16 && len(src) >= 8 {
		x, l, d := binary.LittleEndian.Uint64(src), (*[16]byte)(lanes), (*[8]float64)(dst)
		cur += step + int64(x&mask)
		d[0] = float64(int64(binary.LittleEndian.Uint16(l[0:]))<<shift+cur) / power
		x >>= shift
		cur += step + int64(x&mask)
		d[1] = float64(int64(binary.LittleEndian.Uint16(l[2:]))<<shift+cur) / power
		x >>= shift
		cur += step + int64(x&mask)
		d[2] = float64(int64(binary.LittleEndian.Uint16(l[4:]))<<shift+cur) / power
		x >>= shift
		cur += step + int64(x&mask)
		d[3] = float64(int64(binary.LittleEndian.Uint16(l[6:]))<<shift+cur) / power
		x >>= shift
		cur += step + int64(x&mask)
		d[4] = float64(int64(binary.LittleEndian.Uint16(l[8:]))<<shift+cur) / power
		x >>= shift
		cur += step + int64(x&mask)
		d[5] = float64(int64(binary.LittleEndian.Uint16(l[10:]))<<shift+cur) / power
		x >>= shift
		cur += step + int64(x&mask)
		d[6] = float64(int64(binary.LittleEndian.Uint16(l[12:]))<<shift+cur) / power
		x >>= shift
		cur += step + int64(x&mask)
		d[7] = float64(int64(binary.LittleEndian.Uint16(l[14:]))<<shift+cur) / power
		dst, lanes, src = dst[8:], lanes[16:], src[shift:]
	}
	j.rest = cur
	return n - len(dst)
}

// joinBytes is joinSums for eight numbers at a time: it returns how many and what
// the sums count from behind them.
func joinBytes[T Lane](dst []T, lanes, src []byte, shift uint, centre, cur T) (done int, rest T) {
	mask, n := maskOf(shift), len(dst)
	shift &= 7
	for len(dst) >= 8 && len(lanes) >= 16 && len(src) >= 8 {
		x, l, d := binary.LittleEndian.Uint64(src), (*[16]byte)(lanes), (*[8]T)(dst)
		cur += centre + T(x&mask)
		d[0] = T(binary.LittleEndian.Uint16(l[0:]))<<shift + cur
		x >>= shift
		cur += centre + T(x&mask)
		d[1] = T(binary.LittleEndian.Uint16(l[2:]))<<shift + cur
		x >>= shift
		cur += centre + T(x&mask)
		d[2] = T(binary.LittleEndian.Uint16(l[4:]))<<shift + cur
		x >>= shift
		cur += centre + T(x&mask)
		d[3] = T(binary.LittleEndian.Uint16(l[6:]))<<shift + cur
		x >>= shift
		cur += centre + T(x&mask)
		d[4] = T(binary.LittleEndian.Uint16(l[8:]))<<shift + cur
		x >>= shift
		cur += centre + T(x&mask)
		d[5] = T(binary.LittleEndian.Uint16(l[10:]))<<shift + cur
		x >>= shift
		cur += centre + T(x&mask)
		d[6] = T(binary.LittleEndian.Uint16(l[12:]))<<shift + cur
		x >>= shift
		cur += centre + T(x&mask)
		d[7] = T(binary.LittleEndian.Uint16(l[14:]))<<shift + cur
		dst, lanes, src = dst[8:], lanes[16:], src[shift:]
	}
	return n - len(dst), cur
}
