package aggr

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/metricsql/stat"
)

// namedTopK returns topk, bottomk, and those of them that judge a series by all its
// values; nil if the name is none.
func namedTopK(name string) function {
	name, by, judged := strings.Cut(name, "_")
	compare := compareUp
	switch name {
	case "topk":
	case "bottomk":
		compare = compareDown
	default:
		return nil
	}
	if !judged {
		return topK(compare)
	}
	switch by {
	case "avg":
		return seriesTopK(avgOf, compare)
	case "last":
		return seriesTopK(lastOf, compare)
	case "max":
		return seriesTopK(maxOf, compare)
	case "median":
		return seriesTopK(medianOf, compare)
	case "min":
		return seriesTopK(minOf, compare)
	}
	return nil
}

// compareUp orders floats, NaN before all others; all NaNs are equal.
func compareUp(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return +1
	case a == b:
		return 0
	}
	return boolean(math.IsNaN(b)) - boolean(math.IsNaN(a))
}

// compareDown orders floats from the greatest to the least, NaN before all others.
func compareDown(a, b float64) int {
	if math.IsNaN(a) || math.IsNaN(b) {
		return compareUp(a, b)
	}
	return compareUp(b, a)
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// topK returns the k series that come last in an order of values, at each step. The
// series come in the order of the last step, the best first.
//
// Each step sorts what the one before has sorted, and the sort is not stable, as in
// VictoriaMetrics: that decides between equal values.
func topK(compare func(a, b float64) int) function {
	return func(c *Call) ([]*series.Series, error) {
		if err := c.want(2); err != nil {
			return nil, err
		}
		ks, err := c.scalar(0)
		if err != nil {
			return nil, err
		}
		f := func(_ *Call, group []*series.Series) []*series.Series {
			for i := range group[0].Values {
				if c.over(len(group)) {
					break
				}
				slices.SortFunc(group, func(a, b *series.Series) int { return compare(a.Values[i], b.Values[i]) })
				for _, s := range group[:len(group)-countOf(ks[i], len(group))] {
					s.Values[i] = math.NaN()
				}
			}
			group = series.DropEmpty(group)
			slices.Reverse(group)
			return group
		}
		return c.each(f, c.Args[1], c.Expr.Limit, true)
	}
}

// countOf returns k as a number of series out of n.
func countOf(k float64, n int) int { return min(max(integerOf(k), 0), n) }

// seriesTopK returns the k series that come last in an order of what by tells of
// their values, and the sum of the others if that is asked for.
func seriesTopK(by func(values []float64) float64, compare func(a, b float64) int) function {
	return func(c *Call) ([]*series.Series, error) {
		if len(c.Args) < 2 {
			return nil, fmt.Errorf("unexpected number of args; got %d; want at least %d", len(c.Args), 2)
		}
		if len(c.Args) > 3 {
			return nil, fmt.Errorf("unexpected number of args; got %d; want no more than %d", len(c.Args), 3)
		}
		ks, err := c.scalar(0)
		if err != nil {
			return nil, err
		}
		rest := ""
		if len(c.Args) == 3 {
			if rest, err = c.text(2); err != nil {
				return nil, err
			}
		}
		g := newGrouper(&c.Expr.Modifier, 0)
		f := func(_ *Call, group []*series.Series) []*series.Series {
			rank(group, by, compare)
			if rest == "" {
				return best(group, ks)
			}
			sum := remainder(g, group, ks, rest)
			group = best(group, ks)
			if sum.Empty() {
				return group
			}
			return slices.Insert(group, 0, sum)
		}
		return c.each(f, c.Args[1], c.Expr.Limit, true)
	}
}

// rangeTopK returns the k series of a group that come last in an order of what by
// tells of their values, the best first.
func rangeTopK(group []*series.Series, by func(values []float64) float64, compare func(a, b float64) int, ks []float64) []*series.Series {
	rank(group, by, compare)
	return best(group, ks)
}

// rank puts the series in the order of what by tells of their values.
func rank(group []*series.Series, by func(values []float64) float64, compare func(a, b float64) int) {
	type judged struct {
		s     *series.Series
		value float64
	}
	all := make([]judged, len(group))
	for i, s := range group {
		all[i] = judged{s, by(s.Values)}
	}
	slices.SortFunc(all, func(a, b judged) int { return compare(a.value, b.value) })
	for i := range all {
		group[i] = all[i].s
	}
}

// best leaves of a group in order the last k series at each step, and turns them
// around.
func best(group []*series.Series, ks []float64) []*series.Series {
	for i, k := range ks {
		for _, s := range group[:len(group)-countOf(k, len(group))] {
			s.Values[i] = math.NaN()
		}
	}
	group = series.DropEmpty(group)
	slices.Reverse(group)
	return group
}

// remainder returns the sum of what best takes away. Its labels are those of the
// group and one more, whose value is the label's name if there is no other.
func remainder(g *grouper, group []*series.Series, ks []float64, label string) *series.Series {
	sum := group[0].Clone()
	g.strip(&sum.Name)
	label, value, found := strings.Cut(label, "=")
	if !found {
		value = label
	}
	sum.Name.Put(label, value)
	for i, k := range ks {
		total, seen := 0.0, false
		for _, s := range group[:len(group)-countOf(k, len(group))] {
			if v := s.Values[i]; !math.IsNaN(v) {
				total += v
				seen = true
			}
		}
		if !seen {
			total = math.NaN()
		}
		sum.Values[i] = total
	}
	return sum
}

func minOf(values []float64) float64 {
	least := math.NaN()
	for _, v := range values {
		if v < least || math.IsNaN(least) {
			least = v
		}
	}
	return least
}

func maxOf(values []float64) float64 {
	most := math.NaN()
	for _, v := range values {
		if v > most || math.IsNaN(most) {
			most = v
		}
	}
	return most
}

func avgOf(values []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		if !math.IsNaN(v) {
			n++
			sum += v
		}
	}
	return sum / float64(n) // NaN if there is none
}

func medianOf(values []float64) float64 {
	sorted := stat.AppendPresent(nil, values)
	slices.Sort(sorted)
	return stat.Quantile(0.5, sorted)
}

func lastOf(values []float64) float64 {
	for _, v := range slices.Backward(values) {
		if !math.IsNaN(v) {
			return v
		}
	}
	return math.NaN()
}
