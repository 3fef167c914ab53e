package series_test

import (
	"math"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

func TestStorageOrder(t *testing.T) {
	f := func(want []string, pairs ...string) {
		t.Helper()
		n := series.FromLabels(labels.FromStrings(pairs...))
		var keys []string
		for _, tag := range n.Tags {
			keys = append(keys, tag.Key)
		}
		require.Equal(t, want, keys)
	}
	f(nil, "__name__", "up")
	f([]string{"a", "b", "c"}, "c", "1", "a", "2", "b", "3", "__name__", "up")
	f([]string{"job", "instance", "code"}, "__name__", "up", "code", "200", "instance", "i", "job", "j")
	f([]string{"namespace", "db", "instance", "measurement", "A", "a"}, "a", "1", "A", "1", "measurement", "m", "instance", "i", "db", "d", "namespace", "n")
	f([]string{"Job", "Pod", "Z"}, "Job", "1", "Pod", "2", "Z", "3")
	f([]string{"SensorType", "sensor_type", "x"}, "SensorType", "1", "sensor_type", "2", "x", "3")
}

func TestNames(t *testing.T) {
	n := series.FromLabels(labels.FromStrings("__name__", "up", "job", "j", "a", "1", "b", "2"))
	require.Equal(t, "j", n.Get("job"))
	require.Equal(t, "up", n.Get("__name__"))
	require.Empty(t, n.Get("none"))

	c := n.Clone()
	require.Zero(t, series.Compare(&n, &c))
	c.Sort()
	require.NotZero(t, series.Compare(&n, &c), "the order of labels counts")
	require.Equal(t, n.AppendKey(nil), c.AppendKey(nil), "but not in a key")

	c.Set("a", "x")
	c.Set("new", "y")
	require.Equal(t, `up{a="x", b="2", job="j", new="y"}`, c.String())
	require.Equal(t, "1", n.Get("a"))
	require.NotEqual(t, n.AppendKey(nil), c.AppendKey(nil))

	c.Keep([]string{"b", "job"})
	require.Equal(t, `{b="2", job="j"}`, c.String())
	c.Set("__name__", "z")
	c.Drop([]string{"b"})
	require.Equal(t, `z{job="j"}`, c.String())
	c.Remove("__name__")
	c.Remove("job")
	require.Equal(t, `{}`, c.String())

	long := series.Name{Group: string(make([]byte, 300))}
	other := series.Name{Group: string(make([]byte, 301))}
	require.NotEqual(t, long.AppendKey(nil), other.AppendKey(nil))
	ab := series.Name{Tags: []series.Tag{{Key: "a", Value: "bc"}}}
	abc := series.Name{Tags: []series.Tag{{Key: "ab", Value: "c"}}}
	require.NotEqual(t, ab.AppendKey(nil), abc.AppendKey(nil))
}

func TestSets(t *testing.T) {
	nan := math.NaN()
	mk := func(name string, v ...float64) *series.Series {
		return &series.Series{Name: series.Name{Group: name}, Values: v}
	}
	all := []*series.Series{mk("b", 1, nan), mk("none", nan, nan), mk("a", nan, 2), series.Constant(3, 2)}
	all = series.DropEmpty(all)
	series.Sort(all)
	var names []string
	for _, s := range all {
		names = append(names, s.Name.Group)
	}
	require.Equal(t, []string{"", "a", "b"}, names)
	c := all[1].Clone()
	c.Values[0] = 5
	require.True(t, math.IsNaN(all[1].Values[0]))
}
