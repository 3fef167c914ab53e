package metricsql

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	mql "github.com/VictoriaMetrics/metricsql"
)

// node is a token, and what is in the brackets behind it if there are any.
type node struct {
	name   string // of a template, perhaps; empty of what names nothing
	size   int    // bytes
	op     byte   // of one that is a single byte and no name
	quoted string // of a string, with its quotes
	called bool   // a name with parentheses behind it
	or     bool   // between filters
	args   [][]node
	// filters tells of those in braces, of which each of args is one, or several with or
	// between them.
	filters bool
	// computed tells of __name__="a"+b, which is a name too.
	computed bool

	// Of WITH (defs) body:
	defs []*template
	body []node
}

// template is name(args) = body.
type template struct {
	name string
	args []string
	body []node
}

// parseTree parses a query as far as templates are concerned; ok is false if brackets,
// strings or templates are not as they should be, which the parser tells better.
func parseTree(text string) (nodes []node, ok bool) {
	p := &treeParser{rest: text, ok: true}
	p.next()
	nodes = p.list()
	return nodes, p.ok && p.token == ""
}

// treeParser looks at one token at a time.
type treeParser struct {
	rest  string // behind the token
	token string // empty at the end
	ok    bool
}

// spaces are what may stand between tokens.
const spaces = " \t\n\v\f\r"

// next goes to the next token.
func (p *treeParser) next() {
	for p.rest = strings.TrimLeft(p.rest, spaces); strings.HasPrefix(p.rest, "#"); p.rest = strings.TrimLeft(p.rest, spaces) {
		_, p.rest, _ = strings.Cut(p.rest, "\n")
	}
	n := p.tokenLen()
	p.token, p.rest = p.rest[:n], p.rest[n:]
}

func (p *treeParser) tokenLen() int {
	if p.rest == "" || !p.ok {
		return 0
	}
	switch c := p.rest[0]; {
	case c == '"' || c == '\'' || c == '`':
		return p.stringLen(c)
	case c >= '0' && c <= '9':
		if n := strings.IndexFunc(p.rest, func(r rune) bool { return !isNameRune(r, false) }); n > 0 {
			return n
		}
		return len(p.rest)
	}
	if _, n := scanName(p.rest); n > 0 {
		return n
	}
	_, n := utf8.DecodeRuneInString(p.rest)
	return n
}

func (p *treeParser) stringLen(quote byte) int {
	for i := 1; i < len(p.rest); i++ {
		if p.rest[i] != quote {
			continue
		}
		before := strings.TrimRight(p.rest[:i], `\`)
		if (i-len(before))%2 == 0 {
			return i + 1
		}
	}
	p.ok = false
	return 0
}

func isNameRune(r rune, first bool) bool {
	return r == '_' || r == ':' || unicode.IsLetter(r) || !first && (r == '.' || r >= '0' && r <= '9')
}

// scanName returns the name that s begins with, and its length there; \ quotes other
// runes, or is followed by x and two digits or u and four.
func scanName(s string) (name string, n int) {
	var b []byte
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if r == '\\' {
			var quoted int
			if r, quoted = scanQuoted(s[n+1:]); quoted == 0 {
				break
			}
			size += quoted
		} else if !isNameRune(r, n == 0) {
			break
		}
		b = utf8.AppendRune(b, r)
		n += size
	}
	return string(b), n
}

func scanQuoted(s string) (r rune, n int) {
	if s == "" {
		return 0, 0
	}
	switch s[0] | 0x20 {
	case 'x':
		n = 3
	case 'u':
		n = 5
	default:
		return utf8.DecodeRuneInString(s)
	}
	if len(s) < n {
		return 0, 0
	}
	v, err := strconv.ParseUint(s[1:n], 16, 32)
	if err != nil {
		return 0, 0
	}
	return rune(v), n
}

// list parses up to a comma, a closing bracket or the end.
func (p *treeParser) list() (nodes []node) {
	for p.ok {
		switch p.token {
		case "", ",", ")", "]", "}":
			return nodes
		}
		nodes = p.node(nodes)
	}
	return nil
}

// node parses a token and what is in the brackets behind it, and appends it to those
// before it.
func (p *treeParser) node(nodes []node) []node {
	n := node{size: len(p.token)}
	switch c := p.token[0]; {
	case strings.ContainsRune("([{", rune(c)):
		n.filters = c == '{'
		n.args = p.lists(map[byte]string{'(': ")", '[': "]", '{': "}"}[c])
		for _, filters := range n.args {
			if n.filters {
				nameFilters(filters)
			}
		}
		return append(nodes, n)
	case strings.ContainsRune("\"'`", rune(c)):
		n.quoted = p.token
	case len(p.token) == 1:
		n.op = c
	}
	n.name, _ = scanName(p.token)
	n.or = strings.EqualFold(p.token, "or")
	p.next()
	if mql.IsAggrFunc(n.name) && (strings.EqualFold(p.token, "by") || strings.EqualFold(p.token, "without")) {
		nodes = p.node(nodes) // sum by (a) (x) is sum(x) by (a)
	}
	if n.name == "" || p.token != "(" {
		return append(nodes, n)
	}
	if strings.EqualFold(n.name, "with") {
		return append(nodes, p.with())
	}
	if mql.IsAggrFunc(n.name) {
		n.name = strings.ToLower(n.name)
	}
	n.called, n.args = true, p.lists(")")
	return append(nodes, n)
}

// lists parses lists in brackets, with commas between them.
func (p *treeParser) lists(end string) (all [][]node) {
	for p.next(); p.ok && p.token != end; {
		all = append(all, p.list())
		if p.token == "," {
			p.next()
		} else if p.token != end {
			p.ok = false
		}
	}
	p.next()
	return all
}

// with parses (name = list, name(args) = list, ...) list.
func (p *treeParser) with() (n node) {
	for p.next(); p.ok && p.token != ")"; {
		t := &template{}
		t.name, _ = scanName(p.token)
		if p.next(); p.token == "(" {
			for _, arg := range p.lists(")") {
				if len(arg) == 1 {
					t.args = append(t.args, arg[0].name)
				}
			}
		}
		p.ok = p.ok && t.name != "" && p.token == "="
		p.next()
		t.body = p.list()
		n.defs = append(n.defs, t)
		if p.token == "," {
			p.next()
		} else if p.token != ")" {
			p.ok = false
		}
	}
	p.next()
	n.body = p.list()
	p.ok = p.ok && len(n.body) > 0
	return n
}

// nameFilters finds the names of metrics in a filter, {"name"} and {__name__="name"},
// which may be those of templates.
func nameFilters(filter []node) {
	for i := range filter {
		n := &filter[i]
		if n.quoted != "" && (i == 0 || strings.EqualFold(filter[i-1].name, "or")) {
			n.name = unquotedName(n.quoted[1 : len(n.quoted)-1])
		}
		if i+2 >= len(filter) || filter[i+1].op != '=' && filter[i+1].op != '!' {
			continue
		}
		label := n.name
		n.name = "" // a label is no template
		if label != "__name__" || filter[i+1].op != '=' || filter[i+2].op != 0 {
			continue
		}
		value := &filter[i+2]
		text, err := strconv.Unquote(value.quoted)
		value.name = text
		value.computed = err != nil || i+3 < len(filter) && filter[i+3].op == '+'
	}
}

// unquotedName takes the quoting of runes out of a name.
func unquotedName(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, `\`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if r, n := scanQuoted(after); n > 0 {
			b.WriteRune(r)
			after = after[n:]
		} else {
			b.WriteByte('\\')
		}
		s = after
	}
}
