package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/varvedb/varve/tsdb/internal/index"
)

// indexName is what an index counts of one label name.
type indexName = index.NameCount

// commonestValues is how many values of a label are shown.
const commonestValues = 3

// commonest returns the values of a label that most series have.
func commonest(segment *index.Segment, name string) string {
	type count struct {
		value  string
		series int
	}
	var best []count
	segment.ValueCardinality(name, func(value string, series int) {
		if len(best) == commonestValues && series <= best[commonestValues-1].series {
			return
		}
		best = append(best, count{strings.Clone(value), series})
		slices.SortStableFunc(best, func(a, b count) int { return cmp.Compare(b.series, a.series) })
		best = best[:min(len(best), commonestValues)]
	})
	var texts []string
	for _, c := range best {
		texts = append(texts, fmt.Sprintf("%q %d", c.value, c.series))
	}
	return strings.Join(texts, ", ")
}
