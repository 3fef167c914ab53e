package inspect

import (
	"fmt"
	"strings"

	"github.com/varvedb/varve/tsdb/internal/index2"
)

// indexName is what an index counts of one label name.
type indexName = index2.NameCount

// commonestValues is how many values of a label are shown.
const commonestValues = 3

// commonest returns the values of a label that most series have.
func commonest(segment *index2.Segment, name string) string {
	var texts []string
	for _, c := range segment.TopValues(name, commonestValues) {
		texts = append(texts, fmt.Sprintf("%q %d", c.Value, c.Series))
	}
	return strings.Join(texts, ", ")
}
