package influx

import (
	"fmt"
	"strings"
)

const (
	// maxNamedLines is how many bad lines an answer names; the rest is counted.
	maxNamedLines = 100
	// maxLineText and maxCulpritText are how much of a line and of a token an
	// answer quotes.
	maxLineText    = 120
	maxCulpritText = 40
)

// badLines collects the lines of a request which were not stored. The zero value
// is empty.
type badLines struct {
	named []badLine
	count int
}

// badLine says which line is bad and why.
type badLine struct {
	number int // of its first line of text, from 1
	text   string
	reason string
}

// add counts a bad line. The text is that of the line, possibly with what
// follows behind a newline; nothing of the arguments is kept.
func (b *badLines) add(number int, text []byte, reason string, culprit []byte) {
	b.count++
	if len(b.named) >= maxNamedLines {
		return
	}
	if len(culprit) > 0 {
		reason += fmt.Sprintf(" %q", shorten(culprit, maxCulpritText))
	}
	b.named = append(b.named, badLine{
		number: number,
		text:   strings.ToValidUTF8(shorten(firstLine(text), maxLineText), "\ufffd"),
		reason: reason,
	})
}

// message is what the answer says, in the words of InfluxDB's partial write.
func (b *badLines) message() string {
	var m strings.Builder
	m.WriteString("partial write: ")
	for _, l := range b.named {
		fmt.Fprintf(&m, "line %d: unable to parse '%s': %s; ", l.number, l.text, l.reason)
	}
	if more := b.count - len(b.named); more > 0 {
		fmt.Fprintf(&m, "and %d more; ", more)
	}
	fmt.Fprintf(&m, "dropped=%d", b.count)
	return m.String()
}

func firstLine(text []byte) []byte {
	for i, c := range text {
		if c == '\n' || i == maxLineText+1 {
			return text[:i]
		}
	}
	return text
}

func shorten(text []byte, n int) string {
	if len(text) <= n {
		return string(text)
	}
	return string(text[:n]) + "..."
}
