package httpcorpus

import (
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/require"
)

const (
	one    = `{"metric":{"a":"1"},"value":[0,"1"]}`
	two    = `{"metric":{"a":"2"},"value":[0,"2"]}`
	vector = `"data":{"resultType":"vector","result":[`
)

// Each thing an answer says counts.
func TestCompare(t *testing.T) {
	ok := func(body string) answer { return answer{200, []byte(`{"status":"success",` + body + `}`)} }
	want := ok(vector + one + "," + two + `]},"warnings":["x","y"]`)
	for name, c := range map[string]struct {
		ours answer
		how  sameness
	}{
		"itself":            {want, equal},
		"order of warnings": {ok(vector + one + "," + two + `]},"warnings":["y","x"]`), equal},
		"order of samples":  {ok(vector + two + "," + one + `]},"warnings":["x","y"]`), permuted},
		"a sample twice":    {ok(vector + one + "," + one + `]},"warnings":["x","y"]`), different},
		"a sample missing":  {ok(vector + one + `]},"warnings":["x","y"]`), different},
		"a warning missing": {ok(vector + one + "," + two + `]},"warnings":["x"]`), different},
		"an info":           {ok(vector + one + "," + two + `]},"infos":["x","y"]`), different},
		"the status":        {answer{422, want.body}, different},
		"an error":          {answer{200, []byte(`{"status":"error","errorType":"execution","error":"x"}`)}, different},
		"no JSON":           {answer{200, []byte(`{`)}, different},
	} {
		v := promql.Vector{{F: 1, Metric: labels.FromStrings("a", "1")}, {F: 2, Metric: labels.FromStrings("a", "2")}}
		how, err := compare(c.ours, want, &promql.Result{Value: v})
		require.Equal(t, c.how, how, name)
		require.Equal(t, c.how == different, err != nil, name)
		if c.how == permuted {
			require.Equal(t, 2.0, v[0].F, name)
		}
	}
}

func TestSeconds(t *testing.T) {
	for ms, want := range map[int64]string{0: "0.000", 1: "0.001", -1: "-0.001", 61_500: "61.500", -30_000_000: "-30000.000"} {
		require.Equal(t, want, seconds(ms))
	}
}
