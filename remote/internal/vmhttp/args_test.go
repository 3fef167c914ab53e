package vmhttp

import (
	"errors"
	"math"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

var clock = time.UnixMilli(1_750_000_000_123)

func TestTime(t *testing.T) {
	f := func(text string, want int64) {
		t.Helper()
		got, err := Time(url.Values{"t": {text}}, "t", 1999, clock)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	f("", 1000)
	f("now", 1_750_000_000_123)
	f("5m", 1_749_999_700_123)
	f("-5m", 1_749_999_700_123)
	f("now-5m", 1_749_999_700_123)
	f("now", 1_750_000_000_123)
	f("1749942000", 1_749_942_000_000)
	f("1749942000.25", 1_749_942_000_250)
	f("1749942000.2506", 1_749_942_000_251)
	f("1.749942e9", 1_749_942_000_000)
	f("1749942e3", 1_749_942_000_000)
	f("1749942000123", 1_749_942_000_123)
	f("1749942000123456", 1_749_942_000_123)
	f("1749942000123456789", 1_749_942_000_123)
	f("0", 0)
	f("1000", 6_283_264_147_419) // a year that nanoseconds do not reach: VictoriaMetrics' answer
	f("2025", 1_735_689_600_000)
	f("2019-01Z", 1_546_300_800_000)
	f("2019-02-02", 1_549_065_600_000)
	f("2019-02-02T01", 1_549_069_200_000)
	f("2019-02-02T01:01", 1_549_069_260_000)
	f("2019-02-02T01:01:01", 1_549_069_261_000)
	f("2019-02-02T01:01:01Z", 1_549_069_261_000)
	f("2019-07-07T20:47:40+03:00", 1_562_521_660_000)
	f("2019-07-07T20:47:40-03:00", 1_562_543_260_000)
	f("2020-02-21T16:07:49.433Z", 1_582_301_269_433)
	f(minTimeText, 0)
	f(maxTimeText, MaxTime)
	f("-9223372036.854", 0)
}

func TestBadTimes(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := Time(url.Values{"start": {text}}, "start", 0, clock)
		require.EqualError(t, err, "cannot parse start="+text+": "+want)
	}
	f("abc", `cannot parse duration "abc"`)
	f("12345678901234567890", `cannot parse numeric timestamp "12345678901234567890"`)
	f("1.5e0", `cannot parse numeric timestamp "1.5e0"`)
	f("2022-x7", `parsing time "2022-x7" as "2006-01": cannot parse "x7" as "01"`)
	f("2019-07-07T20:47:40+0x:00", `cannot parse hour from timezone offset "+0x:00": strconv.ParseUint: parsing "0x": invalid syntax`)
}

func TestDuration(t *testing.T) {
	f := func(text string, want int64) {
		t.Helper()
		got, err := Duration(url.Values{"step": {text}}, "step", 42)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	f("", 42)
	f("undefined", 42)
	f("1.234", 1234)
	f("1e2", 100_000)
	f("1.23ms", 1)
	f("2s-5ms", 1995)
	f("5m3.5s", 303_500)
	f("7d5h4m3s534ms", 623_043_534)

	bad := func(text, want string) {
		t.Helper()
		_, err := Duration(url.Values{"step": {text}}, "step", 42)
		require.EqualError(t, err, want)
	}
	bad("0", "step=0ms is out of allowed range [1ms ... 3153600000000ms]")
	bad("1i", "step=0ms is out of allowed range [1ms ... 3153600000000ms]")
	bad("-5", "step=-5000ms is out of allowed range [1ms ... 3153600000000ms]")
	bad("1e10", "step=10000000000000ms is out of allowed range [1ms ... 3153600000000ms]")
	bad("abc", `cannot parse "step"="abc": cannot parse duration "abc"`)
	_, err := Duration(url.Values{"step": {"NaN"}}, "step", 42)
	require.Error(t, err)
}

func TestSwitchesAndNumbers(t *testing.T) {
	for _, text := range []string{"", "0", "f", "False", "no", "NO"} {
		require.False(t, Bool(url.Values{"b": {text}}, "b"), text)
	}
	for _, text := range []string{"1", "t", "yes", "x"} {
		require.True(t, Bool(url.Values{"b": {text}}, "b"), text)
	}
	n, err := Int(url.Values{"limit": {"12"}}, "limit")
	require.NoError(t, err)
	require.Equal(t, 12, n)
	_, err = Int(url.Values{"limit": {"x"}}, "limit")
	require.EqualError(t, err, `cannot parse integer "limit"="x": strconv.Atoi: parsing "x": invalid syntax`)

	require.Equal(t, time.Minute, Timeout(url.Values{"timeout": {"abc"}}, time.Minute))
	require.Equal(t, time.Minute, Timeout(url.Values{"timeout": {"2m"}}, time.Minute))
	require.Equal(t, time.Second, Timeout(url.Values{"timeout": {"1"}}, time.Minute))
	require.Equal(t, 2*time.Hour, Timeout(url.Values{"timeout": {"2h"}}, 0))
}

// parseWords makes a set of each word, for tests.
func parseWords(text string) (sets [][]*labels.Matcher, err error) {
	if text == "bad" {
		return nil, errors.New("is bad")
	}
	for word := range strings.FieldsSeq(text) {
		sets = append(sets, []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "w", word)})
	}
	return sets, nil
}

