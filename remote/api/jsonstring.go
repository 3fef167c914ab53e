package api

import (
	"slices"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendPlainString appends a JSON string as Prometheus writes label names and
// values: only quotes, backslashes and control characters are escaped.
func appendPlainString(dst []byte, s string) []byte {
	if !isPlain(s) {
		return appendEscaped(dst, s)
	}
	n := len(dst)
	dst = slices.Grow(dst, len(s)+2)[:n+len(s)+2]
	dst[n] = '"'
	copy(dst[n+1:], s)
	dst[len(dst)-1] = '"'
	return dst
}

// appendEscaped is appendPlainString for any string.
func appendEscaped(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			start = i + 1
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// isPlain tells that nothing in s is escaped. It looks at eight bytes at a time;
// the last eight may overlap those before.
//
// A byte is below n if taking n from it borrows from its highest bit, which was not
// set; it is equal to c if it is below 1 after an exclusive or with c. Only a byte
// behind one that is found can be taken for one as well.
func isPlain(s string) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := len(s)
	if n < 8 {
		for i := 0; i < n; i++ {
			if c := s[i]; c < ' ' || c == '"' || c == '\\' {
				return false
			}
		}
		return true
	}
	found := uint64(0)
	for i := 0; ; i += 8 {
		i = min(i, n-8)
		x := load8(s[i:])
		quote, slash := x^'"'*ones, x^'\\'*ones
		found |= (x-' '*ones)&^x | (quote-ones)&^quote | (slash-ones)&^slash
		if i == n-8 {
			return found&highs == 0
		}
	}
}

// load8 returns the first eight bytes of s; the compiler makes one load of it.
func load8(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// appendString appends a JSON string as Prometheus writes everything else:
// also <, >, &, U+2028 and U+2029 are escaped, and what is no UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < ' ' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
				dst = append(dst, s[start:i]...)
				dst = appendEscape(dst, c)
				start = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		escaped := ""
		switch {
		case r == utf8.RuneError && size == 1:
			escaped = `\ufffd`
		case r == '\u2028':
			escaped = `\u2028`
		case r == '\u2029':
			escaped = `\u2029`
		}
		if escaped != "" {
			dst = append(dst, s[start:i]...)
			dst = append(dst, escaped...)
			start = i + size
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// appendStrings appends an array of strings.
func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, s)
	}
	return append(dst, ']')
}
