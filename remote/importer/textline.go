package importer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// textLine reads lines of Prometheus' text format:
//
//	name {label="value",...} value time
//	{"name",label="value",...} value time
//
// Blanks and tabs separate, and # begins a comment behind the labels. In a line
// with a brace all before the first is the name, blanks too: a comment with
// braces, such as an exemplar, needs braces behind its metric's name.
type textLine struct {
	labels *labelSet
	value  float64
	time   int64 // 0: none

	rest string
	buf  []byte // unescaped values of the line
}

// parse reads one line. ok is false for comments and empty lines. The labels
// alias the line until the next call.
func (p *textLine) parse(line []byte) (ok bool, err error) {
	p.labels.reset()
	p.buf = p.buf[:0]
	p.rest = view(line)
	p.skipBlanks()
	if p.rest == "" || p.rest[0] == '#' {
		return false, nil
	}
	name, behind, braced := strings.Cut(p.rest, "{")
	if braced {
		name, p.rest = strings.TrimRight(name, " \t"), behind
		if err := p.parseLabels(&name); err != nil {
			return false, err
		}
	} else {
		name = p.take(isBlank)
	}
	if name == "" {
		return false, errors.New("the metric has no name")
	}
	p.labels.add(labels.MetricName, name)
	return true, p.parseSample()
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func (p *textLine) skipBlanks() {
	i := 0
	for i < len(p.rest) && isBlank(p.rest[i]) {
		i++
	}
	p.rest = p.rest[i:]
}

// take removes and returns what comes before the first byte that ends it.
func (p *textLine) take(isEnd func(byte) bool) string {
	i := 0
	for i < len(p.rest) && !isEnd(p.rest[i]) {
		i++
	}
	s := p.rest[:i]
	p.rest = p.rest[i:]
	return s
}

// parseLabels reads labels up to the closing brace. A quoted text without a
// value is the name of the metric.
func (p *textLine) parseLabels(name *string) error {
	for {
		p.skipBlanks()
		if p.rest == "" {
			return errors.New("the labels have no closing brace")
		}
		if p.rest[0] == '}' {
			p.rest = p.rest[1:]
			return nil
		}
		if err := p.parseLabel(name); err != nil {
			return err
		}
		p.skipBlanks()
		if strings.HasPrefix(p.rest, ",") {
			p.rest = p.rest[1:]
		} else if !strings.HasPrefix(p.rest, "}") {
			return errors.New("a comma or closing brace is missing after a label")
		}
	}
}

func (p *textLine) parseLabel(name *string) error {
	var key string
	var err error
	quoted := p.rest[0] == '"'
	if quoted {
		if key, err = p.parseQuoted(); err != nil {
			return err
		}
	} else {
		key = p.take(func(c byte) bool { return isBlank(c) || c == '=' || c == ',' || c == '}' || c == '"' })
	}
	p.skipBlanks()
	if !strings.HasPrefix(p.rest, "=") {
		if quoted && *name == "" {
			*name = key
			return nil
		}
		return fmt.Errorf("label %q has no value", key)
	}
	p.rest = p.rest[1:]
	p.skipBlanks()
	if !strings.HasPrefix(p.rest, `"`) {
		return fmt.Errorf("the value of label %q is not in double quotes", key)
	}
	value, err := p.parseQuoted()
	if err != nil {
		return err
	}
	switch key {
	case "":
		return errors.New("a label has no name")
	case labels.MetricName:
		return errors.New("the metric's name belongs before the braces, not into label __name__")
	}
	p.labels.add(key, value)
	return nil
}

// parseQuoted reads a text in double quotes with the escapes \\, \" and \n; a
// backslash before anything else stands for itself.
func (p *textLine) parseQuoted() (string, error) {
	s := p.rest[1:]
	end := strings.IndexAny(s, `"\`)
	if end >= 0 && s[end] == '"' {
		p.rest = s[end+1:]
		return s[:end], nil
	}
	start := len(p.buf)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			p.rest = s[i+1:]
			return view(p.buf[start:]), nil
		case c == '\\' && i+1 < len(s) && (s[i+1] == '\\' || s[i+1] == '"'):
			i++
			c = s[i]
		case c == '\\' && i+1 < len(s) && s[i+1] == 'n':
			i++
			c = '\n'
		}
		p.buf = append(p.buf, c)
	}
	return "", errors.New("a quoted text is not closed")
}

// parseSample reads value and time up to a comment.
func (p *textLine) parseSample() (err error) {
	p.rest, _, _ = strings.Cut(p.rest, "#")
	p.skipBlanks()
	text := p.take(isBlank)
	if text == "" {
		return errors.New("the value is missing")
	}
	if p.value, err = parseTextValue(text); err != nil {
		return err
	}
	p.skipBlanks()
	p.time = 0
	if p.rest != "" {
		if p.time, err = parseTextTime(p.take(isBlank)); err != nil {
			return err
		}
	}
	p.skipBlanks()
	if p.rest != "" {
		return fmt.Errorf("%q after the time", p.rest)
	}
	return nil
}
