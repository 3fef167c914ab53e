package transform

import (
	"regexp"
	"strings"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

const (
	tagBytes  = 32      // of a label beside its value
	someBytes = 1 << 16 // is asked for at once
	labelWork = 1 << 10 // how many values could be looked at while a label is made
)

// room asks for bytes of labels that are about to be made, for one series after
// another: many small ones are asked for at once. Now and then it asks whether to go on.
func (c *call) room(bytes int) error {
	if c.Pace.Over(labelWork + max(0, bytes)) {
		return c.Pace.Err()
	}
	c.owed += int64(bytes)
	if c.owed > -someBytes && c.owed < someBytes {
		return nil
	}
	return c.settle()
}

// settle asks for what room has put off.
func (c *call) settle() error {
	owed := c.owed
	c.owed = 0
	if owed == 0 || c.HoldText == nil {
		return nil
	}
	return c.HoldText(owed)
}

// label gives a label a value, of which so many bytes are new; an empty one takes it
// away.
func (c *call) label(s *series.Series, key, value string, made int) error {
	before := len(s.Name.Tags)
	put(&s.Name, key, value)
	return c.room(made + tagBytes*max(0, len(s.Name.Tags)-before))
}

// replaced returns re.ReplaceAllString(value, to). Results that may be long are asked
// for as long as they may be.
func (c *call) replaced(re *regexp.Regexp, value, to string) (out string, made int, err error) {
	most := len(value) + (len(value)+1)*len(to) + strings.Count(to, "$")*len(value)
	if most < someBytes {
		out = re.ReplaceAllString(value, to)
		return out, len(out), nil
	}
	matches, matched := 0, 0
	for _, at := range re.FindAllStringIndex(value, -1) {
		matches++
		matched += at[1] - at[0]
	}
	most = len(value) + matches*len(to) + strings.Count(to, "$")*matched
	if err := c.room(most); err != nil {
		return "", 0, err
	}
	out = re.ReplaceAllString(value, to)
	return out, len(out) - most, nil
}
