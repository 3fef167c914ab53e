package binop

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// maxPushed is how many values of a label may be asked for in a filter.
const maxPushed = 100

// CommonFilters returns filters that all these series hold, sorted by label: one for
// each label that all of them have and that has no more than a hundred values or so.
// The series are not changed.
func CommonFilters(all []*series.Series) []mql.LabelFilter {
	type seen struct {
		values map[string]struct{}
		count  int
	}
	labels := make(map[string]*seen)
	for _, s := range all {
		for _, t := range s.Name.Tags {
			l := labels[t.Key]
			if l == nil {
				l = &seen{values: make(map[string]struct{})}
				labels[t.Key] = l
			}
			if len(l.values) > maxPushed {
				continue // its count will not do any more
			}
			l.count++
			l.values[t.Value] = struct{}{}
		}
	}
	var out []mql.LabelFilter
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if labels[key].count == len(all) {
			out = append(out, filterOf(key, slices.Sorted(maps.Keys(labels[key].values))))
		}
	}
	return out
}

// filterOf returns what a label's value has to be.
func filterOf(key string, values []string) mql.LabelFilter {
	if len(values) == 1 {
		return mql.LabelFilter{Label: key, Value: values[0]}
	}
	for i, v := range values {
		values[i] = regexp.QuoteMeta(v)
	}
	return mql.LabelFilter{Label: key, Value: strings.Join(values, "|"), IsRegexp: true}
}
