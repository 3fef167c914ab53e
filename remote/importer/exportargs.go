package importer

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/remote/internal/vmhttp"
)

// exportForm is what an export is written as.
type exportForm int

const (
	jsonLines exportForm = iota
	textLines            // Prometheus' text
	promAPI              // the answer of a range query
	csvLines             // the columns that are asked for
)

// exportArgs are the arguments of an export.
type exportArgs struct {
	mint, maxt     int64
	selectors      [][]*labels.Matcher
	maxRowsPerLine int
	form           exportForm
	columns        []string // of csvLines
}

// exportArgs reads arguments from the query and a form. extra_label and
// extra_filters[] narrow every selector. Without start or end there is no bound.
func (h *Handler) exportArgs(r *http.Request) (a exportArgs, err error) {
	if err := r.ParseForm(); err != nil {
		return a, badRequest("read form: %w", err)
	}
	l, err := vmhttp.ReadLookup(r, h.opts.ParseSelectors, h.opts.Now(), true)
	if err != nil {
		return a, badRequest("%w", err)
	}
	a.mint, a.maxt, a.selectors = l.Start, l.End, l.Sets
	if r.Form.Get("start") == "" {
		a.mint = math.MinInt64
	}
	if r.Form.Get("end") == "" {
		a.maxt = math.MaxInt64
	}
	if s := r.Form.Get("max_rows_per_line"); s != "" {
		if a.maxRowsPerLine, err = strconv.Atoi(s); err != nil || a.maxRowsPerLine < 0 {
			return a, badRequest("argument max_rows_per_line must be a number of rows, got %q", s)
		}
	}
	switch format := r.Form.Get("format"); format {
	case "":
	case "prometheus":
		a.form = textLines
	case "promapi":
		a.form = promAPI
	default:
		return a, badRequest("argument format must be prometheus, promapi or nothing, got %q", format)
	}
	return a, nil
}

// csvArgs are the exportArgs of a table: format names its columns.
func (h *Handler) csvArgs(r *http.Request) (a exportArgs, err error) {
	if err := r.ParseForm(); err != nil {
		return a, badRequest("read form: %w", err)
	}
	format := r.Form.Get("format")
	if format == "" {
		return a, badRequest("missing `format` arg")
	}
	r.Form.Del("format")
	if a, err = h.exportArgs(r); err != nil {
		return a, err
	}
	a.form, a.columns = csvLines, strings.Split(format, ",")
	for _, c := range a.columns {
		if err := checkColumn(c); err != nil {
			return a, badRequest("argument format: %w", err)
		}
	}
	return a, nil
}

// parseMillis reads a time in whole milliseconds.
func parseMillis(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number of milliseconds", s)
	}
	return n, nil
}
