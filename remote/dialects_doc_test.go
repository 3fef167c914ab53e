package remote_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docRow is a row of three cells, each of them code.
var docRow = regexp.MustCompile("(?m)^\\| `(.+?)` \\| `(.+?)` \\| `(.+?)` \\|$")

// The document about the dialects shows what is answered.
func TestDialectsDocument(t *testing.T) {
	text, err := os.ReadFile("../promqlx/docs/dialects.md")
	require.NoError(t, err)
	_, h := vmDoor(t)
	rows := docRow.FindAllStringSubmatch(string(text), -1)
	require.Len(t, rows, 12)
	for _, row := range rows {
		for i, dialect := range []string{"promql", "metricsql"} {
			require.Equal(t, row[2+i], shortAnswer(t, h, dialect, row[1]), "%s in %s", row[1], dialect)
		}
	}
}

// shortAnswer is an instant answer as the document writes it.
func shortAnswer(t *testing.T, h http.Handler, dialect, query string) string {
	t.Helper()
	w := getFrom(h, "/api/v1/query?time=1749942000&dialect="+dialect+"&query="+url.QueryEscape(query))
	if w.Code != http.StatusOK {
		return "error"
	}
	var answer struct {
		Data struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	if answer.Data.ResultType != "vector" {
		var point [2]any
		require.NoError(t, json.Unmarshal(answer.Data.Result, &point))
		return fmt.Sprintf("%s %v", answer.Data.ResultType, point[1])
	}
	var vector []struct {
		Metric map[string]string
		Value  [2]any
	}
	require.NoError(t, json.Unmarshal(answer.Data.Result, &vector))
	var out []string
	for _, s := range vector {
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(s.Metric)) {
			if name != "__name__" {
				pairs = append(pairs, fmt.Sprintf("%s=%q", name, s.Metric[name]))
			}
		}
		out = append(out, fmt.Sprintf("%s{%s} %v", s.Metric["__name__"], strings.Join(pairs, ","), s.Value[1]))
	}
	if out == nil {
		return "nothing"
	}
	return strings.Join(out, "; ")
}
