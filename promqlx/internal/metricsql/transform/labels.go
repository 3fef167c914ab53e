package transform

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// put gives a label a value; an empty one takes it away.
func put(n *series.Name, key, value string) {
	if value == "" {
		n.Remove(key)
		return
	}
	n.Set(key, value)
}

// labelKeys makes a function that takes labels away, by keys: those named or all others.
func labelKeys(take func(n *series.Name, keys []string)) function {
	return func(c *call) ([]*series.Series, error) {
		if err := c.wantSome(1); err != nil {
			return nil, err
		}
		keys, err := c.texts(1)
		if err != nil {
			return nil, err
		}
		for _, s := range c.Args[0] {
			take(&s.Name, keys)
		}
		return c.Args[0], nil
	}
}

func labelSet(c *call) ([]*series.Series, error) {
	if err := c.wantSome(1); err != nil {
		return nil, err
	}
	pairs, err := c.pairs(1)
	if err != nil {
		return nil, err
	}
	for _, s := range c.Args[0] {
		for _, p := range pairs {
			if err := c.label(s, p.key, p.value, 0); err != nil {
				return nil, err
			}
		}
	}
	return c.Args[0], nil
}

// labelCase makes a function that writes the values of labels in another way.
func labelCase(f func(string) string) function {
	return func(c *call) ([]*series.Series, error) {
		if err := c.wantSome(2); err != nil {
			return nil, err
		}
		keys, err := c.texts(1)
		if err != nil {
			return nil, err
		}
		for _, s := range c.Args[0] {
			for _, key := range keys {
				value := f(s.Name.Get(key))
				if err := c.label(s, key, value, len(value)); err != nil {
					return nil, err
				}
			}
		}
		return c.Args[0], nil
	}
}

// labelMap looks the value of a label up in pairs; the last of equal ones counts. One
// that is not found is kept.
func labelMap(c *call) ([]*series.Series, error) {
	if err := c.wantSome(2); err != nil {
		return nil, err
	}
	key, err := c.text(1)
	if err != nil {
		return nil, fmt.Errorf("cannot read label name: %w", err)
	}
	pairs, err := c.pairs(2)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(pairs))
	for _, p := range pairs {
		values[p.key] = p.value
	}
	for _, s := range c.Args[0] {
		value := s.Name.Get(key)
		if to, ok := values[value]; ok {
			value = to
		}
		if err := c.label(s, key, value, 0); err != nil {
			return nil, err
		}
	}
	return c.Args[0], nil
}

// labelCopy makes the function that copies values of labels to other labels, and, if
// move, takes the first ones away. A label that is not there is not copied.
func labelCopy(move bool) function {
	return func(c *call) ([]*series.Series, error) {
		if err := c.wantSome(1); err != nil {
			return nil, err
		}
		pairs, err := c.pairs(1)
		if err != nil {
			return nil, err
		}
		for _, s := range c.Args[0] {
			for _, p := range pairs {
				value := s.Name.Get(p.key)
				if value == "" {
					continue
				}
				if err := c.label(s, p.value, value, 0); err != nil {
					return nil, err
				}
				if move && p.key != p.value {
					s.Name.Remove(p.key)
				}
			}
		}
		return c.Args[0], nil
	}
}

func labelJoin(c *call) ([]*series.Series, error) {
	if err := c.wantSome(3); err != nil {
		return nil, err
	}
	texts, err := c.texts(1)
	if err != nil {
		return nil, err
	}
	dst, sep, keys := texts[0], texts[1], texts[2:]
	values := make([]string, len(keys))
	for _, s := range c.Args[0] {
		size := len(sep) * max(0, len(keys)-1)
		for i, key := range keys {
			values[i] = s.Name.Get(key)
			size += len(values[i])
		}
		if err := c.room(size); err != nil {
			return nil, err
		}
		if err := c.label(s, dst, strings.Join(values, sep), 0); err != nil {
			return nil, err
		}
	}
	return c.Args[0], nil
}

// labelTransform replaces every match in the value of a label.
func labelTransform(c *call) ([]*series.Series, error) {
	if err := c.want(4); err != nil {
		return nil, err
	}
	texts, err := c.texts(1)
	if err != nil {
		return nil, err
	}
	key, pattern, to := texts[0], texts[1], texts[2]
	re, err := mql.CompileRegexp(pattern)
	if err != nil {
		return nil, fmt.Errorf("cannot compile regex %q: %w", pattern, err)
	}
	return c.replace(key, re, key, to)
}

