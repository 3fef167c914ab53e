package aggr

import (
	"slices"
	"strings"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// grouper numbers groups in the order in which they first appear. It is for one
// goroutine.
type grouper struct {
	without bool
	keys    []string
	limit   int // groups there may be, as many as you like if not positive
	index   map[string]int
	name    series.Name // of the group asked for last, sorted; its Tags are reused
	key     []byte
}

func newGrouper(m *mql.ModifierExpr, limit int) *grouper {
	return &grouper{
		without: strings.EqualFold(m.Op, "without"),
		keys:    m.Args,
		limit:   limit,
		index:   make(map[string]int),
	}
}

// strip takes those labels away that a group does not have.
func (g *grouper) strip(n *series.Name) {
	if g.without {
		n.Drop(g.keys)
		n.Group = ""
		return
	}
	n.Keep(g.keys)
}

// of returns the number of a name's group, leaving its name in g.name. isNew tells
// that there was none yet; number is -1 if there may be none.
func (g *grouper) of(n *series.Name) (number int, isNew bool) {
	g.name.Tags = g.name.Tags[:0]
	g.name.Group = ""
	if !g.without && slices.Contains(g.keys, series.NameLabel) {
		g.name.Group = n.Group
	}
	for i := range n.Tags {
		if slices.Contains(g.keys, n.Tags[i].Key) != g.without {
			g.name.Tags = append(g.name.Tags, n.Tags[i])
		}
	}
	return g.number(&g.name)
}

// number returns the number of the group of this name, as of does, and sorts its
// labels.
func (g *grouper) number(n *series.Name) (number int, isNew bool) {
	g.key = n.AppendKey(g.key[:0])
	if number, ok := g.index[string(g.key)]; ok {
		return number, false
	}
	if g.limit > 0 && len(g.index) >= g.limit {
		return -1, false
	}
	number = len(g.index)
	g.index[string(g.key)] = number
	return number, true
}

// groups returns the series of arg that have a value, by group. Unless keep is set
// they lose the labels that their group does not have, and the others get sorted.
func (c *Call) groups(arg []*series.Series, limit int, keep bool) [][]*series.Series {
	g := newGrouper(&c.Expr.Modifier, limit)
	return g.split(series.DropEmpty(arg), keep)
}

// split returns all series by group.
func (g *grouper) split(all []*series.Series, keep bool) [][]*series.Series {
	var groups [][]*series.Series
	for _, s := range all {
		var number int
		var isNew bool
		if keep {
			number, isNew = g.of(&s.Name)
		} else {
			g.strip(&s.Name)
			number, isNew = g.number(&s.Name)
		}
		switch {
		case number < 0:
		case isNew:
			groups = append(groups, []*series.Series{s})
		default:
			groups[number] = append(groups[number], s)
		}
	}
	return groups
}
