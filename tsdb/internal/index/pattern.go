package index

import (
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
)

// shape of what a regular expression accepts; the more special, the cheaper.
type patternKind int

const (
	patternTest   patternKind = iota // ask the matcher, among the values with the prefix
	patternNone                      // the empty value at most
	patternList                      // the values listed
	patternSome                      // all values but the empty one, at least
	patternPrefix                    // prefix, then anything
	patternLonger                    // prefix, then something
)

// pattern says which values a matcher without its negation accepts.
type pattern struct {
	kind   patternKind
	list   []string
	prefix string
}

// analyse finds out what a matcher accepts without looking at a value. What it
// does not understand is left to the matcher: case folding above all, for which
// no prefix of bytes is right.
func analyse(m *labels.Matcher) pattern {
	if m.Type == labels.MatchEqual || m.Type == labels.MatchNotEqual {
		return pattern{kind: patternList, list: []string{m.Value}}
	}
	switch m.Value {
	case "":
		return pattern{kind: patternNone}
	case ".*", ".+":
		return pattern{kind: patternSome}
	}
	if list := m.SetMatches(); len(list) > 0 {
		return pattern{kind: patternList, list: list}
	}
	prefix := m.Prefix()
	if rest, ok := strings.CutPrefix(m.Value, prefix); ok && prefix != "" && plain(prefix) {
		switch rest { // the usual ones need no parsing
		case ".*":
			return pattern{kind: patternPrefix, prefix: prefix}
		case ".+":
			return pattern{kind: patternLonger, prefix: prefix}
		}
	}
	re, err := syntax.Parse(m.Value, syntax.Perl|syntax.DotNL)
	if err != nil { // it was parsed before
		return pattern{prefix: prefix}
	}
	return structure(re.Simplify(), prefix)
}

// plain says whether no byte of s means anything in a regular expression.
func plain(s string) bool {
	return !strings.ContainsAny(s, `\.+*?()|[]{}^$`) && utf8.ValidString(s) && !strings.ContainsRune(s, utf8.RuneError)
}

// structure recognises a literal followed by .* or .+, or either alone, under
// any number of groups and anchors that change nothing.
func structure(re *syntax.Regexp, prefix string) pattern {
	var literal strings.Builder
	tail := patternNone
	var walk func(re *syntax.Regexp, first, last bool) bool
	walk = func(re *syntax.Regexp, first, last bool) bool {
		switch re.Op {
		case syntax.OpCapture:
			return walk(re.Sub[0], first, last)
		case syntax.OpConcat:
			for i, sub := range re.Sub {
				if !walk(sub, first && i == 0, last && i == len(re.Sub)-1) {
					return false
				}
			}
			return true
		case syntax.OpEmptyMatch:
			return true
		case syntax.OpBeginText:
			return first
		case syntax.OpEndText:
			return last
		case syntax.OpLiteral:
			if tail != patternNone || re.Flags&syntax.FoldCase != 0 {
				return false
			}
			for _, r := range re.Rune {
				if r == utf8.RuneError {
					return false
				}
				literal.WriteRune(r)
			}
			return true
		case syntax.OpStar, syntax.OpPlus:
			if re.Sub[0].Op != syntax.OpAnyChar {
				return false
			}
			if re.Op == syntax.OpPlus && tail == patternLonger {
				return false // two characters at least
			}
			if re.Op == syntax.OpPlus {
				tail = patternLonger
			} else {
				tail = max(tail, patternPrefix)
			}
			return true
		}
		return false
	}
	switch {
	case !walk(re, true, true):
		return pattern{prefix: prefix}
	case tail == patternNone && literal.Len() == 0:
		return pattern{kind: patternNone}
	case tail == patternNone:
		return pattern{kind: patternList, list: []string{literal.String()}}
	case literal.Len() == 0:
		return pattern{kind: patternSome}
	}
	return pattern{kind: tail, prefix: literal.String()}
}

// fewValues are scanned without a thought.
const fewValues = 32

// cheap says whether p is resolved without a scan of the dictionary of l, or that
// is short.
func (p *pattern) cheap(l label) bool {
	if l.values() <= fewValues {
		return true
	}
	if p.kind == patternPrefix || p.kind == patternLonger {
		return l.sorted()
	}
	return p.kind != patternTest
}

// resolve returns the ordinals of l from after+1 on that p accepts, asking m
// where it must.
func (p *pattern) resolve(l label, m *labels.Matcher, after uint32) *valueSet {
	upto := l.values()
	switch p.kind {
	case patternNone:
		return emptyValues(upto)
	case patternSome:
		return rangeOfValues(after+1, upto, upto)
	case patternList:
		var found []uint32
		for _, value := range p.list {
			if o := l.find(value); o > after && o <= upto {
				found = append(found, o)
			}
		}
		vs := newValueSet(found, upto)
		vs.series = l.series(vs)
		return vs
	}
	lo, hi := l.prefixed(p.prefix)
	lo, hi = max(lo, after+1), min(hi, upto)
	if l.sorted() && p.kind != patternTest {
		if p.kind == patternLonger && lo <= hi && l.value(lo) == p.prefix {
			lo++
		}
		vs := rangeOfValues(lo, hi, upto)
		vs.series = l.series(vs)
		return vs
	}
	var found []uint32
	series := 0
	accepts := p.accepts(m)
	l.scan(lo, hi, func(o uint32, value string, n int) {
		if accepts(value) {
			found = append(found, o)
			series += n
		}
	})
	vs := newValueSet(found, upto)
	vs.series = series
	return vs
}

// accepts returns the test of a single value that is not empty, m without its
// negation.
func (p *pattern) accepts(m *labels.Matcher) func(string) bool {
	prefix := p.prefix
	switch p.kind {
	case patternPrefix:
		return func(value string) bool { return strings.HasPrefix(value, prefix) }
	case patternLonger:
		return func(value string) bool { return len(value) > len(prefix) && strings.HasPrefix(value, prefix) }
	}
	if negative(m) {
		return func(value string) bool { return !m.Matches(value) }
	}
	return m.Matches
}

func negative(m *labels.Matcher) bool {
	return m.Type == labels.MatchNotEqual || m.Type == labels.MatchNotRegexp
}
