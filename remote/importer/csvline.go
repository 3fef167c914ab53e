package importer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// csvLine reads lines of a table by a format.
type csvLine struct {
	format  *csvFormat
	labels  []labels.Label
	samples []csvSample
	time    int64 // 0: none

	fields csvFields
}

// csvSample is a value of a line; NaN is one to be skipped.
type csvSample struct {
	metric string
	value  float64
}

// csvCellError is that of a cell that is no number or time, as those of a header
// are.
type csvCellError struct {
	position int
	err      error
}

func (e *csvCellError) Error() string { return fmt.Sprintf("column %d: %s", e.position, e.err) }
func (e *csvCellError) Unwrap() error { return e.err }

// parse reads one line. Labels and samples are valid until the next call and
// alias the line. An empty cell is none: a line may have no samples.
func (p *csvLine) parse(line []byte) error {
	p.labels, p.samples, p.time = p.labels[:0], p.samples[:0], 0
	p.fields.reset(view(line))
	columns, position := p.format.columns, 0
	for p.fields.next() {
		position++
		if len(columns) == 0 || columns[0].position != position {
			continue
		}
		if cell := p.fields.field; cell != "" {
			if err := p.cell(&columns[0], cell); err != nil {
				return &csvCellError{position, err}
			}
		}
		columns = columns[1:]
	}
	if p.fields.err != nil {
		return fmt.Errorf("column %d: %w", position+1, p.fields.err)
	}
	if len(columns) > 0 {
		return fmt.Errorf("it has %d columns, the format needs %d", position, p.format.width())
	}
	return nil
}

func (p *csvLine) cell(c *csvColumn, cell string) (err error) {
	switch c.kind {
	case csvLabel:
		p.labels = append(p.labels, labels.Label{Name: c.name, Value: cell})
	case csvTime:
		p.time, err = c.millis(cell)
	case csvMetric:
		var v float64
		v, err = parseTextValue(cell)
		p.samples = append(p.samples, csvSample{c.name, v})
	}
	return err
}

// repeatedBytes is the size of the labels if each sample is written with all of
// them, and with extra.
func (p *csvLine) repeatedBytes(extra []labels.Label) int {
	size := 0
	for _, set := range [...][]labels.Label{p.labels, extra} {
		for _, l := range set {
			size += len(l.Name) + len(l.Value)
		}
	}
	return size * len(p.samples)
}

// shrink lets go of what a huge line or format has grown.
func (p *csvLine) shrink() {
	const keep = 1 << 12
	p.format = nil
	p.fields.reset("")
	clear(p.labels[:cap(p.labels)])
	clear(p.samples[:cap(p.samples)])
	if cap(p.labels) > keep {
		p.labels = nil
	}
	if cap(p.samples) > keep {
		p.samples = nil
	}
	if cap(p.fields.buf) > 1<<16 {
		p.fields.buf = nil
	}
}

// csvFields takes a line apart at its commas. A field that begins with a double
// or single quote ends with the same, which stands for itself when it is
// doubled; commas in between are text. Quotes elsewhere are text too.
type csvFields struct {
	field string // of the last next
	err   error

	rest string
	last bool
	buf  []byte // fields with doubled quotes
}

func (f *csvFields) reset(line string) {
	*f = csvFields{rest: line, buf: f.buf[:0]}
}

// next reads a field. It is false at the end of the line and after an error. A
// line has one field more than commas, a last one perhaps empty.
func (f *csvFields) next() bool {
	if f.last || f.err != nil {
		return false
	}
	if f.rest == "" || f.rest[0] != '"' && f.rest[0] != '\'' {
		var more bool
		f.field, f.rest, more = strings.Cut(f.rest, ",")
		f.last = !more
		return true
	}
	f.err = f.quoted()
	switch {
	case f.err != nil:
	case f.rest == "":
		f.last = true
	case f.rest[0] == ',':
		f.rest = f.rest[1:]
	default:
		f.err = fmt.Errorf("%q after a closing quote, want a comma", f.rest[:1])
	}
	return f.err == nil
}

// quoted reads a quoted field up to what follows its closing quote.
func (f *csvFields) quoted() error {
	quote, s, start := f.rest[0], f.rest[1:], len(f.buf)
	for {
		i := strings.IndexByte(s, quote)
		if i < 0 {
			return errors.New("a quoted text is not closed on its line")
		}
		doubled := i+1 < len(s) && s[i+1] == quote
		if !doubled {
			f.rest = s[i+1:]
			if len(f.buf) == start {
				f.field = s[:i]
				return nil
			}
			f.buf = append(f.buf, s[:i]...)
			f.field = view(f.buf[start:])
			return nil
		}
		f.buf = append(f.buf, s[:i+1]...)
		s = s[i+2:]
	}
}