func describe(sets [][]*labels.Matcher) string {
	var out []string
	for _, set := range sets {
		var words []string
		for _, m := range set {
			words = append(words, m.Value)
		}
		out = append(out, strings.Join(words, "+"))
	}
	return strings.Join(out, " ")
}

func TestReadLookup(t *testing.T) {
	read := func(query, body string, needsMatch bool) (Lookup, error) {
		r := httptest.NewRequest("POST", "/x?"+query, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		require.NoError(t, r.ParseForm())
		return ReadLookup(r, parseWords, clock, needsMatch)
	}
	f := func(query, body string, start, end int64, sets string) {
		t.Helper()
		l, err := read(query, body, false)
		require.NoError(t, err)
		require.Equal(t, start, l.Start)
		require.Equal(t, end, l.End)
		require.Equal(t, sets, describe(l.Sets))
	}
	f("", "", 0, 1_750_000_000_000, "")
	f("start=20&end=10", "", 20_000, 20_000, "")
	f("match[]=a+b&match=c", "match[]=d", 0, 1_750_000_000_000, "d a b c")
	f("match[]=a+b&extra_filters[]=x+y&extra_label=k=v=w", "", 0, 1_750_000_000_000, "a+x+v=w a+y+v=w b+x+v=w b+y+v=w")
	f("extra_label=k=v&extra_label=l=w", "", 0, 1_750_000_000_000, "v+w")
	f("extra_filters=x", "extra_filters=y&extra_filters[]=z", 0, 1_750_000_000_000, "x z")

	bad := func(query, want string) {
		t.Helper()
		_, err := read(query, "", true)
		require.EqualError(t, err, want)
	}
	bad("", "missing `match[]` arg")
	bad("match[]=bad", "cannot parse matches[]=bad: is bad")
	bad("match[]=a&extra_filters[]=bad", "cannot parse extra_filters=bad: is bad")
	bad("match[]=a&extra_label=bad", "`extra_label` query arg must have the format `name=value`; got \"bad\"")
	bad("match[]=a&start=abc", `cannot parse start=abc: cannot parse duration "abc"`)
}

// No text panics, and what is read is in range.
func FuzzTimes(f *testing.F) {
	for _, s := range []string{"now-5m", "2019-07-07T20:47:40+03:00", "1.5e3", "-1", "9223372036854775807", "00000", "-00000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		form := url.Values{"x": {text}}
		if ms, err := Time(form, "x", 0, clock); err == nil {
			require.True(t, ms >= 0 && ms <= MaxTime, "%q is %d", text, ms)
		}
		if ms, err := Duration(form, "x", 1); err == nil {
			require.True(t, ms > 0 && ms <= maxDuration, "%q is %d", text, ms)
		}
		require.LessOrEqual(t, Timeout(form, 0), time.Duration(math.MaxInt64))
	})
}
