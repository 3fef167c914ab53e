package binop

import (
	"bytes"
	"math"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// split groups both sides.
func (c *Call) split() (left, right *groups) {
	m := newMatcher(c.Expr)
	return m.split(c.Left), m.split(c.Right)
}

// and keeps values on the left where one on the right matches.
func and(c *Call) []*series.Series {
	left, right := c.split()
	var out []*series.Series
	for i, key := range right.keys {
		if l := left.of(key); l != nil {
			out = append(out, where(l, right.all[i], true)...)
		}
	}
	return out
}

// ifThere is and, but a scalar on the right matches everything.
func ifThere(c *Call) []*series.Series {
	left, right := c.split()
	var out []*series.Series
	for i, key := range left.keys {
		if r := right.ofOrScalar(key); r != nil {
			out = append(out, where(left.all[i], r, true)...)
		}
	}
	return out
}

// unless keeps values on the left where none on the right matches.
func unless(c *Call) []*series.Series {
	left, right := c.split()
	var out []*series.Series
	for i, key := range left.keys {
		l := left.all[i]
		if r := right.of(key); r != nil {
			l = where(l, r, false)
		}
		out = append(out, l...)
	}
	return out
}

// ifNotThere is unless, but a scalar on the right matches everything.
func ifNotThere(c *Call) []*series.Series {
	left, right := c.split()
	var out []*series.Series
	for i, key := range left.keys {
		l := left.all[i]
		if r := right.ofOrScalar(key); r != nil {
			l = where(l, r, false)
		}
		out = append(out, l...)
	}
	return out
}

// where keeps the values at steps where one of others has a value too, or, if not
// there, where none has. Series that keep none go.
func where(all, others []*series.Series, there bool) []*series.Series {
	has := make([]bool, len(all[0].Values))
	for _, s := range others {
		for i, v := range s.Values {
			if !math.IsNaN(v) {
				has[i] = true
			}
		}
	}
	for _, s := range all {
		for i := range s.Values {
			if has[i] != there {
				s.Values[i] = math.NaN()
			}
		}
	}
	return series.DropEmpty(all)
}

// byDefault puts the first value on the right that matches, or the scalar, where the
// left has none.
func byDefault(c *Call) []*series.Series {
	left, right := c.split()
	var out []*series.Series
	if len(left.all) == 0 {
		for _, r := range right.all {
			out = append(out, r...)
		}
		return out
	}
	for i, key := range left.keys {
		r := right.ofOrScalar(key)
		for _, s := range left.all[i] {
			c.fillFrom(s.Values, r)
		}
		out = append(out, left.all[i]...)
	}
	return out
}

// fillFrom puts the first value that there is where values has none.
func (c *Call) fillFrom(values []float64, others []*series.Series) {
	for _, s := range others {
		if c.Pace.Over(len(values)) {
			return
		}
		for i, v := range values {
			if math.IsNaN(v) {
				values[i] = s.Values[i]
			}
		}
	}
}

// or has the values on the left, and those on the right where none on the left
// matches. Each side is sorted by itself.
func or(c *Call) []*series.Series {
	left, right := c.split()
	var out []*series.Series
	for i := range left.all {
		left.all[i] = series.DropEmpty(left.all[i])
		out = append(out, left.all[i]...)
	}
	series.Sort(out)
	n := len(out)
	for i, key := range right.keys {
		r := right.all[i]
		if _, ok := left.index[key]; ok {
			c.complete(left.of(key), r)
			r = series.DropEmpty(r)
		}
		out = append(out, r...)
	}
	series.Sort(out[n:])
	return out
}

// complete moves values of the right side to a series of the same labels on the
// left that lacks them, and drops those that have a value beside them: as
// fillLeftNaNsWithRightValuesOrMerge of VictoriaMetrics' promql/binary_op.go. Labels
// get sorted, but not where the right is a scalar.
func (c *Call) complete(left, right []*series.Series) {
	scalar := isScalar(right)
	var missing []bool
	var leftKey, rightKey []byte
	for _, l := range left {
		missing = missing[:0]
		for _, v := range l.Values {
			missing = append(missing, math.IsNaN(v))
		}
		if !scalar {
			leftKey = l.Name.AppendKey(leftKey[:0])
		}
		for _, r := range right {
			if c.Pace.Over(len(r.Values)) {
				return
			}
			var same bool
			if scalar {
				same = isScalar(left)
			} else {
				rightKey = r.Name.AppendKey(rightKey[:0])
				same = bytes.Equal(leftKey, rightKey)
			}
			for i, v := range r.Values {
				if missing[i] && same {
					l.Values[i] = v
				}
				if !missing[i] || same {
					r.Values[i] = math.NaN()
				}
			}
		}
	}
}
