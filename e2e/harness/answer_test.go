package harness

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever a server answers otherwise is found, and how JSON is written is not.
func TestAnswerDiff(t *testing.T) {
	parse := func(status int, text string) Answer {
		a, err := ParseAnswer(status, []byte(text))
		require.NoError(t, err)
		return a
	}
	const head = `{"status":"success","data":{"resultType":"matrix","result":[`
	const one, two = `{"metric":{"a":"1","b":"2"},"values":[[10,"1"],[20.5,"NaN"]]}`, `{"metric":{"a":"2"},"values":[[10,"0.1"]]}`
	want := parse(200, head+one+","+two+`]},"infos":["x","y"]}`)
	require.Len(t, want.Series, 2)
	require.Empty(t, want.Diff(want))
	require.Empty(t, want.Diff(parse(200, head+two+`, {"values":[[10, "1"],[20.5,"NaN"]],"metric":{"b":"2","a":"1"}}]},"infos":["y","x"]}`)))
	for name, got := range map[string]Answer{
		"the last digit":    parse(200, head+one+`,{"metric":{"a":"2"},"values":[[10,"0.10000000000000002"]]}]},"infos":["x","y"]}`),
		"a time":            parse(200, head+one+`,{"metric":{"a":"2"},"values":[[10.001,"0.1"]]}]},"infos":["x","y"]}`),
		"a spelling":        parse(200, head+one+`,{"metric":{"a":"2"},"values":[[10,"1e-1"]]}]},"infos":["x","y"]}`),
		"a label":           parse(200, head+one+`,{"metric":{"a":"3"},"values":[[10,"0.1"]]}]},"infos":["x","y"]}`),
		"a missing series":  parse(200, head+one+`]},"infos":["x","y"]}`),
		"a doubled series":  parse(200, head+one+","+one+","+two+`]},"infos":["x","y"]}`),
		"a missing info":    parse(200, head+one+","+two+`]},"infos":["x"]}`),
		"a further warning": parse(200, head+one+","+two+`]},"infos":["x","y"],"warnings":["z"]}`),
		"the type":          parse(200, `{"status":"success","data":{"resultType":"vector","result":[]}}`),
		"an error":          parse(422, `{"status":"error","errorType":"execution","error":"no"}`),
	} {
		require.NotEmpty(t, want.Diff(got), name)
		require.NotEmpty(t, got.Diff(want), name)
	}
	failed := parse(422, `{"status":"error","errorType":"execution","error":"no"}`)
	require.Empty(t, failed.Diff(failed))
	require.NotEmpty(t, failed.Diff(parse(422, `{"status":"error","errorType":"execution","error":"yes"}`)))
	require.NotEmpty(t, failed.Diff(parse(422, `{"status":"error","errorType":"timeout","error":"no"}`)))
	require.NotEmpty(t, parse(200, `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`).
		Diff(parse(200, `{"status":"success","data":{"resultType":"scalar","result":[1,"3"]}}`)))
	_, err := ParseAnswer(200, []byte(`{"status":`))
	require.Error(t, err)
}
