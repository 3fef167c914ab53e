package vmhttp

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metricsql"
)

// MaxTime is the latest time there is, in milliseconds: nanoseconds end there.
const MaxTime = math.MaxInt64 / 1_000_000

// minTimeText and maxTimeText are how Prometheus' clients write "since ever" and
// "for ever".
const (
	minTimeText = "-292273086-05-16T16:47:06Z"
	maxTimeText = "292277025-08-18T07:12:54.999999999Z"
)

// Time returns a time in milliseconds, from 0 to MaxTime; one that is not there is
// absent, cut to whole seconds. now is what durations are relative to.
//
// A time is RFC 3339 or the beginning of it down to a year, in UTC if it names no
// offset; a number of seconds, milliseconds, microseconds or nanoseconds, which its
// size tells; "now"; or a duration before now, as in "5m", "-5m" and "now-5m".
func Time(form url.Values, name string, absent int64, now time.Time) (int64, error) {
	text := form.Get(name)
	switch text {
	case "":
		return absent - absent%1000, nil
	case minTimeText:
		return 0, nil
	case maxTimeText:
		return MaxTime, nil
	}
	ns, err := parseTime(text, now.UnixNano())
	if err != nil {
		return 0, fmt.Errorf("cannot parse %s=%s: %w", name, text, err)
	}
	ms := int64(math.Round(float64(ns) / 1e6))
	return min(max(ms, 0), MaxTime), nil
}

// layouts are the beginnings of RFC 3339 by their length.
var layouts = map[int]string{
	7: "2006-01", 10: "2006-01-02", 13: "2006-01-02T15", 16: "2006-01-02T15:04", 19: "2006-01-02T15:04:05",
}

// parseTime returns nanoseconds. (ParseTimeAt of VictoriaMetrics' lib/timeutil, with
// UTC for the local time zone.)
func parseTime(text string, now int64) (int64, error) {
	if text == "now" {
		return now, nil
	}
	s, offset, err := cutOffset(text)
	if err != nil {
		return 0, err
	}
	s = strings.TrimSuffix(s, "Z")
	switch {
	case s != "" && (s[len(s)-1] > '9' || s[0] == '-') || strings.HasPrefix(s, "now"):
		return before(now, strings.TrimPrefix(s, "now"))
	case len(s) == 4:
		return parseLayout("2006", s, offset)
	case !strings.Contains(text, "-"):
		ns, ok := parseUnix(text)
		if !ok {
			return 0, fmt.Errorf("cannot parse numeric timestamp %q", text)
		}
		return ns, nil
	}
	if layout, ok := layouts[len(s)]; ok {
		return parseLayout(layout, s, offset)
	}
	return parseLayout(time.RFC3339, text, 0)
}

// cutOffset cuts an offset as in +02:00 off, in nanoseconds.
func cutOffset(text string) (s string, offset int64, err error) {
	if len(text) <= 6 {
		return text, 0, nil
	}
	tz := text[len(text)-6:]
	if tz[0] != '-' && tz[0] != '+' || tz[3] != ':' {
		return strings.TrimSuffix(text, "Z"), 0, nil
	}
	hours, err := strconv.ParseUint(tz[1:3], 10, 64)
	if err != nil {
		return "", 0, fmt.Errorf("cannot parse hour from timezone offset %q: %w", tz, err)
	}
	minutes, err := strconv.ParseUint(tz[4:], 10, 64)
	if err != nil {
		return "", 0, fmt.Errorf("cannot parse minute from timezone offset %q: %w", tz, err)
	}
	offset = int64(hours*3600+minutes*60) * 1e9
	if tz[0] == '-' {
		offset = -offset
	}
	return text[:len(text)-6], offset, nil
}

func parseLayout(layout, s string, offset int64) (int64, error) {
	t, err := time.Parse(layout, s)
	if err != nil {
		return 0, err
	}
	return minus(t.UnixNano(), offset), nil
}

// before returns the time that lies a duration before now, whatever its sign.
func before(now int64, text string) (int64, error) {
	d, err := parseDuration(text)
	if err != nil {
		return 0, err
	}
	return minus(now, max(d, -d)), nil
}

// minus is a-b, or the end of the range it leaves.
func minus(a, b int64) int64 {
	d := a - b
	switch {
	case b >= 0 && d > a:
		return math.MinInt64
	case b < 0 && d < a:
		return math.MaxInt64
	}
	return d
}

