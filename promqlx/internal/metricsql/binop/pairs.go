package binop

import (
	"fmt"
	"math"
	"strings"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// pairs returns which series are to be computed with each other, the labels of dst
// those of the result: as adjustBinaryOpTags of VictoriaMetrics'
// promql/binary_op.go.
func (c *Call) pairs() ([]pair, error) {
	be := c.Expr
	if be.GroupModifier.Op == "" && be.JoinModifier.Op == "" {
		if isScalar(c.Left) {
			return withScalar(be, c.Right, func(s *series.Series) pair { return pair{c.Left[0], s, s} }), nil
		}
		if isScalar(c.Right) {
			return withScalar(be, c.Left, func(s *series.Series) pair { return pair{s, c.Right[0], s} }), nil
		}
	}
	j := newJoiner(c)
	left, right := j.matcher.split(c.Left), j.matcher.split(c.Right)
	if be.FillLeft != nil {
		for _, key := range right.keys {
			if left.of(key) == nil {
				left.open(key)
			}
		}
	}
	for i, key := range left.keys {
		l, r := left.all[i], right.of(key)
		if len(l) == 0 {
			l = []*series.Series{j.gap(r[0])}
		}
		if len(r) == 0 {
			if be.FillRight == nil {
				continue
			}
			r = []*series.Series{j.gap(l[0])}
		}
		if err := j.join(l, r); err != nil {
			return nil, err
		}
	}
	return j.out, nil
}

// withScalar pairs each series with a scalar.
func withScalar(be *mql.BinaryOpExpr, all []*series.Series, with func(s *series.Series) pair) []pair {
	out := make([]pair, len(all))
	for i, s := range all {
		unname(be, s)
		out[i] = with(s)
	}
	return out
}

// unname takes the metric's name away, which means something else after most
// operators.
func unname(be *mql.BinaryOpExpr, s *series.Series) {
	if mql.IsBinaryOpCmp(be.Op) && !be.Bool || be.KeepMetricNames {
		return
	}
	s.Name.Group = ""
}

// joiner makes pairs out of groups that match.
type joiner struct {
	be      *mql.BinaryOpExpr
	matcher *matcher
	hold    func(series int) error // nil: no bound
	pace    *series.Pace
	out     []pair
	key     []byte
	keys    map[string]string // by key: it with the prefix
}

func newJoiner(c *Call) *joiner {
	return &joiner{be: c.Expr, matcher: newMatcher(c.Expr), hold: c.Hold, pace: c.Pace}
}

// gap returns a series without values that matches s, for fill to fill.
func (j *joiner) gap(s *series.Series) *series.Series {
	gap := series.Constant(math.NaN(), len(s.Values))
	gap.Name = s.Name.Clone()
	if !j.be.KeepMetricNames {
		gap.Name.Group = ""
	}
	j.matcher.strip(&gap.Name)
	return gap
}

// join makes the pairs of two groups.
func (j *joiner) join(left, right []*series.Series) error {
	switch strings.ToLower(j.be.JoinModifier.Op) {
	case "group_left":
		return j.many("right", left, right, func(many, one *series.Series) pair { return pair{many, one, many} })
	case "group_right":
		return j.many("left", right, left, func(many, one *series.Series) pair { return pair{one, many, many} })
	}
	if err := j.single("left", left); err != nil {
		return err
	}
	if err := j.single("right", right); err != nil {
		return err
	}
	s := left[0]
	unname(j.be, s)
	group := s.Name.Group
	j.matcher.strip(&s.Name)
	if j.matcher.on && j.be.KeepMetricNames {
		s.Name.Group = group // which matches too
	}
	j.out = append(j.out, pair{s, right[0], s})
	return nil
}

// single puts all series of a group into the first one, if they can be.
func (j *joiner) single(side string, group []*series.Series) error {
	for len(group) > 1 {
		last := group[len(group)-1]
		if !series.Merge(group[0].Values, last.Values) {
			return fmt.Errorf("duplicate time series on the %s side of %s %s: %s and %s",
				side, j.be.Op, j.be.GroupModifier.AppendString(nil), tags(group[0]), tags(last))
		}
		group = group[:len(group)-1]
	}
	return nil
}

// many pairs each series of the side with many with the one of the other that
// matches, after it has taken labels from there. If there are several ones, those
// that give the same labels are put together.
func (j *joiner) many(oneSide string, many, ones []*series.Series, with func(many, one *series.Series) pair) error {
	for _, m := range many {
		if j.pace.Over(len(ones)) {
			break
		}
		unname(j.be, m)
		if len(ones) == 1 {
			j.takeLabels(&m.Name, &ones[0].Name)
			j.out = append(j.out, with(m, ones[0]))
			continue
		}
		if err := j.several(oneSide, m, ones, with); err != nil {
			return err
		}
	}
	return nil
}

// several pairs copies of one series of the side with many with the series of the
// other side.
func (j *joiner) several(oneSide string, m *series.Series, ones []*series.Series, with func(many, one *series.Series) pair) error {
	if j.hold != nil {
		if err := j.hold(len(ones)); err != nil {
			return err
		}
	}
	type joined struct{ many, one *series.Series }
	var all []joined
	index := make(map[string]int, len(ones))
	for _, one := range ones {
		name := m.Name.Clone()
		j.takeLabels(&name, &one.Name)
		j.key = name.AppendKey(j.key[:0])
		i, ok := index[string(j.key)]
		if !ok {
			index[string(j.key)] = len(all)
			copied := &series.Series{Name: name, Values: append([]float64(nil), m.Values...)}
			all = append(all, joined{copied, one})
			continue
		}
		merged := all[i].one.Clone()
		if !series.Merge(merged.Values, one.Values) {
			return fmt.Errorf("duplicate time series on the %s side of `%s %s %s`: %s and %s", oneSide, j.be.Op,
				j.be.GroupModifier.AppendString(nil), j.be.JoinModifier.AppendString(nil), tags(merged), tags(one))
		}
		all[i].one = merged
	}
	for _, p := range all {
		j.out = append(j.out, with(p.many, p.one))
	}
	return nil
}

// takeLabels gives dst those labels of src that the join asks for.
func (j *joiner) takeLabels(dst, src *series.Name) {
	var skip []string
	if j.matcher.on {
		skip = j.matcher.keys
	}
	take(dst, src, j.be.JoinModifier.Args, skip, j.prefixed)
}

// prefixed returns a key with the join's prefix. Each is made once: a prefix may be as
// long as a query.
func (j *joiner) prefixed(key string) string {
	p := j.be.JoinModifierPrefix
	if p == nil || p.S == "" {
		return key
	}
	full, ok := j.keys[key]
	if !ok {
		if j.keys == nil {
			j.keys = make(map[string]string)
		}
		full = p.S + key
		j.keys[key] = full
	}
	return full
}

// tags returns a series' labels as error texts have them, without the metric's name.
// They get sorted.
func tags(s *series.Series) string {
	n := series.Name{Tags: s.Name.Tags}
	return n.String()
}
