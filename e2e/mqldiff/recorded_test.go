package mqldiff

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The answers that VictoriaMetrics gave are ours, in memory and in parts.
func TestRecorded(t *testing.T) {
	file, err := os.ReadFile("testdata/answers.jsonl.gz")
	require.NoError(t, err)
	all, err := decodeRecords(file)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 2000)
	varve := startVarve(t, makeData(dataSeed))
	for _, state := range []string{"as loaded", "in parts"} {
		failed := 0
		for _, r := range all {
			got := askVarve(t, varve, r.question)
			if why := r.differs(got); why != "" {
				if failed++; failed <= 5 {
					t.Errorf("%s: %s\n  ask %s\n  why %s\n  got %d %s\n  want %d %s", state, r.Params.Get("query"), r.String(), why, got.Status, cut(got.Body), r.Status, cut(r.Body))
				}
			}
		}
		require.Zero(t, failed, "%s: answers that differ", state)
		varve.Get(t, "/internal/force_flush").Require(t, 200)
		varve.Get(t, "/internal/force_merge").Require(t, 200)
	}
}

// What is compared loosely is not compared too loosely.
func TestDiffers(t *testing.T) {
	f := func(same bool, loose looseness, got, want string) {
		t.Helper()
		wrap := func(items string) answer {
			return newAnswer(200, `{"status":"success","data":{"resultType":"matrix","result":[`+items+`]},"stats":{"seriesFetched": "1","executionTimeMsec":3}}`)
		}
		why := differs(loose, wrap(got), wrap(want))
		require.Equal(t, same, why == "", why)
	}
	a, b := `{"metric":{"x":"1","y":"2"},"values":[[1,"3"],[2,"4"]]}`, `{"metric":{"x":"2"},"values":[[1,"0.5"]]}`
	swapped := `{"metric":{"x":"2"},"values":[[1,"3"]]},{"metric":{"x":"1","y":"2"},"values":[[1,"0.5"],[2,"4"]]}`
	f(true, 0, a, a)
	f(false, 0, a+","+b, b+","+a)
	f(true, anyOrder, a+","+b, b+","+a)
	f(false, inexactSums, a+","+b, b+","+a)
	f(false, anyOrder, a, a+","+a)
	f(false, anyOrder, a+","+b, swapped)
	f(true, pickedValues, a+","+b, swapped)
	f(false, pickedValues, a+","+b, a)
	f(true, inexactSums, b, `{"metric":{"x":"2"},"values":[[1,"0.50000000001"]]}`)
	f(false, inexactSums, b, `{"metric":{"x":"2"},"values":[[1,"0.5001"]]}`)
	f(false, anyOrder, b, `{"metric":{"x":"2"},"values":[[1,"0.50000000001"]]}`)
	f(false, anyOrder, b, `{"metric":{"x":"2"},"values":[[2,"0.5"]]}`)
	f(false, anyOrder, b, `{"metric":{"x":"3"},"values":[[1,"0.5"]]}`)

	three := func(x, y, z string) string {
		return `{"metric":{"x":"1"},"values":[[1,"` + x + `"],[2,"` + y + `"],[3,"` + z + `"]]}`
	}
	f(true, mergedValues, three("1", "2", "3"), three("1", "9", "8"))
	f(false, mergedValues, three("1", "2", "3"), three("7", "9", "8"))
	f(false, mergedValues|anyOrder, b, `{"metric":{"x":"2"},"values":[[2,"0.5"]]}`)
	f(false, mergedValues, a+","+b, b+","+a)
	f(false, anyOrder, three("1", "2", "3"), three("1", "9", "3"))

	text := func(status int, s string) answer { return answer{Status: status, Body: s} }
	require.NotEmpty(t, differs(anyOrder, text(422, "a"), text(422, "b")))
	require.NotEmpty(t, differs(anyOrder, text(422, "a"), text(400, "a")))
	require.Empty(t, differs(0, text(422, "duplicate time series on the left side of + : x"), text(422, "duplicate time series on the left side of + : y")))
	require.NotEmpty(t, differs(0, text(422, "duplicate time series on the left side of + : x"), text(422, "other")))
	require.Empty(t, differs(mergedValues, text(422, "duplicate time series on the left side of + : x"), text(200, "a")))
	require.NotEmpty(t, differs(anyOrder, text(422, "duplicate time series on the left side of + : x"), text(200, "a")))
	require.NotEmpty(t, differs(mergedValues, text(422, "other"), text(200, "a")))
	counted := func(labels string) answer { return text(422, `a by(x) count_values("y", m) without(`+labels+`)`) }
	require.Empty(t, differs(0, counted("x"), counted("x,y")))
	require.NotEmpty(t, differs(0, counted("x"), text(422, "count_values")))
	require.NotEmpty(t, differs(0, text(422, "a by(x)"), text(422, "a by()")))
	require.Empty(t, differs(tornText, text(200, "a"), text(200, "b")))
	require.NotEmpty(t, differs(tornText, text(422, "a"), text(422, "b")))
}

// Records come back as they were.
func TestRecords(t *testing.T) {
	src := newSource(1, makeData(dataSeed))
	var all []record
	for i := range 50 {
		r, _ := newRecord(src.next(), answer{Status: 200 + i%2*222, Body: "body"})
		require.Empty(t, r.differs(answer{Status: 200 + i%2*222, Body: "body"}))
		require.NotEmpty(t, r.differs(answer{Status: 200 + i%2*222, Body: `{"data":{"result":[{}]}}`}))
		all = append(all, r)
	}
	file, err := encodeRecords(all)
	require.NoError(t, err)
	got, err := decodeRecords(file)
	require.NoError(t, err)
	require.Equal(t, all, got)
}
