package importer

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/remote/internal/vmhttp"
	"github.com/varvedb/varve/tsdb/chunks"
)

// skippedTrailer counts the histograms that had no place in an export.
const skippedTrailer = "X-Varve-Skipped-Histograms"

// Export serves /api/v1/export: the series of all match[] selectors, each once, as
// JSON lines; as text with format=prometheus, or as the answer of a range query with
// format=promapi. It panics with http.ErrAbortHandler when an answer breaks off after
// its first bytes, so that a part cannot pass for the whole.
func (h *Handler) Export(w http.ResponseWriter, r *http.Request) {
	args, err := h.exportArgs(r)
	h.answerExport(w, r, args, err)
}

// contentTypes are those of the forms.
var contentTypes = [...]string{
	jsonLines: "application/stream+json; charset=utf-8",
	textLines: "text/plain; charset=utf-8",
	promAPI:   "application/json",
	csvLines:  "text/csv; charset=utf-8",
}

func (h *Handler) answerExport(w http.ResponseWriter, r *http.Request, args exportArgs, err error) {
	if err != nil {
		h.opts.WriteError(w, err)
		return
	}
	w.Header().Set("Content-Type", contentTypes[args.form])
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
	if err := e.begin(); err != nil {
		return err
	}
	for i, ms := range e.args.selectors {
		if err := h.exportSelector(ctx, e, ms, e.args.selectors[:i]); err != nil {
			return err
		}
	}
	return e.end()
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

	lset   labels.Labels // of the series
	head   []byte        // what stands before its values, or its name and labels
	values []byte
	times  []byte
	rows   int  // on the line
	more   bool // there was a line before
}

// begin writes what stands before all series.
func (e *exporter) begin() error {
	switch e.args.form {
	case promAPI:
		_, err := e.out.WriteString(`{"status":"success","data":{"resultType":"matrix","result":[`)
		return err
	case csvLines:
		_, err := e.out.WriteString(strings.Join(e.args.columns, ",") + "\n")
		return err
	}
	return nil
}

// end writes what stands behind them.
func (e *exporter) end() error {
	if e.args.form != promAPI {
		return nil
	}
	_, err := e.out.WriteString("]}}")
	return err
}

func (e *exporter) series(lset labels.Labels, c chunks.Cursor) error {
	e.lset, e.head = lset, e.head[:0]
	switch e.args.form {
	case textLines:
		e.head = appendTextLabels(e.head, lset)
	case jsonLines, promAPI:
		e.head = append(appendJSONLabels(append(e.head, `{"metric":`...), lset), `,"values":[`...)
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

// row adds a sample to the line, or makes a line of it.
func (e *exporter) row(t int64, v float64) error {
	switch e.args.form {
	case textLines:
		e.values = append(append(e.values[:0], e.head...), ' ')
		e.values = append(appendTextValue(e.values, v), ' ')
		e.values = append(strconv.AppendInt(e.values, t, 10), '\n')
		_, err := e.out.Write(e.values)
		return err
	case csvLines:
		e.values = appendCSVLine(e.values[:0], e.args.columns, e.lset, t, v)
		_, err := e.out.Write(e.values)
		return err
	}
	if e.rows > 0 {
		e.values, e.times = append(e.values, ','), append(e.times, ',')
	}
	if e.args.form == promAPI {
		e.values = vmhttp.AppendPoint(e.values, t, v)
	} else {
		e.values = appendJSONValue(e.values, v)
		e.times = strconv.AppendInt(e.times, t, 10)
	}
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
	parts := [...][]byte{nil, e.head, e.values, []byte(`],"timestamps":[`), e.times, []byte("]}\n")}
	if e.args.form == promAPI {
		parts = [...][]byte{nil, e.head, e.values, []byte("]}"), nil, nil}
		if e.more {
			parts[0] = []byte(",")
		}
	}
	for _, part := range parts {
		if _, err := e.out.Write(part); err != nil {
			return err
		}
	}
	e.values, e.times, e.rows, e.more = e.values[:0], e.times[:0], 0, true
	return nil
}
