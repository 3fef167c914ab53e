package importer

import (
	"bufio"
	"context"
	"net/http"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/chunks"
)

// skippedTrailer counts the histograms that had no place in an export.
const skippedTrailer = "X-Varve-Skipped-Histograms"

// Export serves /api/v1/export: the series of all match[] selectors, each once.
// It panics with http.ErrAbortHandler when an answer breaks off after its first
// bytes, so that a part cannot pass for the whole.
func (h *Handler) Export(w http.ResponseWriter, r *http.Request) {
	args, err := h.exportArgs(r)
	if err != nil {
		h.opts.WriteError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/stream+json; charset=utf-8")
	if args.text {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	w.Header().Set("Trailer", skippedTrailer)
	sent := &startedWriter{w: w}
	e := exporter{args: args, out: bufio.NewWriterSize(sent, defaultExportBufferLen), maxLineBytes: h.opts.MaxExportLineBytes}
	err = h.export(r.Context(), &e)
	if err == nil {
		err = e.out.Flush()
	}
	switch {
	case err == nil:
		w.Header().Set(skippedTrailer, strconv.Itoa(e.skipped))
	case sent.started:
		panic(http.ErrAbortHandler)
	default:
		w.Header().Del("Content-Type")
		w.Header().Del("Trailer")
		h.opts.WriteError(w, err)
	}
}

// startedWriter knows whether anything was handed on.
type startedWriter struct {
	w       http.ResponseWriter
	started bool
}

func (s *startedWriter) Write(p []byte) (int, error) {
	s.started = true
	return s.w.Write(p)
}

func (h *Handler) export(ctx context.Context, e *exporter) error {
	for i, ms := range e.args.selectors {
		if err := h.exportSelector(ctx, e, ms, e.args.selectors[:i]); err != nil {
			return err
		}
	}
	return nil
}

// exportSelector writes the series of one selector that no selector before it
// has brought.
func (h *Handler) exportSelector(ctx context.Context, e *exporter, ms []*labels.Matcher, before [][]*labels.Matcher) error {
	if e.args.mint > e.args.maxt {
		return nil
	}
	view, err := h.store.Select(ctx, e.args.mint, e.args.maxt, ms...)
	if err != nil {
		return err
	}
	defer view.Close()
	for i := range view.Len() {
		lset := view.Labels(i)
		if matchesAny(lset, before) {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := e.series(lset, view.Cursor(i, e.args.mint, e.args.maxt)); err != nil {
			return err
		}
	}
	return nil
}

func matchesAny(lset labels.Labels, selectors [][]*labels.Matcher) bool {
	for _, ms := range selectors {
		if matchesAll(lset, ms) {
			return true
		}
	}
	return false
}

func matchesAll(lset labels.Labels, ms []*labels.Matcher) bool {
	for _, m := range ms {
		if !m.Matches(lset.Get(m.Name)) {
			return false
		}
	}
	return true
}

// exporter writes series as lines. It holds one line.
type exporter struct {
	args         exportArgs
	out          *bufio.Writer
	maxLineBytes int
	skipped      int // histograms

	head   []byte // of the series: what stands before its values, or its name and labels
	values []byte
	times  []byte
	rows   int // on the line
}

func (e *exporter) series(lset labels.Labels, c chunks.Cursor) error {
	if e.args.text {
		e.head = appendTextLabels(e.head[:0], lset)
	} else {
		e.head = append(appendJSONLabels(append(e.head[:0], `{"metric":`...), lset), `,"values":[`...)
	}
	for c.Next() {
		s := c.Span()
		if s.Histograms != nil || s.FloatHistograms != nil {
			e.skipped += s.Count
			continue
		}
		for i := range s.Count {
			if err := e.row(s.Time(i), s.Float(i)); err != nil {
				return err
			}
		}
	}
	if err := c.Err(); err != nil {
		return err
	}
	return e.endLine()
}

// row adds a sample to the line, or in text makes a line of it.
func (e *exporter) row(t int64, v float64) error {
	if e.args.text {
		e.values = append(append(e.values[:0], e.head...), ' ')
		e.values = append(appendTextValue(e.values, v), ' ')
		e.values = append(strconv.AppendInt(e.values, t, 10), '\n')
		_, err := e.out.Write(e.values)
		return err
	}
	if e.rows > 0 {
		e.values, e.times = append(e.values, ','), append(e.times, ',')
	}
	e.values = appendJSONValue(e.values, v)
	e.times = strconv.AppendInt(e.times, t, 10)
	e.rows++
	if e.rows == e.args.maxRowsPerLine || len(e.head)+len(e.values)+len(e.times) >= e.maxLineBytes {
		return e.endLine()
	}
	return nil
}

// endLine writes the line, if it has rows.
func (e *exporter) endLine() error {
	if e.rows == 0 {
		return nil
	}
	for _, part := range [][]byte{e.head, e.values, []byte(`],"timestamps":[`), e.times, []byte("]}\n")} {
		if _, err := e.out.Write(part); err != nil {
			return err
		}
	}
	e.values, e.times, e.rows = e.values[:0], e.times[:0], 0
	return nil
}
