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
		unsaved  []manifest.Metadata
	}
}

// maxPerFamily bounds the distinct sets kept of one family; the oldest go.
const maxPerFamily = 10

func (t *metadataTable) load(saved map[string][]manifest.Metadata) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.families = map[string][]metadata.Metadata{}
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
	t.mu.unsaved = append(t.mu.unsaved, manifest.Metadata{Family: family, Type: string(m.Type), Help: m.Help, Unit: m.Unit})
}

// pending returns what the manifest has not got.
func (t *metadataTable) pending() []manifest.Metadata {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Clone(t.mu.unsaved)
}

// saved forgets the first entries of pending, which the manifest has now.
func (t *metadataTable) saved(done []manifest.Metadata) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.unsaved = t.mu.unsaved[len(done):]
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
