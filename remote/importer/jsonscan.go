package importer

import (
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// maxJSONDepth bounds the nesting of members that are skipped.
const maxJSONDepth = 64

// jsonScanner walks one JSON text. Its error sticks: after it, all methods do
// nothing and return nothing. Strings alias the text or buf.
type jsonScanner struct {
	src []byte
	pos int
	buf []byte
	err error
}

func (s *jsonScanner) reset(src []byte) { s.src, s.pos, s.buf, s.err = src, 0, s.buf[:0], nil }

func (s *jsonScanner) fail(reason string) {
	if s.err == nil {
		s.err = fmt.Errorf("%s, at byte %d", reason, s.pos)
	}
}

// peek skips white space and returns the next byte, 0 at the end or after an
// error.
func (s *jsonScanner) peek() byte {
	for s.err == nil && s.pos < len(s.src) {
		switch c := s.src[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

func (s *jsonScanner) atEnd() bool { return s.peek() == 0 && s.pos == len(s.src) }

// accept removes c if it comes next.
func (s *jsonScanner) accept(c byte) bool {
	if s.peek() != c || c == 0 {
		return false
	}
	s.pos++
	return true
}

func (s *jsonScanner) expect(c byte) {
	if !s.accept(c) {
		s.fail(fmt.Sprintf("%q expected", c))
	}
}

// object calls f for each member; f has to take the value.
func (s *jsonScanner) object(f func(key string)) {
	s.expect('{')
	if s.accept('}') {
		return
	}
	for s.err == nil {
		s.peek()
		key := s.text()
		s.expect(':')
		f(key)
		if s.accept('}') {
			return
		}
		s.expect(',')
	}
}

// array calls f for each element; f has to take it.
func (s *jsonScanner) array(f func()) {
	s.expect('[')
	if s.accept(']') {
		return
	}
	for s.err == nil {
		f()
		if s.accept(']') {
			return
		}
		s.expect(',')
	}
}

func (s *jsonScanner) literal(want string) {
	s.peek()
	if s.err != nil {
		return
	}
	if end := s.pos + len(want); end > len(s.src) || string(s.src[s.pos:end]) != want {
		s.fail("not a value")
		return
	}
	s.pos += len(want)
}

// number returns the text of a number.
func (s *jsonScanner) number() string {
	s.peek()
	if s.err != nil {
		return ""
	}
	start := s.pos
	if s.pos < len(s.src) && s.src[s.pos] == '-' {
		s.pos++
	}
	if s.pos < len(s.src) && s.src[s.pos] == '0' {
		s.pos++
	} else {
		s.digits()
	}
	if s.pos < len(s.src) && s.src[s.pos] == '.' {
		s.pos++
		s.digits()
	}
	if s.pos < len(s.src) && s.src[s.pos]|0x20 == 'e' {
		s.pos++
		if s.pos < len(s.src) && (s.src[s.pos] == '+' || s.src[s.pos] == '-') {
			s.pos++
		}
		s.digits()
	}
	if s.err != nil {
		return ""
	}
	return view(s.src[start:s.pos])
}

// digits takes one digit or more.
func (s *jsonScanner) digits() {
	start := s.pos
	for s.pos < len(s.src) && s.src[s.pos]-'0' <= 9 {
		s.pos++
	}
	if s.pos == start {
		s.fail("a number expected")
	}
}

// text returns a string.
func (s *jsonScanner) text() string {
	s.expect('"')
	if s.err != nil {
		return ""
	}
	for i := s.pos; i < len(s.src); i++ {
		switch c := s.src[i]; {
		case c == '"':
			out := view(s.src[s.pos:i])
			s.pos = i + 1
			return out
		case c == '\\':
			return s.escapedText()
		case c < 0x20:
			s.pos = i
			s.fail("a control character in a string")
			return ""
		}
	}
	s.fail("a string is not closed")
	return ""
}

// escapedText is text for a string with escapes, into buf.
func (s *jsonScanner) escapedText() string {
	start := len(s.buf)
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		s.pos++
		switch {
		case c == '"':
			return view(s.buf[start:])
		case c < 0x20:
			s.fail("a control character in a string")
			return ""
		case c != '\\':
			s.buf = append(s.buf, c)
		default:
			s.escape()
		}
	}
	s.fail("a string is not closed")
	return ""
}

func (s *jsonScanner) escape() {
	if s.pos == len(s.src) {
		return // not closed
	}
	c := s.src[s.pos]
	s.pos++
	switch c {
	case '"', '\\', '/':
		s.buf = append(s.buf, c)
	case 'b':
		s.buf = append(s.buf, '\b')
	case 'f':
		s.buf = append(s.buf, '\f')
	case 'n':
		s.buf = append(s.buf, '\n')
	case 'r':
		s.buf = append(s.buf, '\r')
	case 't':
		s.buf = append(s.buf, '\t')
	case 'u':
		s.unicodeEscape()
	default:
		s.fail("an unknown escape")
	}
}

func (s *jsonScanner) unicodeEscape() {
	r, err := s.hex4()
	if err == nil && utf16.IsSurrogate(r) {
		var low rune
		if s.pos+2 <= len(s.src) && string(s.src[s.pos:s.pos+2]) == `\u` {
			s.pos += 2
			low, err = s.hex4()
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			err = errors.New("half a surrogate pair")
		}
	}
	if err != nil {
		s.fail(err.Error())
		return
	}
	s.buf = utf8.AppendRune(s.buf, r)
}

func (s *jsonScanner) hex4() (rune, error) {
	errHex := errors.New(`\u needs four hex digits`)
	if s.pos+4 > len(s.src) {
		return 0, errHex
	}
	var r rune
	for _, c := range s.src[s.pos : s.pos+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, errHex
		}
	}
	s.pos += 4
	return r, nil
}

// skip takes any value.
func (s *jsonScanner) skip() { s.skipNested(0) }

func (s *jsonScanner) skipNested(depth int) {
	if depth > maxJSONDepth {
		s.fail("nested too deeply")
		return
	}
	switch s.peek() {
	case '{':
		s.object(func(string) { s.skipNested(depth + 1) })
	case '[':
		s.array(func() { s.skipNested(depth + 1) })
	case '"':
		s.text()
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}