// parseUnix reads a number of any unit: whole, with a fraction or an exponent.
func parseUnix(s string) (ns int64, ok bool) {
	mantissa, exponent := s, int64(0)
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.ParseInt(s[i+1:], 10, 64); err != nil || exponent < 0 {
			return 0, false
		}
		mantissa = s[:i]
	}
	whole, fraction, fractional := strings.Cut(mantissa, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0, false
	}
	if fractional {
		if n, ok = appendDigits(n, fraction); !ok {
			return 0, false
		}
		if mantissa != s { // the exponent takes the fraction up
			if exponent -= int64(len(fraction)); exponent < 0 {
				return 0, false
			}
		} else { // the digits are thousandths, millionths, ...
			exponent = int64((3 - len(fraction)%3) % 3)
		}
	}
	if n, ok = timesPower(n, exponent); !ok {
		return 0, false
	}
	return unitOf(n), true
}

// appendDigits puts the digits of a fraction behind a number.
func appendDigits(n int64, fraction string) (int64, bool) {
	f, err := strconv.ParseInt(fraction, 10, 64)
	if err != nil {
		return 0, false
	}
	n, ok := timesPower(n, int64(len(fraction)))
	if !ok {
		return 0, false
	}
	if n < 0 {
		f = -f
	}
	if sum := n + f; (sum >= n) == (f >= 0) {
		return sum, true
	}
	return 0, false
}

// timesPower is n*10^power, if it can be said.
func timesPower(n, power int64) (int64, bool) {
	if power > 18 {
		return 0, false
	}
	for range power {
		if n > math.MaxInt64/10 || n < math.MinInt64/10 {
			return 0, false
		}
		n *= 10
	}
	return n, true
}

// unitOf makes nanoseconds of a number by its size.
func unitOf(n int64) int64 {
	for _, unit := range []int64{1e9, 1e6, 1e3} {
		if n <= math.MaxInt64/unit && n >= math.MinInt64/unit {
			return n * unit
		}
	}
	return n
}

// maxDuration is the longest duration that an argument may be, milliseconds.
const maxDuration = 100 * 365 * 24 * 3600 * 1000

// Duration returns a positive duration in milliseconds; one that is not there, or
// "undefined", is absent. It is a number of seconds or a duration of MetricsQL.
func Duration(form url.Values, name string, absent int64) (int64, error) {
	text := form.Get(name)
	if text == "" || text == "undefined" { // Grafana sends the latter
		return absent, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		d, err := parseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("cannot parse %q=%q: %w", name, text, err)
		}
		seconds = time.Duration(d).Seconds()
	}
	ms, ok := millis(seconds)
	if !ok || ms <= 0 || ms > maxDuration {
		return 0, fmt.Errorf("%s=%dms is out of allowed range [%dms ... %dms]", name, ms, 1, int64(maxDuration))
	}
	return ms, nil
}

// millis are the whole milliseconds of seconds; ok is false if there are more than
// can be said.
func millis(seconds float64) (ms int64, ok bool) {
	f := seconds * 1e3
	if !(f >= math.MinInt64 && f < math.MaxInt64) { // nor a NaN
		return math.MinInt64, false
	}
	return int64(f), true
}

// parseDuration returns nanoseconds.
func parseDuration(text string) (int64, error) {
	ms, err := metricsql.DurationValue(text, 0)
	if err != nil {
		return 0, err
	}
	if ms < -MaxTime || ms > MaxTime {
		return 0, fmt.Errorf("duration %q must be in the range [%s, %s]", text, time.Duration(-MaxTime*1e6), time.Duration(MaxTime*1e6))
	}
	return ms * 1e6, nil
}

// Timeout returns how long a request may take: the argument timeout, but not longer
// than most. One that cannot be read, or is 0, is ignored. most of 0 sets no bound.
func Timeout(form url.Values, most time.Duration) time.Duration {
	ms, err := Duration(form, "timeout", 0)
	d := time.Duration(min(ms, MaxTime)) * time.Millisecond
	if err != nil || d <= 0 || most > 0 && d > most {
		return most
	}
	return d
}

// Bool returns whether a switch is there and says neither 0 nor no.
func Bool(form url.Values, name string) bool {
	switch strings.ToLower(form.Get(name)) {
	case "", "0", "f", "false", "no":
		return false
	}
	return true
}

// Int returns a number; one that is not there is 0.
func Int(form url.Values, name string) (int, error) {
	text := form.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("cannot parse integer %q=%q: %w", name, text, err)
	}
	return n, nil
}
