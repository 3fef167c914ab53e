package importer

import (
	"fmt"
	"net/http"
	"strings"
)

// maxNamedLines bounds the bad lines an answer names; the others are counted.
const maxNamedLines = 100

// maxQuotedBytes bounds the text of a bad line in an answer.
const maxQuotedBytes = 200

// RequestError is the client's mistake: an argument or a body that cannot be
// read. Lines before a broken end of a body were stored.
type RequestError struct {
	Status int // HTTP status, 400 or 415
	Err    error
}

func (e *RequestError) Error() string { return e.Err.Error() }
func (e *RequestError) Unwrap() error { return e.Err }

// StatusCode returns the HTTP status the error is worth.
func (e *RequestError) StatusCode() int { return e.Status }

func badRequest(format string, args ...any) error {
	return &RequestError{Status: http.StatusBadRequest, Err: fmt.Errorf(format, args...)}
}

// BadLine is a line that was not stored, or not wholly.
type BadLine struct {
	Number int // from 1
	Text   string
	Reason string
}

// BadLinesError names the bad lines of a body whose good lines were stored.
type BadLinesError struct {
	Lines []BadLine // the first ones
	Count int       // all of them
}

// StatusCode returns 400.
func (e *BadLinesError) StatusCode() int { return http.StatusBadRequest }

func (e *BadLinesError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d bad lines, the others were stored", e.Count)
	if e.Count == 1 {
		b.Reset()
		b.WriteString("1 bad line, the others were stored")
	}
	for _, l := range e.Lines {
		fmt.Fprintf(&b, "\nline %d: %s: %q", l.Number, l.Reason, l.Text)
	}
	if more := e.Count - len(e.Lines); more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

func (e *BadLinesError) add(number int, line []byte, reason string) {
	e.Count++
	if len(e.Lines) == maxNamedLines {
		return
	}
	text := string(line[:min(len(line), maxQuotedBytes)])
	if len(line) > maxQuotedBytes {
		text += "..."
	}
	e.Lines = append(e.Lines, BadLine{Number: number, Text: text, Reason: reason})
}
