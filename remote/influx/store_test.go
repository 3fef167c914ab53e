package influx

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

// door is a handler over a store of its own.
type door struct {
	t   testing.TB
	dir string
	db  *tsdb.DB
	h   *Handler
	mux *http.ServeMux
}

func openDoor(t testing.TB, opts Options) *door {
	return openDoorOn(t, tsdb.Options{}, opts)
}

func openDoorOn(t testing.TB, storeOpts tsdb.Options, opts Options) *door {
	d := openDoorAt(t, t.TempDir(), storeOpts, opts)
	t.Cleanup(func() { _ = d.db.Close() })
	return d
}

func openDoorAt(t testing.TB, dir string, storeOpts tsdb.Options, opts Options) *door {
	db, err := tsdb.Open(dir, storeOpts)
	require.NoError(t, err)
	d := &door{t: t, dir: dir, db: db, h: New(db, opts), mux: http.NewServeMux()}
	d.h.Register(d.mux)
	return d
}

func (d *door) send(req *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	d.mux.ServeHTTP(w, req)
	return w
}

// write posts lines to a path and returns the status and the message.
func (d *door) write(path, body string) (int, string) {
	w := d.send(httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

type stored struct {
	lset    labels.Labels
	samples []storedSample
}

type storedSample struct {
	t int64
	v float64
}

// all returns the series that match a selector, in label order.
func (d *door) all(selector string) []stored {
	ms, err := parser.NewParser(parser.Options{}).ParseMetricSelector(selector)
	require.NoError(d.t, err, selector)
	view, err := d.db.Select(context.Background(), math.MinInt64, math.MaxInt64, ms...)
	require.NoError(d.t, err)
	defer view.Close()
	var out []stored
	for i := range view.Len() {
		s := stored{lset: view.Labels(i)}
		c := view.Cursor(i, math.MinInt64, math.MaxInt64)
		for c.Next() {
			span := c.Span()
			for j := range span.Count {
				s.samples = append(s.samples, storedSample{span.Time(j), span.Float(j)})
			}
		}
		require.NoError(d.t, c.Err())
		out = append(out, s)
	}
	return out
}

// text spells out the series that match a selector, one a line: labels and
// time=value.
func (d *door) text(selector string) string {
	var b strings.Builder
	for _, s := range d.all(selector) {
		b.WriteString(s.lset.String())
		for _, p := range s.samples {
			fmt.Fprintf(&b, " %d=%v", p.t, p.v)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
