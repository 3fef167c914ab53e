package importer

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/remote/internal/vmhttp"
)

// The columns of a table that are no labels.
const (
	valueColumn = "__value__"
	timeColumn  = "__timestamp__" // milliseconds, unless a unit follows it behind a colon
)

// ExportCSV serves /api/v1/export/csv: a line of the columns' names, then a line for
// every sample of the series of all match[] selectors. The argument format names the
// columns: labels, __value__, and __timestamp__:unix_s, unix_ms, unix_ns, rfc3339 or
// custom:LAYOUT, a layout of Go's package time. It breaks off as Export does.
func (h *Handler) ExportCSV(w http.ResponseWriter, r *http.Request) {
	args, err := h.csvArgs(r)
	h.answerExport(w, r, args, err)
}

// checkColumn tells whether a column can be written.
func checkColumn(c string) error {
	unit, ok := strings.CutPrefix(c, timeColumn+":")
	if !ok || strings.HasPrefix(unit, "custom:") {
		return nil
	}
	switch unit {
	case "unix_s", "unix_ms", "unix_ns", "rfc3339":
		return nil
	}
	return fmt.Errorf("a time is of unix_s, unix_ms, unix_ns, rfc3339 or custom:LAYOUT, got %q", unit)
}

// appendCSVLine appends a sample. Times are UTC's.
func appendCSVLine(dst []byte, columns []string, lset labels.Labels, t int64, v float64) []byte {
	for i, c := range columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		unit, isTime := strings.CutPrefix(c, timeColumn)
		switch {
		case c == valueColumn:
			dst = vmhttp.AppendNumber(dst, v)
		case isTime && (unit == "" || unit[0] == ':'):
			dst = appendCSVTime(dst, strings.TrimPrefix(unit, ":"), t)
		default:
			dst = appendCSVField(dst, lset.Get(c))
		}
	}
	return append(dst, '\n')
}

func appendCSVTime(dst []byte, unit string, t int64) []byte {
	switch unit {
	case "", "unix_ms":
		return strconv.AppendInt(dst, t, 10)
	case "unix_s":
		return strconv.AppendInt(dst, t/1000, 10)
	case "unix_ns":
		return strconv.AppendInt(dst, t*1e6, 10)
	case "rfc3339":
		return time.UnixMilli(t).UTC().AppendFormat(dst, "2006-01-02T15:04:05.999Z07:00")
	}
	layout := strings.TrimPrefix(unit, "custom:")
	return appendCSVField(dst, time.UnixMilli(t).UTC().Format(layout))
}

// appendCSVField appends a text, quoted as JSON is if it would break the line: that
// is how VictoriaMetrics does it.
func appendCSVField(dst []byte, s string) []byte {
	if strings.ContainsAny(s, "\",\n") {
		return vmhttp.AppendString(dst, s)
	}
	return append(dst, s...)
}
