package influx

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Character classes of the grammar, one bit for each kind of token that the
// character ends.
const (
	endsMeasurement = 1 << iota // comma, space and controls
	endsKey                     // comma, equals, space and controls
	endsTagValue                // comma, equals, space, CR and LF: other controls are fine
	endsValue                   // comma, space, CR and LF: numbers and booleans
	endsString                  // quote
	endsComment                 // controls
	backslash                   // looks at the next character
)

// classOf holds the classes of each byte. It is never written.
var classOf = makeClasses()

func makeClasses() (c [256]uint8) {
	for i := range 32 {
		c[i] = endsMeasurement | endsKey | endsComment
	}
	c[0x7f] = endsMeasurement | endsKey | endsComment
	c[','] = endsMeasurement | endsKey | endsTagValue | endsValue
	c[' '] = endsMeasurement | endsKey | endsTagValue | endsValue
	c['\r'] |= endsTagValue | endsValue
	c['\n'] |= endsTagValue | endsValue
	c['='] = endsKey | endsTagValue
	c['"'] = endsString
	c['\\'] = backslash
	return c
}

// kind says what a field value is.
type kind uint8

const (
	kindNumber kind = iota // a float, an integer or a boolean, as a float64
	kindString             // text, which is skipped
)

// field is one field of a line. Its key is as written, with its escapes and
// with the equals sign behind it, and it aliases the scanned bytes.
type field struct {
	key   []byte
	kind  kind
	value float64
}

// tag is one tag of a line, as written. It aliases the scanned bytes.
type tag struct{ key, value []byte }

// point is one line taken apart. All slices alias the scanned bytes.
type point struct {
	key     []byte // measurement and tags as written
	name    []byte // the measurement, as written
	tags    []tag
	fields  []field
	time    int64 // as written
	hasTime bool
}

// scanner takes line protocol apart by the plain grammar. It is the slow and
// exact twin of session.fastLine.
//
// The scanned bytes end with a newline, so that no token but a string runs over
// their end.
type scanner struct {
	b      []byte
	pos    int
	pt     point
	sorted []tag // of repeatedOfMany

	reason  string // why the last line is bad
	culprit []byte // the token it is about; may be nil
}

// result of scanner.next.
type result uint8

const (
	resultPoint result = iota // pt is filled
	resultEmpty               // a comment or a blank line
	resultBad                 // reason and culprit say why; pos stands where the scan stopped
	resultOpen                // a string is not closed within the bytes
)

// next scans the line at pos and moves pos behind it. After resultBad pos is
// somewhere inside the line, after resultOpen it is undefined.
func (s *scanner) next() result {
	s.spaces()
	switch s.b[s.pos] {
	case '\n':
		s.pos++
		return resultEmpty
	case '\r':
		if s.endOfLine() {
			return resultEmpty
		}
	case '#':
		return s.comment()
	}
	if !s.measurement() || !s.tags() {
		return resultBad
	}
	return s.fieldsAndTime()
}

func (s *scanner) comment() result {
	for classOf[s.b[s.pos]]&endsComment == 0 {
		s.pos++
	}
	if s.endOfLine() {
		return resultEmpty
	}
	return s.bad("control character in a comment", s.b[s.pos:s.pos+1])
}

func (s *scanner) measurement() bool {
	name, ok := s.token(endsMeasurement)
	if !ok {
		return false
	}
	if len(name) == 0 {
		return s.fail("no measurement where the line starts with", s.b[s.pos:s.pos+1])
	}
	s.pt.name = name
	return true
}

// tags scans the tags and the spaces behind them.
func (s *scanner) tags() bool {
	start := s.pos - len(s.pt.name)
	s.pt.tags = s.pt.tags[:0]
	for s.b[s.pos] == ',' {
		s.pos++
		key, ok := s.token(endsKey)
		if !ok {
			return false
		}
		if len(key) == 0 {
			return s.fail("no tag name after a comma", nil)
		}
		if s.b[s.pos] != '=' {
			return s.fail("no equals sign after tag", key)
		}
		s.pos++
		value, ok := s.token(endsTagValue)
		if !ok {
			return false
		}
		if len(value) == 0 {
			return s.fail("no value for tag", key)
		}
		s.pt.tags = append(s.pt.tags, tag{key, value})
	}
	s.pt.key = s.b[start:s.pos]
	if twice := s.repeatedTag(); twice != nil {
		return s.fail("a second value for tag", twice)
	}
	if s.b[s.pos] == ' ' {
		s.spaces()
		return true
	}
	if s.b[s.pos] == '\n' || s.b[s.pos] == '\r' {
		return s.fail("no fields", nil)
	}
	return s.fail("unexpected character after measurement and tags", s.b[s.pos:s.pos+1])
}

// repeatedTag returns a tag name that the line has twice, nil if there is none.
func (s *scanner) repeatedTag() []byte {
	tags := s.pt.tags
	if len(tags) > fewTags {
		return s.repeatedOfMany()
	}
	for i := range tags {
		for j := range i {
			if bytes.Equal(tags[i].key, tags[j].key) {
				return tags[i].key
			}
		}
	}
	return nil
}

// Up to so many tags are compared each with each.
const fewTags = 16

