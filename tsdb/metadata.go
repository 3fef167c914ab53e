package tsdb

import (
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/common/model"

	"github.com/prometheus/prometheus/model/metadata"

	"github.com/varvedb/varve/tsdb/internal/manifest"
)

// metadataTable keeps type, help and unit of metric families, the distinct sets
// of each in the order they came. The log has what the manifest has not yet.
type metadataTable struct {
	mu struct {
		sync.RWMutex
		families map[string][]metadata.Metadata
		unsaved  map[string]uint64 // families changed, with the number of the change
		changes  uint64
	}
}

// maxPerFamily bounds the distinct sets kept of one family; the oldest go.
const maxPerFamily = 10

func (t *metadataTable) load(saved map[string][]manifest.Metadata) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.families, t.mu.unsaved = map[string][]metadata.Metadata{}, map[string]uint64{}
	for family, sets := range saved {
		for _, m := range sets {
			t.mu.families[family] = append(t.mu.families[family],
				metadata.Metadata{Type: model.MetricType(m.Type), Help: m.Help, Unit: m.Unit})
		}
	}
}

// has tells whether m is the newest set of the family already.
func (t *metadataTable) has(family string, m metadata.Metadata) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	sets := t.mu.families[family]
	return len(sets) > 0 && sets[len(sets)-1] == m
}

func (t *metadataTable) add(family string, m metadata.Metadata) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sets := slices.DeleteFunc(slices.Clone(t.mu.families[family]), func(x metadata.Metadata) bool { return x == m })
	sets = append(sets, m)
	if len(sets) > maxPerFamily {
		sets = sets[len(sets)-maxPerFamily:]
	}
	t.mu.families[family] = sets
	t.mu.changes++
	t.mu.unsaved[family] = t.mu.changes
}

// pending returns all sets of the families that the manifest has not got as they
// are, and the number of the last change in it.
func (t *metadataTable) pending() (sets []manifest.Metadata, change uint64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, family := range slices.Sorted(maps.Keys(t.mu.unsaved)) {
		for _, m := range t.mu.families[family] {
			sets = append(sets, manifest.Metadata{Family: family, Type: string(m.Type), Help: m.Help, Unit: m.Unit})
		}
	}
	return sets, t.mu.changes
}

// saved notes that the manifest has the changes up to a number.
func (t *metadataTable) saved(change uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.mu.unsaved, func(_ string, at uint64) bool { return at <= change })
}

// Metadata returns the distinct sets of type, help and unit of a metric family,
// the newest last; of all families when family is empty. A positive limit bounds
// the number of families, the first by name staying.
func (db *DB) Metadata(family string, limit int) map[string][]metadata.Metadata {
	db.metadata.mu.RLock()
	defer db.metadata.mu.RUnlock()
	out := map[string][]metadata.Metadata{}
	for _, name := range slices.Sorted(maps.Keys(db.metadata.mu.families)) {
		if limit > 0 && len(out) == limit {
			break
		}
		if family == "" || name == family {
			out[name] = slices.Clone(db.metadata.mu.families[name])
		}
	}
	return out
}
