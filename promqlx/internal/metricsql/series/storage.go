package series

import (
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// ranks are the labels that VictoriaMetrics stores before all others, and in which
// order: those like a job, then those like an instance. (commonTagKeys of its
// lib/storage/metric_name.go; labels of one rank keep the order in which they were
// written there, here that of their keys.)
var ranks = func() map[string]int {
	common := []string{
		"namespace", "ns", "datacenter", "dc", "environment", "env", "cluster", "service", "job", "model",
		"type", "sensor_type", "db",
		"instance", "host", "server", "pod", "node", "device", "tenant", "client", "name", "measurement",
	}
	m := make(map[string]int, 2*len(common)+1)
	for i, key := range common {
		m[key] = i + 1
		m[strings.ToUpper(key[:1])+key[1:]] = i + 1
	}
	m["SensorType"] = m["sensor_type"]
	return m
}()

// FromLabels returns the name of a stored series, its labels in the order in which
// VictoriaMetrics stores them.
func FromLabels(ls labels.Labels) Name {
	n := Name{Tags: make([]Tag, 0, ls.Len())}
	ranked := false
	ls.Range(func(l labels.Label) {
		if l.Name == NameLabel {
			n.Group = l.Value
			return
		}
		ranked = ranked || ranks[l.Name] > 0
		n.Tags = append(n.Tags, Tag{l.Name, l.Value})
	})
	if ranked {
		slices.SortStableFunc(n.Tags, compareStored)
	}
	return n
}

func compareStored(a, b Tag) int {
	x, y := ranks[a.Key], ranks[b.Key]
	switch {
	case x == y && x == 0:
		return strings.Compare(a.Key, b.Key)
	case x == 0:
		return 1
	case y == 0:
		return -1
	}
	return x - y
}