// labelReplace is PromQL's.
func labelReplace(c *call) ([]*series.Series, error) {
	if err := c.want(5); err != nil {
		return nil, err
	}
	texts, err := c.texts(1)
	if err != nil {
		return nil, err
	}
	dst, to, src, pattern := texts[0], texts[1], texts[2], texts[3]
	re, err := mql.CompileRegexpAnchored(pattern)
	if err != nil {
		return nil, fmt.Errorf("cannot compile regex %q: %w", pattern, err)
	}
	return c.replace(src, re, dst, to)
}

func (c *call) replace(src string, re *regexp.Regexp, dst, to string) ([]*series.Series, error) {
	for _, s := range c.Args[0] {
		value := s.Name.Get(src)
		if !re.MatchString(value) {
			if err := c.room(0); err != nil {
				return nil, err
			}
			continue
		}
		value, made, err := c.replaced(re, value, to)
		if err != nil {
			return nil, err
		}
		if err := c.label(s, dst, value, made); err != nil {
			return nil, err
		}
	}
	return c.Args[0], nil
}

// labelMatch makes the function that keeps series with a label whose value matches,
// or does not.
func labelMatch(want bool) function {
	return func(c *call) ([]*series.Series, error) {
		if err := c.want(3); err != nil {
			return nil, err
		}
		key, err := c.text(1)
		if err != nil {
			return nil, fmt.Errorf("cannot get label name: %w", err)
		}
		pattern, err := c.text(2)
		if err != nil {
			return nil, fmt.Errorf("cannot get regexp: %w", err)
		}
		re, err := mql.CompileRegexpAnchored(pattern)
		if err != nil {
			return nil, fmt.Errorf("cannot compile regexp %q: %w", pattern, err)
		}
		all := c.Args[0][:0]
		for _, s := range c.Args[0] {
			if re.MatchString(s.Name.Get(key)) == want {
				all = append(all, s)
			}
		}
		return all, nil
	}
}

func labelsEqual(c *call) ([]*series.Series, error) {
	if len(c.Args) < 3 {
		return nil, fmt.Errorf("unexpected number of args; got %d; want at least 3", len(c.Args))
	}
	keys, err := c.texts(1)
	if err != nil {
		return nil, fmt.Errorf("cannot get label name: %w", err)
	}
	all := c.Args[0][:0]
	for _, s := range c.Args[0] {
		if equalLabels(&s.Name, keys) {
			all = append(all, s)
		}
	}
	return all, nil
}

func equalLabels(n *series.Name, keys []string) bool {
	first := n.Get(keys[0])
	for _, key := range keys[1:] {
		if n.Get(key) != first {
			return false
		}
	}
	return true
}

// labelValue puts the number that a label's value is in place of every value.
func labelValue(c *call) ([]*series.Series, error) {
	if err := c.want(2); err != nil {
		return nil, err
	}
	key, err := c.text(1)
	if err != nil {
		return nil, fmt.Errorf("cannot get label name: %w", err)
	}
	for _, s := range c.Args[0] {
		s.Name.Group = ""
		number, err := strconv.ParseFloat(s.Name.Get(key), 64)
		if err != nil {
			number = math.NaN()
		}
		for i, v := range s.Values {
			if !math.IsNaN(v) {
				s.Values[i] = number
			}
		}
	}
	return c.Args[0], nil
}

// labelGraphiteGroup makes a name of parts of the metric's name between dots.
func labelGraphiteGroup(c *call) ([]*series.Series, error) {
	if len(c.Args) < 2 {
		return nil, fmt.Errorf("unexpected number of args: %d; want at least 2 args", len(c.Args))
	}
	var parts []int
	for i := 1; i < len(c.Args); i++ {
		part, err := c.integer(i)
		if err != nil {
			return nil, fmt.Errorf("cannot get group name from arg #%d: %w", i, err)
		}
		parts = append(parts, part)
	}
	for _, s := range c.Args[0] {
		if err := c.room(len(parts) * len(s.Name.Group)); err != nil {
			return nil, err
		}
		s.Name.Group = graphiteGroup(s.Name.Group, parts)
	}
	return c.Args[0], nil
}

// graphiteGroup writes the new name over the old one while it still reads from it, as
// VictoriaMetrics does: parts that come before ones already written are what was
// written there.
func graphiteGroup(group string, parts []int) string {
	old := []byte(group)
	groups := bytes.Split(old, []byte("."))
	name := old[:0]
	for i, part := range parts {
		if i > 0 {
			name = append(name, '.')
		}
		if part >= 0 && part < len(groups) {
			name = append(name, groups[part]...)
		}
	}
	return string(name)
}
