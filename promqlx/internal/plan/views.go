package plan

import (
	"slices"
	"strings"
)

// Views gives the same ID to selectors that have the same matchers and read
// samples at times that overlap.
func Views(root Node, c Config) Node {
	if c.Lookback == 0 {
		return root
	}
	type reading struct {
		*Selector
		min, max int64
	}
	series := map[string][]*reading{}
	var order []*reading
	for _, r := range Ranges(root, c.Start, c.End, c.Lookback) {
		if s := SelectorOf(r.Of); s != nil {
			key := seriesKey(s)
			rd := &reading{s, r.Min, r.Max}
			series[key] = append(series[key], rd)
			order = append(order, rd)
		}
	}
	same := map[*reading]*reading{} // the first of those that overlap
	for _, list := range series {
		slices.SortStableFunc(list, func(a, b *reading) int {
			switch {
			case a.min < b.min:
				return -1
			case a.min > b.min:
				return 1
			}
			return 0
		})
		first, reach := list[0], list[0].max
		for _, r := range list {
			if r.min > reach {
				first = r
			}
			same[r], reach = first, max(reach, r.max)
		}
	}
	ids := map[*reading]int{}
	for _, r := range order {
		first := same[r]
		if ids[first] == 0 {
			ids[first] = len(ids) + 1
		}
		r.ID = ids[first]
	}
	return root
}

// seriesKey is the same for selectors with the same matchers, in any order.
func seriesKey(s *Selector) string {
	texts := make([]string, len(s.Matchers))
	for i, m := range s.Matchers {
		texts[i] = m.String()
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ",")
}
