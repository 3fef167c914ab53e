package api

import (
	"math"
	"strconv"
)

// maxFloatBytes is more than a quoted float takes: a sign, up to 21 digits before
// the point or 23 after "0.".
const maxFloatBytes = 32

// appendFloat appends a quoted sample value: shortest decimal, with an exponent
// only below 1e-6 and from 1e21 on.
func appendFloat(dst []byte, f float64) []byte {
	dst = append(dst, '"')
	dst = appendDigits(dst, f)
	return append(dst, '"')
}

// appendDigits appends the number alone. Whole numbers and decimals of few digits
// are most of what is stored, and are written without looking for the shortest
// form: a decimal of at most 15 digits is the shortest form of the float that it
// is read as, because no other such decimal is read as the same one.
func appendDigits(dst []byte, f float64) []byte {
	abs := math.Abs(f)
	switch {
	case abs < 1<<53 && f == math.Trunc(f):
		if f == 0 && math.Signbit(f) {
			return append(dst, "-0"...)
		}
		return appendInt(dst, int64(f))
	case abs < 1e6 && abs >= 1e-6:
		if m := int64(abs*1e9 + 0.5); float64(m)/1e9 == abs {
			return appendDecimal(dst, f < 0, uint64(m)/1e9, uint32(uint64(m)%1e9))
		}
	case abs < 1e12 && abs >= 1e-6:
		if m := int64(abs*1e3 + 0.5); float64(m)/1e3 == abs {
			return appendDecimal(dst, f < 0, uint64(m)/1e3, uint32(uint64(m)%1e3)*1e6)
		}
	}
	if abs >= 1e-6 && abs < 1e21 {
		return appendShort(dst, f)
	}
	return appendShortest(dst, f)
}

// small tells whether a float is a whole number below 1000, and which.
func small(f float64) (k uint64, ok bool) {
	k = uint64(int64(f))
	return k, k < smallNumbers && math.Float64bits(float64(k)) == math.Float64bits(f)
}

const smallNumbers = 1000

// smallEnds are whole numbers as they end a point, `12"],`. The last byte is how long
// that is.
var smallEnds = func() (ends [smallNumbers][8]byte) {
	for k := range ends {
		end := append(appendUint(nil, uint64(k)), `"],`...)
		ends[k][7] = byte(copy(ends[k][:], end))
	}
	return ends
}()

// appendSmallEnd appends what ends a point of a number that is small, in room for eight
// bytes.
func appendSmallEnd(dst []byte, k uint64) []byte {
	n, end := len(dst), &smallEnds[k]
	dst = dst[:n+8]
	*(*[8]byte)(dst[n:]) = *end
	return dst[:n+int(end[7])]
}

// appendShortest is appendDigits for any float, and the slow obvious twin of its
// shortcuts.
func appendShortest(dst []byte, f float64) []byte {
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

// appendInt appends an integer.
func appendInt(dst []byte, v int64) []byte {
	if v < 0 {
		dst = append(dst, '-')
		v = -v
	}
	return appendUint(dst, uint64(v))
}

// appendUint appends an integer of at most 18 digits.
func appendUint(dst []byte, v uint64) []byte {
	if v < 100 {
		if v < 10 {
			return append(dst, '0'+byte(v))
		}
		return append(dst, pairs[2*v], pairs[2*v+1])
	}
	var text [20]byte
	return append(dst, text[writeUint(&text, v):]...)
}

// pairs are the numbers from 00 to 99.
const pairs = "00010203040506070809" + "10111213141516171819" + "20212223242526272829" + "30313233343536373839" + "40414243444546474849" +
	"50515253545556575859" + "60616263646566676869" + "70717273747576777879" + "80818283848586878889" + "90919293949596979899"

// appendDecimal appends whole and billionths, which are not 0, without zeros at
// the end.
func appendDecimal(dst []byte, negative bool, whole uint64, billionths uint32) []byte {
	if negative {
		dst = append(dst, '-')
	}
	dst = appendUint(dst, whole)
	a, b, c := billionths/1e6, billionths/1e3%1e3, billionths%1e3
	dst = append(dst, '.', '0'+byte(a/100), pairs[2*(a%100)], pairs[2*(a%100)+1])
	if b|c != 0 {
		dst = append(dst, '0'+byte(b/100), pairs[2*(b%100)], pairs[2*(b%100)+1])
		if c != 0 {
			dst = append(dst, '0'+byte(c/100), pairs[2*(c%100)], pairs[2*(c%100)+1])
		}
	}
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// appendTimestamp appends milliseconds as seconds: 1.001, 1.010, 2.
func appendTimestamp(dst []byte, t int64) []byte {
	ms := uint64(t)
	if t < 0 {
		dst = append(dst, '-')
		ms = -ms
	}
	dst = appendUint(dst, ms/1000)
	if f := ms % 1000; f != 0 {
		dst = append(dst, '.', byte('0'+f/100), byte('0'+f/10%10), byte('0'+f%10))
	}
	return dst
}
