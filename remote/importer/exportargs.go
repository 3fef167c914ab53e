package importer

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// exportArgs are the arguments of an export.
type exportArgs struct {
	mint, maxt     int64
	selectors      [][]*labels.Matcher
	maxRowsPerLine int
	text           bool // Prometheus' text instead of JSON
}

// exportArgs reads arguments from the query and a form. extra_label and
// extra_filters[] narrow every selector.
func (h *Handler) exportArgs(r *http.Request) (a exportArgs, err error) {
	if err := r.ParseForm(); err != nil {
		return a, badRequest("read form: %w", err)
	}
	a.mint, a.maxt = math.MinInt64, math.MaxInt64
	for name, dst := range map[string]*int64{"start": &a.mint, "end": &a.maxt} {
		if s := r.Form.Get(name); s != "" {
			if *dst, err = parseTimeArg(s); err != nil {
				return a, badRequest("argument %s: %w", name, err)
			}
		}
	}
	if s := r.Form.Get("max_rows_per_line"); s != "" {
		if a.maxRowsPerLine, err = strconv.Atoi(s); err != nil || a.maxRowsPerLine < 0 {
			return a, badRequest("argument max_rows_per_line must be a number of rows, got %q", s)
		}
	}
	switch format := r.Form.Get("format"); format {
	case "":
	case "prometheus":
		a.text = true
	default:
		return a, badRequest("argument format must be prometheus or nothing, got %q", format)
	}
	a.selectors, err = h.exportSelectors(r)
	return a, err
}

func (h *Handler) exportSelectors(r *http.Request) ([][]*labels.Matcher, error) {
	if len(r.Form["match[]"]) == 0 {
		return nil, badRequest("missing `match[]` arg")
	}
	extra, err := extraLabels(r.Form)
	if err != nil {
		return nil, err
	}
	var narrow []*labels.Matcher
	for _, l := range extra {
		narrow = append(narrow, labels.MustNewMatcher(labels.MatchEqual, l.Name, l.Value))
	}
	for _, name := range []string{"extra_filters", "extra_filters[]"} {
		for _, s := range r.Form[name] {
			ms, err := h.opts.ParseSelector(s)
			if err != nil {
				return nil, badRequest("argument %s: %w", name, err)
			}
			narrow = append(narrow, ms...)
		}
	}
	var out [][]*labels.Matcher
	for _, s := range r.Form["match[]"] {
		ms, err := h.opts.ParseSelector(s)
		if err != nil {
			return nil, badRequest("argument match[]: %w", err)
		}
		out = append(out, append(ms, narrow...))
	}
	return out, nil
}

// parseMillis reads a time in whole milliseconds.
func parseMillis(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number of milliseconds", s)
	}
	return n, nil
}

// parseTimeArg reads a time: RFC 3339 or the beginning of it in UTC, or a number
// whose unit its size tells (seconds, milliseconds, microseconds, nanoseconds).
func parseTimeArg(s string) (ms int64, err error) {
	if v, err := parseFloat(s); err == nil {
		return unixMillis(v)
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15", "2006-01-02", "2006-01"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixMilli(), nil
		}
	}
	return 0, fmt.Errorf("%q is not a time", s)
}

func unixMillis(v float64) (int64, error) {
	const unit = 1 << 31
	switch a := math.Abs(v); {
	case a < unit:
		return int64(math.Round(v * 1e3)), nil
	case a < unit*1e3:
		return int64(v), nil
	case a < unit*1e6:
		return int64(v / 1e3), nil
	case a < unit*1e9:
		return int64(v / 1e6), nil
	}
	return 0, errors.New("a time beyond all years")
}
