package apidiff

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/api/apitest"
)

const recorded = "../../remote/api/testdata/upstream.txt"

// TestRecordedAnswers asks Prometheus, and varve, every request of the file
// that the unit tests of remote/api replay, and compares both with it. With
// GOLDEN_REWRITE set it records Prometheus' answers anew.
func TestRecordedAnswers(t *testing.T) {
	text, err := os.ReadFile(recorded)
	require.NoError(t, err)
	cases, err := apitest.ParseCases(string(text))
	require.NoError(t, err)
	require.Greater(t, len(cases), 250)
	prom, varve := prometheusAPI(nil, apitest.Data()), varveAPI(t, nil, apitest.Data())
	var blocks []string
	for _, c := range cases {
		want := ask(t, prom, c)
		blocks = append(blocks, c.Text+"\n----\n"+want)
		t.Run(fmt.Sprintf("line %d", c.Line), func(t *testing.T) {
			if os.Getenv("GOLDEN_REWRITE") == "" {
				require.Equal(t, c.Want, want, "the file is not what Prometheus answers to\n%s", c.Text)
			}
			require.Equal(t, want, ask(t, varve, c), "%s", c.Text)
		})
	}
	if os.Getenv("GOLDEN_REWRITE") != "" {
		require.NoError(t, os.WriteFile(recorded, []byte(strings.Join(blocks, "\n\n")+"\n"), 0o644))
	}
}

func ask(t *testing.T, h http.Handler, c apitest.Case) string {
	t.Helper()
	r, err := c.Request()
	require.NoError(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return apitest.Answer(w.Code, w.Header(), w.Body.String())
}
