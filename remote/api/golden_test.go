package api

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

// upstreamFile holds the answers of Prometheus v0.316.0 (3.14) over
// apitest.Data; the end-to-end module asks Prometheus again.
const upstreamFile = "testdata/upstream.txt"

// replayGolden sends each case of a file to h and compares the answers. With
// GOLDEN_REWRITE set it writes h's answers into the file instead: to be read
// before they are kept, and never done to upstream.txt, which is not ours.
func replayGolden(t *testing.T, file string, h http.Handler) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	cases, err := apitest.ParseCases(string(text))
	require.NoError(t, err)
	if os.Getenv("GOLDEN_REWRITE") != "" && file != upstreamFile {
		rewriteGolden(t, file, cases, h)
		return
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s:%d", strings.TrimPrefix(file, "testdata/"), c.Line), func(t *testing.T) {
			require.Equal(t, c.Want, answerTo(t, h, c), "%s", c.Text)
		})
	}
}

func rewriteGolden(t *testing.T, file string, cases []apitest.Case, h http.Handler) {
	t.Helper()
	var blocks []string
	for _, c := range cases {
		blocks = append(blocks, c.Text+"\n----\n"+answerTo(t, h, c))
	}
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(blocks, "\n\n")+"\n"), 0o644))
}

func answerTo(t *testing.T, h http.Handler, c apitest.Case) string {
	t.Helper()
	r, err := c.Request()
	require.NoError(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answerOf(w)
}

func answerOf(w *httptest.ResponseRecorder) string {
	return apitest.Answer(w.Code, w.Header(), w.Body.String())
}
