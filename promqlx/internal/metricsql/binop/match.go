package binop

import (
	"strings"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// matcher tells by which labels series match, and makes keys of them.
type matcher struct {
	on       bool // else ignoring
	keys     []string
	keepName bool // the metric's name counts
	name     series.Name
	key      []byte
}

func newMatcher(be *mql.BinaryOpExpr) *matcher {
	return &matcher{
		on:       strings.EqualFold(be.GroupModifier.Op, "on"),
		keys:     be.GroupModifier.Args,
		keepName: be.KeepMetricNames,
	}
}

// strip takes those labels away that do not count.
func (m *matcher) strip(n *series.Name) {
	if m.on {
		n.Keep(m.keys)
		return
	}
	n.Drop(m.keys)
}

// keyOf returns what series that match have in common, good until it is called
// again. The name is not changed.
func (m *matcher) keyOf(n *series.Name) []byte {
	m.name.Group = ""
	if m.keepName {
		m.name.Group = n.Group
	}
	m.name.Tags = append(m.name.Tags[:0], n.Tags...)
	m.strip(&m.name)
	m.key = m.name.AppendKey(m.key[:0])
	return m.key
}

// groups are the series of one side by what they have in common, in the order in
// which groups first appeared.
type groups struct {
	keys  []string
	all   [][]*series.Series
	index map[string]int
}

// split groups the series of one side.
func (m *matcher) split(side []*series.Series) *groups {
	g := &groups{index: make(map[string]int, len(side))}
	for _, s := range side {
		key := m.keyOf(&s.Name)
		i, ok := g.index[string(key)]
		if !ok {
			i = g.open(string(key))
		}
		g.all[i] = append(g.all[i], s)
	}
	return g
}

// open puts a group in that has no series yet.
func (g *groups) open(key string) int {
	i := len(g.keys)
	g.index[key] = i
	g.keys = append(g.keys, key)
	g.all = append(g.all, nil)
	return i
}

// of returns a group, nil if there is none.
func (g *groups) of(key string) []*series.Series {
	if i, ok := g.index[key]; ok {
		return g.all[i]
	}
	return nil
}

// ofOrScalar returns a group, or the scalar if that is all there is.
func (g *groups) ofOrScalar(key string) []*series.Series {
	if group := g.of(key); group != nil {
		return group
	}
	if len(g.all) == 1 && isScalar(g.all[0]) {
		return g.all[0]
	}
	return nil
}

// isScalar tells whether there is one series, and it has no labels.
func isScalar(all []*series.Series) bool {
	return len(all) == 1 && all[0].Name.Group == "" && len(all[0].Name.Tags) == 0
}