func (s *scanner) repeatedOfMany() []byte {
	s.sorted = append(s.sorted[:0], s.pt.tags...)
	slices.SortFunc(s.sorted, func(a, b tag) int { return bytes.Compare(a.key, b.key) })
	for i := 1; i < len(s.sorted); i++ {
		if bytes.Equal(s.sorted[i-1].key, s.sorted[i].key) {
			return s.sorted[i].key
		}
	}
	return nil
}

func (s *scanner) fieldsAndTime() result {
	s.pt.fields = s.pt.fields[:0]
	s.pt.hasTime, s.pt.time = false, 0
	for {
		if r := s.field(); r != resultPoint {
			return r
		}
		if s.b[s.pos] != ',' {
			break
		}
		s.pos++
	}
	if c := s.b[s.pos]; c != ' ' && c != '\r' && c != '\n' {
		return s.bad("unexpected character after a field", s.b[s.pos:s.pos+1])
	}
	s.spaces()
	if s.endOfLine() {
		return resultPoint
	}
	return s.time()
}

func (s *scanner) field() result {
	start := s.pos
	key, ok := s.token(endsKey)
	if !ok {
		return resultBad
	}
	if len(key) == 0 {
		return s.bad("no field name", nil)
	}
	if s.b[s.pos] != '=' {
		return s.bad("no equals sign after field", key)
	}
	s.pos++
	f := field{key: s.b[start:s.pos]}
	if s.b[s.pos] == '"' {
		f.kind = kindString
		if r := s.stringValue(key); r != resultPoint {
			return r
		}
	} else {
		start := s.pos
		for classOf[s.b[s.pos]]&endsValue == 0 {
			s.pos++
		}
		text := s.b[start:s.pos]
		if f.value, ok = parseValue(text); !ok {
			return s.badValue(key, text)
		}
	}
	s.pt.fields = append(s.pt.fields, f)
	return resultPoint
}

func (s *scanner) badValue(key, text []byte) result {
	if len(text) == 0 {
		return s.bad("no value for field", key)
	}
	return s.bad("neither a number, a boolean nor a quoted string", text)
}

// stringValue scans a quoted string, which may hold newlines.
func (s *scanner) stringValue(key []byte) result {
	s.pos++
	start := s.pos
	for s.pos < len(s.b) {
		switch c := s.b[s.pos]; {
		case c == '"':
			if !utf8.Valid(s.b[start:s.pos]) {
				s.pos++
				return s.bad("invalid UTF-8 in string field", key)
			}
			s.pos++
			return resultPoint
		case c == '\\' && s.pos+1 < len(s.b) && (s.b[s.pos+1] == '"' || s.b[s.pos+1] == '\\'):
			s.pos += 2
		default:
			s.pos++
		}
	}
	s.reason, s.culprit = "no closing quote for string field", key
	return resultOpen
}

func (s *scanner) time() result {
	start := s.pos
	for c := s.b[s.pos]; c == '-' || c >= '0' && c <= '9'; c = s.b[s.pos] {
		s.pos++
	}
	text := s.b[start:s.pos]
	if c := s.b[s.pos]; len(text) == 0 || c != ' ' && c != '\r' && c != '\n' {
		for c := s.b[s.pos]; c != '\r' && c != '\n'; c = s.b[s.pos] {
			s.pos++
		}
		return s.bad("time is not an integer", s.b[start:s.pos])
	}
	s.spaces()
	if !s.endOfLine() {
		return s.bad("unexpected text after the time", nil)
	}
	var ok bool
	if s.pt.time, ok = parseTime(text); !ok {
		// The line is over: a bad line is looked for from its own newline on.
		s.pos--
		return s.bad("time is not an integer of 64 bits", text)
	}
	s.pt.hasTime = true
	return resultPoint
}

// token takes characters up to the first one of the class end which is not
// escaped. It reports false, with the reason, for invalid UTF-8.
func (s *scanner) token(end uint8) ([]byte, bool) {
	start := s.pos
	var high byte
	i := start
	for {
		c := s.b[i]
		class := classOf[c]
		if class&(end|backslash) == 0 {
			high |= c
			i++
			continue
		}
		if class&backslash == 0 {
			break
		}
		i++
		if n := s.b[i]; n == ' ' || n == ',' || n == '=' && end != endsMeasurement {
			i++
		}
	}
	s.pos = i
	tok := s.b[start:i]
	if high >= utf8.RuneSelf && !utf8.Valid(tok) {
		return nil, s.fail("invalid UTF-8", tok)
	}
	return tok, true
}

func (s *scanner) spaces() {
	for s.b[s.pos] == ' ' {
		s.pos++
	}
}

// endOfLine takes a newline, or a carriage return and a newline.
func (s *scanner) endOfLine() bool {
	if s.b[s.pos] == '\n' {
		s.pos++
		return true
	}
	if bytes.HasPrefix(s.b[s.pos:], crlf) {
		s.pos += len(crlf)
		return true
	}
	return false
}

// crlf is never written.
var crlf = []byte("\r\n")

func (s *scanner) bad(reason string, culprit []byte) result {
	s.reason, s.culprit = reason, culprit
	return resultBad
}

func (s *scanner) fail(reason string, culprit []byte) bool {
	s.bad(reason, culprit)
	return false
}
