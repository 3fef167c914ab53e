package vmhttp

import (
	"math"
	"strconv"
)

// AppendNumber appends a value: without exponent, negative zero as 0. Whole numbers
// below 2^63 have all their digits, others the fewest that tell them apart.
func AppendNumber(dst []byte, f float64) []byte {
	if f >= math.MinInt64 && f < math.MaxInt64 {
		if n := int64(f); float64(n) == f {
			return strconv.AppendInt(dst, n, 10)
		}
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

// AppendSeconds appends milliseconds as seconds, without zeros at the end: 1.001,
// 1.01, 2.
func AppendSeconds(dst []byte, ms int64) []byte {
	rest := ms % 1000
	if ms < 0 {
		rest = -rest
		if ms > -1000 {
			dst = append(dst, '-')
		}
	}
	dst = strconv.AppendInt(dst, ms/1000, 10)
	if rest == 0 {
		return dst
	}
	dst = append(dst, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// AppendString appends a JSON string. Beside what JSON asks for, < and ' are escaped;
// bytes that are no UTF-8 are left as they are.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '\'' {
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, c)
		start = i + 1
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// AppendPoint appends a time and a value as [seconds,"value"].
func AppendPoint(dst []byte, ms int64, f float64) []byte {
	dst = AppendSeconds(append(dst, '['), ms)
	dst = AppendNumber(append(dst, ',', '"'), f)
	return append(dst, '"', ']')
}
