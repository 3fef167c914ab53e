package influx

import "bytes"

// fastLine takes a line, without its newline, whose row is known and whose
// fields stand in the known order, and sets samples and millis. Their series need
// not be live still. It reports false, having done nothing else, for anything out
// of the ordinary; then scanner.next has the say. It accepts only what
// scanner.next accepts, with the same result.
func (s *session) fastLine(line []byte) bool {
	// A space is escaped if and only if a backslash stands right before it.
	space := bytes.IndexByte(line, ' ')
	if space <= 0 || line[space-1] == '\\' {
		return false
	}
	row := s.cache.find(s.ctx, s.ctxHash, line[:space])
	if row == nil {
		return false
	}
	set := row.set.Load()
	s.set = set
	samples := s.samples[:0]
	rest := line[space+1:]
	for i, key := range set.shape.keys {
		// A known key ends with the equals sign where the scanner found the key's
		// end; the same bytes mean the same key.
		if len(rest) < len(key) || string(rest[:len(key)]) != key {
			return false
		}
		rest = rest[len(key):]
		value, n, isString := plainField(rest)
		if n == 0 {
			return false
		}
		if !isString {
			series := set.series[i]
			if series == 0 {
				return false
			}
			samples = append(samples, sample{series, value})
		}
		rest = rest[n:]
		if len(rest) == 0 || rest[0] != ',' {
			s.samples = samples
			return s.fastTime(rest)
		}
		rest = rest[1:]
	}
	return false
}

// plainField takes a number, a boolean or a simple string from the start of b
// and returns its length, 0 when it is not as simple as that.
func plainField(b []byte) (value float64, n int, isString bool) {
	if value, n = parsePlain(b); n > 0 {
		return value, n, false
	}
	if len(b) == 0 {
		return 0, 0, false
	}
	if b[0] == '"' {
		return 0, plainString(b), true
	}
	for n < len(b) && classOf[b[n]]&endsValue == 0 {
		n++
	}
	value, ok := parseExact(b[:n])
	if !ok {
		return 0, 0, false
	}
	return value, n, false
}

// plainString returns the length of a quoted string of ASCII without a
// backslash, 0 for any other.
func plainString(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\' || c >= 0x80:
			return 0
		}
	}
	return 0
}

// fastTime takes what follows the fields: nothing, or a time of plain digits.
func (s *session) fastTime(rest []byte) bool {
	if n := len(rest); n > 0 && rest[n-1] == '\r' {
		rest = rest[:n-1]
	}
	if len(rest) == 0 {
		s.millis = s.now
		return true
	}
	text := rest[1:]
	if rest[0] != ' ' || len(text) == 0 {
		return false
	}
	if string(text) == string(s.lastTime) {
		s.millis = s.lastMs
		return true
	}
	if text[0] == '-' || len(text) > maxTimeDigits {
		return false
	}
	t, ok := parseTime(text)
	if !ok {
		return false
	}
	if s.millis, ok = s.unit.millis(t, s.now); !ok {
		return false
	}
	s.lastTime, s.lastMs = text, s.millis
	return true
}
