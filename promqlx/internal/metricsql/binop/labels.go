package binop

import (
	"slices"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// take gives dst those labels of src that are named, or all of them if "*" is; with
// their keys as prefixed makes them, and without those to be skipped. One that is
// named and not there is taken away.
func take(dst, src *series.Name, names, skip []string, prefixed func(key string) string) {
	if len(names) == 1 && names[0] == "*" {
		for _, t := range src.Tags {
			if !slices.Contains(skip, t.Key) {
				dst.Set(prefixed(t.Key), t.Value)
			}
		}
		return
	}
	for _, key := range names {
		if slices.Contains(skip, key) {
			continue
		}
		if key == series.NameLabel {
			dst.Group = src.Group
			continue
		}
		at := slices.IndexFunc(src.Tags, func(t series.Tag) bool { return t.Key == key })
		if at < 0 {
			dst.Remove(key)
			continue
		}
		dst.Set(prefixed(key), src.Tags[at].Value)
	}
}
