package remote

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

// Requests are counted by the status that their client got.
func TestMeter(t *testing.T) {
	m := newMeter(prometheus.NewRegistry())
	f := func(code string, serve http.HandlerFunc) *httptest.ResponseRecorder {
		t.Helper()
		h := m.instrument("a", serve)
		for range 3 {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		}
		require.Equal(t, 3.0, testutil.ToFloat64(m.requests.WithLabelValues("a", code)))
		m.requests.Reset()
		w := httptest.NewRecorder()
		m.instrument("b", serve).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		return w
	}
	f("200", func(http.ResponseWriter, *http.Request) {})
	f("200", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil); w.WriteHeader(500) })
	f("404", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); w.WriteHeader(500) })
	f("204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(204) })
	flushed := f("200", func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		w.WriteHeader(500)
	})
	require.True(t, flushed.Flushed)
	f("200", func(w http.ResponseWriter, _ *http.Request) {
		require.ErrorIs(t, http.NewResponseController(w).EnableFullDuplex(), http.ErrNotSupported)
	})
	require.Equal(t, 2, testutil.CollectAndCount(m.duration), "routes")
}
