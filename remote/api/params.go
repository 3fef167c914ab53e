package api

import (
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
)

// The widest range a request can ask for: Prometheus' own bounds, which its
// clients send to mean "all time".
const (
	minUnix = math.MinInt64/1000 + 62135596801
	maxUnix = math.MaxInt64/1000 - 62135596801
)

func minTime() time.Time { return time.Unix(minUnix, 0).UTC() }
func maxTime() time.Time { return time.Unix(maxUnix, 999999999).UTC() }

// parseForm fills r.Form from the query and, for POST and PUT, from a form body
// of at most limit bytes.
func parseForm(w http.ResponseWriter, r *http.Request, limit int64) error {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = http.MaxBytesReader(w, r.Body, limit)
	}
	if err := r.ParseForm(); err != nil {
		return err
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if ct, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); ct == "multipart/form-data" {
		return r.ParseMultipartForm(limit) // nothing beyond limit, so nothing on disk
	}
	return nil
}

// parseTimeParam reads an optional time.
func parseTimeParam(r *http.Request, name string, absent time.Time) (time.Time, error) {
	val := r.Form.Get(name)
	if val == "" {
		return absent, nil
	}
	t, err := parseTime(val)
	if err != nil {
		return time.Time{}, fmt.Errorf("invalid time value for '%s': %w", name, err)
	}
	return t, nil
}

// parseTime reads unix seconds, to the millisecond, or RFC 3339. Seconds beyond
// what milliseconds can say mean the nearest time that can be said.
func parseTime(s string) (time.Time, error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsNaN(f) {
		return floatTime(f), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	// The standard library reads four-digit years only.
	switch s {
	case minTime().Format(time.RFC3339Nano):
		return minTime(), nil
	case maxTime().Format(time.RFC3339Nano):
		return maxTime(), nil
	}
	return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", s)
}

func floatTime(f float64) time.Time {
	switch {
	case f <= minUnix:
		return minTime()
	case f >= maxUnix:
		return maxTime()
	}
	sec, frac := math.Modf(f)
	frac = math.Round(frac*1000) / 1000
	return time.Unix(int64(sec), int64(frac*float64(time.Second))).UTC()
}

// parseDuration reads seconds or a Prometheus duration.
func parseDuration(s string) (time.Duration, error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		ns := f * float64(time.Second)
		if math.IsNaN(ns) || ns >= float64(math.MaxInt64) || ns < float64(math.MinInt64) {
			return 0, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", s)
		}
		return time.Duration(ns), nil
	}
	if d, err := model.ParseDuration(s); err == nil {
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("cannot parse %q to a valid duration", s)
}

// parseLimit reads an optional limit; 0 means none.
func parseLimit(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	limit, err := strconv.Atoi(s)
	if err != nil {
		return 0, err
	}
	if limit < 0 {
		return 0, errors.New("limit must be non-negative")
	}
	return limit, nil
}

// hintLimit asks the storage for one more than the limit, so that a cut is noticed.
func hintLimit(limit int) int {
	if limit > 0 && limit < math.MaxInt {
		return limit + 1
	}
	return limit
}

// errTruncated is the warning of an answer cut at the limit.
var errTruncated = errors.New("results truncated due to limit")

// parseMatchers parses match[] selectors, each of which must be able to refuse
// the empty label set.
func (a *API) parseMatchers(selectors []string) ([][]*labels.Matcher, error) {
	sets, err := a.opts.Engine.ParseMetricSelectors(selectors)
	if err != nil {
		return nil, err
	}
	for _, set := range sets {
		if matchesEmpty(set) {
			return nil, errors.New("match[] must contain at least one non-empty matcher")
		}
	}
	return sets, nil
}

func matchesEmpty(set []*labels.Matcher) bool {
	for _, m := range set {
		if m != nil && !m.Matches("") {
			return false
		}
	}
	return true
}

// lookup is what the label and series endpoints have in common.
type lookup struct {
	limit      int
	mint, maxt int64
	sets       [][]*labels.Matcher
}

// parseLookup reads limit, start, end and match[]; bad selectors are reported
// by the function badMatch, since the endpoints word them differently.
func (a *API) parseLookup(r *http.Request, badMatch func(error) result) (lookup, *apiError) {
	var l lookup
	var err error
	if l.limit, err = parseLimit(r.Form.Get("limit")); err != nil {
		return l, invalidParam(err, "limit").err
	}
	start, err := parseTimeParam(r, "start", minTime())
	if err != nil {
		return l, invalidParam(err, "start").err
	}
	end, err := parseTimeParam(r, "end", maxTime())
	if err != nil {
		return l, invalidParam(err, "end").err
	}
	if l.sets, err = a.parseMatchers(r.Form["match[]"]); err != nil {
		return l, badMatch(err).err
	}
	l.mint, l.maxt = timestamp.FromTime(start), timestamp.FromTime(end)
	return l, nil
}
