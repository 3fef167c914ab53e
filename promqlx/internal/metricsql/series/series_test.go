package series_test

import (
	"errors"
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

func TestMerge(t *testing.T) {
	nan := math.NaN()
	f := func(ok bool, want, dst, src []float64) {
		t.Helper()
		require.Equal(t, ok, series.Merge(dst, src))
		for i := range want {
			require.Equal(t, math.Float64bits(want[i]), math.Float64bits(dst[i]), "%v", dst)
		}
	}
	f(true, []float64{1, 5, 6, nan}, []float64{1, 2, 3, nan}, []float64{nan, 5, 6, nan})
	f(false, []float64{1, 2, 3, nan}, []float64{1, 2, 3, nan}, []float64{4, 5, 6, nan})
	f(false, []float64{1, nan}, []float64{1, nan}, []float64{nan, 2})
}

func TestArguments(t *testing.T) {
	one := []*series.Series{series.Constant(2, 3)}
	v, err := series.Scalar(one, 0)
	require.NoError(t, err)
	require.Equal(t, []float64{2, 2, 2}, v)
	_, err = series.Scalar(nil, 1)
	require.EqualError(t, err, "arg #2 must be a scalar")
	_, err = series.Text(one, 0)
	require.EqualError(t, err, "arg #1 must be a string")
	one = []*series.Series{{Name: series.Name{Group: "text"}, Values: []float64{math.NaN()}}}
	text, err := series.Text(one, 0)
	require.NoError(t, err)
	require.Equal(t, "text", text)
}

func TestPace(t *testing.T) {
	asked := 0
	ended := errors.New("ended")
	p := &series.Pace{Ended: func() error {
		if asked++; asked < 3 {
			return nil
		}
		return ended
	}}
	n := 0
	for !p.Over(1000) {
		n++
	}
	require.ErrorIs(t, p.Err(), ended)
	require.Greater(t, n, 1000, "it is seldom asked")
	require.True(t, p.Over(0))
	require.Equal(t, 3, asked)

	p = &series.Pace{}
	require.False(t, p.Over(1<<40))
	p.Stop(ended)
	p.Stop(errors.New("later"))
	require.True(t, p.Over(1))
	require.Equal(t, ended, p.Err())

	p = nil
	require.False(t, p.Over(1<<40))
	p.Stop(ended)
	require.NoError(t, p.Err())
}
