package importer

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unsafe"
)

var (
	errNumber = errors.New("is not a number")
	errRange  = errors.New("is beyond the range of a float64")
)

// view returns b as a string that aliases it.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// parseFloat reads a decimal number, correctly rounded. It knows no other forms
// than digits, point, exponent and sign.
func parseFloat(s string) (float64, error) {
	if v, ok := parseSmallInt(s); ok {
		return v, nil
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c == '.', c == 'e', c == 'E', c == '+', c == '-':
		default:
			return 0, errNumber
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, errRange
	}
	if err != nil {
		return 0, errNumber
	}
	return v, nil
}

// parseSmallInt reads an integer of at most 15 digits, which a float64 holds
// exactly.
func parseSmallInt(s string) (v float64, ok bool) {
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 15 {
		return 0, false
	}
	n := int64(0)
	for i := range len(s) {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	if negative {
		return math.Copysign(float64(n), -1), true
	}
	return float64(n), true
}

// parseTextValue reads the value of a text line: a number, or an infinity or NaN
// as Prometheus writes them, in any case.
func parseTextValue(s string) (float64, error) {
	switch v, err := parseFloat(s); {
	case err == nil:
		return v, nil
	case errors.Is(err, errRange):
		return 0, fmt.Errorf("value %q %w", s, err)
	}
	body := s
	if len(body) > 0 && (body[0] == '+' || body[0] == '-') {
		body = body[1:]
	}
	if equalFold(body, "inf") || equalFold(body, "infinity") || equalFold(s, "nan") {
		v, err := strconv.ParseFloat(s, 64)
		if err == nil {
			return v, nil
		}
	}
	return 0, fmt.Errorf("value %q %w", s, errNumber)
}

// equalFold compares ASCII letters; lower must be lower case.
func equalFold(s, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := range len(s) {
		if s[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

// parseTextTime reads the time of a text line: seconds when its size is below
// 2^31, else milliseconds.
func parseTextTime(s string) (ms int64, err error) {
	const secondsBelow = 1 << 31
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if -secondsBelow <= n && n < secondsBelow {
			n *= 1000
		}
		return n, nil
	}
	v, err := parseFloat(s)
	if err != nil {
		return 0, fmt.Errorf("time %q %w", s, err)
	}
	if -secondsBelow <= v && v < secondsBelow {
		v = math.Round(v * 1000)
	}
	if v < -1<<62 || v > 1<<62 {
		return 0, fmt.Errorf("time %q is out of range", s)
	}
	return int64(v), nil
}
