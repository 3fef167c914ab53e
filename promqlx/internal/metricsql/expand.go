package metricsql

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// The parser writes the templates of WITH out before anybody can stop it, and a text
// of 300 bytes, `WITH (a = m+m, b = a+a, c = b+b, ...)`, is millions of selectors then;
// so is ru(1, ru(1, ...)), a template that is always there. So what is written out is
// counted first, on a tree that knows of nothing but names, calls and templates.

// maxExpanded is how long a text may get when its templates are written out, unless
// it is longer by itself.
const maxExpanded = 64 << 10

// maxShort is the longest text that is taken for one of many alike, or for one without
// templates, at a glance.
const maxShort = 4 << 10

// expansionWork bounds how many tokens are looked at for each byte that there may be:
// arguments are gone through again at every call around them.
const expansionWork = 32

// defaults are the templates that are there without a WITH. (getDefaultWithArgExprs of
// the parser.)
const defaults = `WITH (
	ru(freev, maxv) = clamp_min(maxv - clamp_min(freev, 0), 0) / clamp_min(maxv, 0) * 100,
	ttf(freev) = smooth_exponential(clamp_max(clamp_max(-freev, 0) / clamp_max(deriv_fast(freev), 0), 365*24*3600), clamp_max(step()/300, 1)),
	range_median(q) = range_quantile(0.5, q),
	alias(q, name) = label_set(q, "__name__", name)
) x`

// parsedDefaults are the templates of defaults.
var parsedDefaults = sync.OnceValue(func() []*template {
	base, _ := parseTree(defaults)
	return base[0].defs
})

// mayExpand tells whether a text may have a template that is written out. Names are
// quoted with backslashes.
func mayExpand(text string) bool {
	text = strings.ToLower(text)
	if strings.Contains(text, `\`) {
		return true
	}
	for i := range text {
		if i > 0 && isNameByte(text[i-1]) && !strings.ContainsRune(".:0123456789", rune(text[i-1])) {
			continue // within a name that began before, not behind a number
		}
		rest := text[i:]
		for _, name := range []string{"with", "ru", "ttf", "range_median", "alias"} {
			if n := len(name); strings.HasPrefix(rest, name) && (n == len(rest) || !isNameByte(rest[n])) {
				return true
			}
		}
	}
	return false
}

// isNameByte tells whether a byte may be within a name.
func isNameByte(c byte) bool {
	return c >= utf8.RuneSelf || c == '_' || c == ':' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z'
}

// checkExpansion returns an error if a query gets too long when its templates are
// written out. It returns none for a text that does not parse.
func checkExpansion(text string) error {
	if len(text) <= maxShort && !mayExpand(text) {
		return nil
	}
	body, ok := parseTree(text)
	if !ok {
		return nil
	}
	most := max(len(text), maxExpanded)
	x := &expansion{left: most, work: most * expansionWork}
	if x.list(parsedDefaults(), body); x.left < 0 || x.work < 0 {
		return fmt.Errorf("too long query; it has more than %d bytes when its WITH templates are written out", most)
	}
	return nil
}

// expansion writes templates out as the parser does, names without their quoting.
type expansion struct {
	left int // bytes that may still be written
	work int // tokens that may still be looked at
}

// list writes a list of nodes out; scope are the templates it may name, the last of
// those of one name counting.
func (x *expansion) list(scope []*template, nodes []node) (out []node) {
	for i := range nodes {
		if x.work--; x.left < 0 || x.work < 0 {
			return nil
		}
		n := &nodes[i]
		made := x.node(scope, n)
		if i+1 < len(nodes) && nodes[i+1].filters && !n.called && find(scope, n.name, 0) != nil {
			x.cross(made, nodes[i+1:i+2])
		}
		out = append(out, made...)
	}
	return out
}

// cross counts what comes of filters behind a template with filters: each of one's
// alternatives is put beside each of the other's.
func (x *expansion) cross(a, b []node) {
	sizeA, orsA := x.weigh(a)
	sizeB, orsB := x.weigh(b)
	x.left -= sizeA*orsB + sizeB*orsA
}

// weigh returns how many bytes and how many or there are.
func (x *expansion) weigh(nodes []node) (size, ors int) {
	for i := range nodes {
		if x.work--; x.work < 0 {
			return size, ors
		}
		n := &nodes[i]
		size += n.size
		if n.or {
			ors++
		}
		for _, arg := range n.args {
			s, o := x.weigh(arg)
			size, ors = size+s, ors+o
		}
	}
	return size, ors
}

func (x *expansion) node(scope []*template, n *node) []node {
	if n.body != nil { // WITH
		return x.list(append(slices.Clip(scope), n.defs...), n.body)
	}
	x.left -= n.size
	if n.computed {
		return x.anyOf(scope, n)
	}
	args := make([][]node, len(n.args))
	for i := range n.args {
		left := x.left
		args[i] = x.list(scope, n.args[i])
		if n.called && find(scope, n.name, len(n.args)) != nil && x.left >= 0 {
			x.left = left // what counts is where the template puts it
		}
	}
	if t := find(scope, n.name, len(n.args)); t != nil && (n.called || len(t.args) == 0) {
		return x.call(scope, t, args)
	}
	out := node{size: n.size, called: n.called, or: n.or, filters: n.filters, args: args}
	if n.called { // a selector that is written out is no template any more
		out.name = n.name
	}
	return []node{out}
}

// call writes a template out, which may name those before it and its arguments.
func (x *expansion) call(scope []*template, t *template, args [][]node) []node {
	own := append([]*template(nil), scope[:slices.Index(scope, t)]...)
	x.work -= len(own) / 16
	for i, arg := range args {
		own = append(own, &template{name: t.args[i], body: arg})
	}
	return x.list(own, t.body)
}

// anyOf writes all templates without arguments out: a metric's name that is put together
// may be that of each of them.
func (x *expansion) anyOf(scope []*template, n *node) []node {
	for _, t := range scope {
		if len(t.args) == 0 {
			x.call(scope, t, nil)
		}
	}
	return []node{{size: n.size}}
}

// find returns the template that a name with so many arguments stands for.
func find(scope []*template, name string, args int) *template {
	if name == "" {
		return nil
	}
	for _, t := range slices.Backward(scope) {
		if t.name == name {
			if len(t.args) == args {
				return t
			}
			return nil
		}
	}
	return nil
}
