package info

import (
	"slices"
	"strings"

	"github.com/grafana/regexp"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// identifying are the labels by which an info series and another one belong
// together, sorted.
var identifying = [...]string{"instance", "job"}

// Call is one call of the function.
type Call struct {
	Names []*labels.Matcher // of the names of info metrics, at least one
	Data  []*labels.Matcher // of the labels to join; none means all
}

// plain tells whether a series is an info series itself: it gets no labels.
func (c *Call) plain(lset labels.Labels) bool {
	name := lset.Get(labels.MetricName)
	for _, m := range c.Names {
		if !m.Matches(name) {
			return false
		}
	}
	return true
}

// Selectors returns the matchers of the info series that can belong to the rows
// of base: one list for each combination of identifying labels that they have,
// so that no series is found twice. (infoIdentifyingMatcherSets.)
func (c *Call) Selectors(base []*row.Row) ([][]*labels.Matcher, error) {
	type values [len(identifying)]map[string]struct{}
	var groups [1 << len(identifying)]*values // by the set of labels
	for _, r := range base {
		if c.plain(r.Labels) {
			continue
		}
		has, vals := 0, [len(identifying)]string{}
		for i, name := range identifying {
			if vals[i] = r.Labels.Get(name); vals[i] != "" {
				has |= 1 << i
			}
		}
		if has == 0 {
			continue
		}
		g := groups[has]
		if g == nil {
			g = &values{}
			groups[has] = g
		}
		for i, v := range vals {
			if g[i] == nil {
				g[i] = map[string]struct{}{}
			}
			g[i][v] = struct{}{}
		}
	}
	var out [][]*labels.Matcher
	for has, g := range groups {
		if g == nil {
			continue
		}
		ms := make([]*labels.Matcher, 0, len(identifying)+len(c.Data)+len(c.Names))
		for i, name := range identifying {
			m, err := oneOf(name, has&(1<<i) != 0, g[i])
			if err != nil {
				return nil, err
			}
			ms = append(ms, m)
		}
		out = append(out, append(append(ms, c.Data...), c.Names...))
	}
	return out, nil
}

func oneOf(name string, present bool, values map[string]struct{}) (*labels.Matcher, error) {
	if !present {
		return labels.NewMatcher(labels.MatchEqual, name, "")
	}
	var quoted []string
	for v := range values {
		quoted = append(quoted, regexp.QuoteMeta(v))
	}
	slices.Sort(quoted)
	return labels.NewMatcher(labels.MatchRegexp, name, strings.Join(quoted, "|"))
}
