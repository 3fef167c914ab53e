package aggr

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// limitK returns the k series of each group whose names have the least hashes.
func limitK(c *Call) ([]*series.Series, error) {
	if err := c.want(2); err != nil {
		return nil, err
	}
	k, err := c.integer(0)
	if err != nil {
		return nil, fmt.Errorf("cannot obtain limit arg: %w", err)
	}
	type hashed struct {
		s    *series.Series
		hash uint64
	}
	var all []hashed
	f := func(_ *Call, group []*series.Series) []*series.Series {
		all = all[:0]
		for _, s := range group {
			all = append(all, hashed{s, hashOf(&s.Name)})
		}
		slices.SortFunc(all, func(a, b hashed) int { return cmp.Compare(a.hash, b.hash) })
		for i := range all {
			group[i] = all[i].s
		}
		return group[:min(max(k, 0), len(group))]
	}
	return c.each(f, c.Args[1], c.Expr.Limit, true)
}

// hashOf returns a hash of a name with its labels in the order they are in: as
// getHash of VictoriaMetrics' promql/aggr.go.
func hashOf(n *series.Name) uint64 {
	var d xxhash.Digest
	d.Reset()
	_, _ = d.WriteString(n.Group)
	for i := range n.Tags {
		_, _ = d.WriteString(n.Tags[i].Key)
		_, _ = d.WriteString(n.Tags[i].Value)
	}
	return d.Sum64()
}
