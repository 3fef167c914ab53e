package influx

import (
	"math"
	"strconv"
	"unsafe"
)

// maxExactPower is the largest power of ten which a float64 holds exactly.
const maxExactPower = 22

// powersOfTen are exact. It is never written.
var powersOfTen = [maxExactPower + 1]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// parseValue returns the value of a whole field text which is no string: the
// nearest float64 of a float or an integer, 1 or 0 for a boolean. It reports
// false for what the grammar refuses, which includes infinities and NaN.
func parseValue(text []byte) (float64, bool) {
	if v, n := parsePlain(text); n == len(text) && n > 0 {
		return v, true
	}
	return parseExact(text)
}

// parsePlain reads a decimal float, or an integer with its suffix, from the
// start of b and returns how many bytes it took. It takes none when the number
// is not of the plain kind: mantissa below 2^53 and a power of ten up to 22,
// where one multiplication or division is correctly rounded.
func parsePlain(b []byte) (v float64, n int) {
	i := 0
	neg := false
	if len(b) > 0 && b[0] == '-' {
		neg = true
		i = 1
	}
	first := i
	var m uint64
	for i < len(b) && b[i]-'0' <= 9 {
		m = m*10 + uint64(b[i]-'0')
		i++
	}
	digits := i - first
	if i < len(b) && (b[i] == 'i' || b[i] == 'u') {
		return plainInteger(m, neg, digits, i, b[i] == 'u')
	}
	power := 0
	if i < len(b) && b[i] == '.' {
		i++
		point := i
		for i < len(b) && b[i]-'0' <= 9 {
			m = m*10 + uint64(b[i]-'0')
			i++
		}
		power = point - i
		digits -= power
	}
	if digits == 0 || digits > 19 || m >= 1<<53 {
		return 0, 0
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		var e int
		if e, i = plainExponent(b, i+1); i == 0 {
			return 0, 0
		}
		power += e
	}
	if i < len(b) && classOf[b[i]]&endsValue == 0 {
		return 0, 0
	}
	switch v = float64(m); {
	case power == 0:
	case power < 0 && power >= -maxExactPower:
		v /= powersOfTen[-power]
	case power > 0 && power <= maxExactPower:
		v *= powersOfTen[power]
	default:
		return 0, 0
	}
	if neg {
		v = -v
	}
	return v, i
}

// plainInteger finishes parsePlain at the suffix of an integer at b[i].
func plainInteger(m uint64, neg bool, digits, i int, unsigned bool) (float64, int) {
	if digits == 0 || digits > 18 || neg && unsigned {
		return 0, 0
	}
	v := int64(m)
	if neg {
		v = -v
	}
	return float64(v), i + 1
}

// plainExponent reads up to three digits of an exponent at b[i] and returns the
// index behind them, 0 when there is no such exponent.
func plainExponent(b []byte, i int) (e, end int) {
	neg := false
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		neg = b[i] == '-'
		i++
	}
	first := i
	for i < len(b) && b[i]-'0' <= 9 && i-first < 3 {
		e = e*10 + int(b[i]-'0')
		i++
	}
	if i == first {
		return 0, 0
	}
	if neg {
		e = -e
	}
	return e, i
}

// parseExact is the slow twin of parsePlain for all values but strings.
func parseExact(text []byte) (float64, bool) {
	if len(text) == 0 {
		return 0, false
	}
	switch c := text[0]; {
	case c == 't' || c == 'T' || c == 'f' || c == 'F':
		return parseBool(text)
	case c == '-' || c == '.' || c >= '0' && c <= '9':
	default:
		return 0, false
	}
	body := unsafeString(text[:len(text)-1])
	switch text[len(text)-1] {
	case 'i':
		v, err := strconv.ParseInt(body, 10, 64)
		return float64(v), err == nil
	case 'u':
		v, err := strconv.ParseUint(body, 10, 64)
		return float64(v), err == nil
	}
	if !isDecimal(text) {
		return 0, false
	}
	v, err := strconv.ParseFloat(unsafeString(text), 64)
	return v, err == nil
}

// isDecimal keeps out what strconv takes and the grammar does not: hexadecimal
// digits, underscores, infinities and NaN.
func isDecimal(text []byte) bool {
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
		default:
			return false
		}
	}
	return true
}

func parseBool(text []byte) (float64, bool) {
	switch string(text) {
	case "t", "T", "true", "True", "TRUE":
		return 1, true
	case "f", "F", "false", "False", "FALSE":
		return 0, true
	}
	return 0, false
}

// maxTimeDigits is the length of the largest time, leading zeros aside.
const maxTimeDigits = 19

// parseTime returns the integer that text spells in decimal.
func parseTime(text []byte) (int64, bool) {
	if len(text) == 0 || len(text) > maxTimeDigits || text[0] == '-' {
		v, err := strconv.ParseInt(unsafeString(text), 10, 64)
		return v, err == nil
	}
	var v uint64
	for _, c := range text {
		if c -= '0'; c > 9 {
			return 0, false
		}
		v = v*10 + uint64(c)
	}
	return int64(v), v <= math.MaxInt64
}

// unsafeString views b as a string, which lives as long as b is not written.
func unsafeString(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}
