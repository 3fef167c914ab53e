package importer_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/remote/importer"
	"github.com/varvedb/varve/tsdb/chunks"
)

// model is the obvious store: samples of each series by time, last write wins.
// It refuses times before 0 and hands out histograms it was given.
type model struct {
	mu       sync.Mutex
	series   map[string]*modelSeries
	commits  []int // samples of each
	failWith error // of Add, after failFrom samples
	failFrom int
	discards int
	endWith  error // of cursors
}

type modelSeries struct {
	lset    labels.Labels
	samples map[int64]float64
	more    []chunks.Span
}

func newModel() *model { return &model{series: map[string]*modelSeries{}} }

func (m *model) get(lset labels.Labels) *modelSeries {
	key := lset.String()
	s := m.series[key]
	if s == nil {
		s = &modelSeries{lset: lset.Copy(), samples: map[int64]float64{}}
		m.series[strings.Clone(key)] = s
	}
	return s
}

func (m *model) Batch() importer.Batch { return &modelBatch{m: m} }

type modelBatch struct {
	m       *model
	lsets   []labels.Labels
	times   []int64
	values  []float64
	isEnded bool
}

func (b *modelBatch) Add(lset labels.Labels, times []int64, values []float64) (refused string, err error) {
	for i, t := range times {
		if b.m.failWith != nil && len(b.times) >= b.m.failFrom {
			return "", b.m.failWith
		}
		if t < 0 {
			refused = "time is before 1970"
			continue
		}
		b.lsets, b.times, b.values = append(b.lsets, lset.Copy()), append(b.times, t), append(b.values, values[i])
	}
	return refused, nil
}

func (b *modelBatch) Len() int { return len(b.times) }

func (b *modelBatch) Commit(context.Context) error {
	if b.isEnded {
		return errors.New("batch was ended")
	}
	b.isEnded = true
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	b.m.commits = append(b.m.commits, len(b.times))
	for i, t := range b.times {
		b.m.get(b.lsets[i]).samples[t] = b.values[i]
	}
	return nil
}

func (b *modelBatch) Discard() { b.isEnded = true; b.m.discards++ }

func (m *model) Select(_ context.Context, mint, maxt int64, matchers ...*labels.Matcher) (importer.View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := &modelView{endWith: m.endWith}
	for _, s := range m.series {
		matched := true
		for _, x := range matchers {
			matched = matched && x.Matches(s.lset.Get(x.Name))
		}
		if matched {
			v.lsets = append(v.lsets, s.lset)
			v.spans = append(v.spans, s.spans())
		}
	}
	byLabels := make([]int, len(v.lsets))
	for i := range byLabels {
		byLabels[i] = i
	}
	slices.SortFunc(byLabels, func(a, b int) int { return labels.Compare(v.lsets[a], v.lsets[b]) })
	v.order = byLabels
	return v, nil
}

// spans makes several spans of the samples, as a store would.
func (s *modelSeries) spans() []chunks.Span {
	var times []int64
	for t := range s.samples {
		times = append(times, t)
	}
	slices.Sort(times)
	var out []chunks.Span
	for part := range slices.Chunk(times, 50) {
		sp := chunks.Span{Kind: 1, Count: len(part), Times: part}
		for _, t := range part {
			sp.Floats = append(sp.Floats, s.samples[t])
		}
		out = append(out, sp)
	}
	out = append(out, s.more...)
	slices.SortFunc(out, func(a, b chunks.Span) int { return cmp.Compare(a.MinT(), b.MinT()) })
	return out
}

type modelView struct {
	lsets   []labels.Labels
	spans   [][]chunks.Span
	order   []int
	endWith error
}

func (v *modelView) Len() int                   { return len(v.lsets) }
func (v *modelView) Labels(i int) labels.Labels { return v.lsets[v.order[i]] }
func (v *modelView) Close()                     {}
func (v *modelView) Cursor(i int, mint, maxt int64) chunks.Cursor {
	c := &modelCursor{err: v.endWith}
	for _, s := range v.spans[v.order[i]] {
		if s := s.Clip(mint, maxt); s.Count > 0 {
			c.spans = append(c.spans, s)
		}
	}
	return c
}

type modelCursor struct {
	spans []chunks.Span
	i     int
	err   error
}

func (c *modelCursor) Next() bool         { c.i++; return c.i <= len(c.spans) }
func (c *modelCursor) Span() *chunks.Span { return &c.spans[c.i-1] }
func (c *modelCursor) Err() error         { return c.err }

// serve routes a request as the server does.
func serve(h *importer.Handler, method, target string, body io.Reader, header map[string]string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, target, body)
	for k, v := range header {
		req.Header.Set(k, v)
	}
	rec := httptest.NewRecorder()
	switch path := strings.TrimPrefix(req.URL.Path, "/prometheus"); {
	case path == "/api/v1/import":
		h.ImportJSON(rec, req)
	case path == "/api/v1/import/csv":
		h.ImportCSV(rec, req)
	case path == "/api/v1/export":
		h.Export(rec, req)
	case path == "/api/v1/export/csv":
		h.ExportCSV(rec, req)
	case strings.HasPrefix(path, "/api/v1/import/prometheus"):
		h.ImportText(rec, req)
	default:
		http.NotFound(rec, req)
	}
	return rec
}

func post(h *importer.Handler, target, body string) *httptest.ResponseRecorder {
	return serve(h, http.MethodPost, target, bytes.NewReader([]byte(body)), nil)
}

func get(h *importer.Handler, target string) *httptest.ResponseRecorder {
	return serve(h, http.MethodGet, target, nil, nil)
}
