package influx

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
)

// addedLabels are the labels which a request adds to each of its lines.
type addedLabels struct {
	db    string         // for lines without a tag db
	extra []labels.Label // by name, each once; an empty value removes the label
}

// parseAddedLabels reads the arguments db and extra_label.
func parseAddedLabels(args url.Values) (addedLabels, error) {
	a := addedLabels{db: args.Get("db")}
	if !utf8.ValidString(a.db) {
		return a, fmt.Errorf("argument db %q is not valid UTF-8", a.db)
	}
	for _, arg := range args["extra_label"] {
		name, value, ok := strings.Cut(arg, "=")
		switch {
		case !ok || name == "":
			return a, fmt.Errorf("argument extra_label %q is not name=value", arg)
		case name == labels.MetricName:
			return a, fmt.Errorf("argument extra_label %q would rename each series", arg)
		case !utf8.ValidString(arg):
			return a, fmt.Errorf("argument extra_label %q is not valid UTF-8", arg)
		}
		a.extra = append(a.extra, labels.Label{Name: name, Value: value})
	}
	a.extra = keepLast(a.extra)
	return a, nil
}

// key spells out the labels, unambiguously.
func (a addedLabels) key() string {
	if a.db == "" && len(a.extra) == 0 {
		return ""
	}
	b := fmt.Appendf(nil, "%d:%s", len(a.db), a.db)
	for _, l := range a.extra {
		b = fmt.Appendf(b, "%d:%s%d:%s", len(l.Name), l.Name, len(l.Value), l.Value)
	}
	return string(b)
}

// labeler makes the label sets of a line's series. The zero value is ready.
type labeler struct {
	builder labels.ScratchBuilder
	out     labels.Labels
	arena   []byte // unescaped text of the current line
	name    []byte // measurement and underscore, then the field
	nameLen int    // without the field
	tags    []labels.Label
}

// setLine takes measurement and tags of a line and the labels to add. It
// aliases pt until the next call.
func (l *labeler) setLine(pt *point, added addedLabels) {
	l.arena, l.tags = l.arena[:0], l.tags[:0]
	l.name = append(appendUnescaped(l.name[:0], pt.name), '_')
	l.nameLen = len(l.name)
	hasDB := false
	for _, t := range pt.tags {
		name := l.unescaped(t.key)
		if name == labels.MetricName {
			continue
		}
		hasDB = hasDB || name == "db"
		l.tags = append(l.tags, labels.Label{Name: name, Value: l.unescaped(t.value)})
	}
	if !hasDB && added.db != "" {
		l.tags = append(l.tags, labels.Label{Name: "db", Value: added.db})
	}
	l.tags = keepLast(append(l.tags, added.extra...))
}

// series returns the label set of a field, whose key is as written and ends with
// the equals sign. It is valid until the next call of a method.
func (l *labeler) series(key []byte) labels.Labels {
	l.name = appendUnescaped(l.name[:l.nameLen], key[:len(key)-1])
	l.builder.Reset()
	l.builder.Add(labels.MetricName, unsafeString(l.name))
	for _, t := range l.tags {
		if t.Value != "" {
			l.builder.Add(t.Name, t.Value)
		}
	}
	l.builder.Sort()
	l.builder.Overwrite(&l.out)
	return l.out
}

// unescaped returns the text of a token; it aliases the token or the arena.
func (l *labeler) unescaped(tok []byte) string {
	if bytes.IndexByte(tok, '\\') < 0 {
		return unsafeString(tok)
	}
	start := len(l.arena)
	l.arena = appendUnescaped(l.arena, tok)
	return unsafeString(l.arena[start:])
}

// appendUnescaped appends tok without the backslashes which stand before a
// space, a comma, an equals sign or another backslash.
func appendUnescaped(dst, tok []byte) []byte {
	for {
		i := bytes.IndexByte(tok, '\\')
		if i < 0 || i+1 == len(tok) {
			return append(dst, tok...)
		}
		dst = append(dst, tok[:i]...)
		switch next := tok[i+1]; next {
		case ' ', ',', '=', '\\':
			dst = append(dst, next)
		default:
			dst = append(dst, '\\', next)
		}
		tok = tok[i+2:]
	}
}

// keepLast sorts ls by name and keeps the last label of each name.
func keepLast(ls []labels.Label) []labels.Label {
	slices.SortStableFunc(ls, func(a, b labels.Label) int { return strings.Compare(a.Name, b.Name) })
	n := 0
	for i, l := range ls {
		if i+1 < len(ls) && ls[i+1].Name == l.Name {
			continue
		}
		ls[n] = l
		n++
	}
	return ls[:n]
}
