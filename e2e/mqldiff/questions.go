package mqldiff

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// question is a request, and how its answer is to be compared.
type question struct {
	Endpoint string // query or query_range
	Params   url.Values
	Loose    looseness
}

func (q *question) String() string { return q.Endpoint + "?" + q.Params.Encode() }

// topDepth is how deep expressions are at most.
const topDepth = 4

// source makes questions of a seed.
type source struct {
	*rand.Rand
	data *dataset
}

func newSource(seed uint64, data *dataset) *source {
	return &source{rand.New(rand.NewPCG(seed, 3)), data}
}

func (s *source) next() question {
	for {
		q, g := s.question()
		if !g.several || !arbitraryOfSeveral.MatchString(q.Params.Get("query")) {
			return q
		}
	}
}

// arbitraryOfSeveral is what shows the order in which series come that differ in
// their names alone: limitk picks by hashes of names with their labels in the order
// they have, default and or take the first value.
var arbitraryOfSeveral = regexp.MustCompile(`(?i)limitk| default | or `)

// renames are functions that may give several series the same labels.
var renames = regexp.MustCompile(`(?i)label_|count_values`)

func (s *source) question() (question, *grammar) {
	q := question{Endpoint: "query_range", Params: url.Values{}}
	g := &grammar{Rand: s.Rand, data: s.data}
	if g.chance(35) {
		q.Endpoint, g.instant = "query", true
	}
	n := g.expression(place{1 + s.IntN(topDepth), true})
	if g.chance(1) {
		n.text, n.plain = g.torn(n.text), false
		g.loose |= tornText
	}
	if g.instant && n.plain && g.chance(5) {
		n.text += g.window(g.chance(60)) // raw samples, or a range
		g.loose |= anyOrder              // of raw samples: that of internal ids
		if g.chance(30) {
			n.text += " offset 3m"
		}
	}
	q.Params.Set("query", g.spelled(n.text))
	if g.instant {
		s.time(g, q.Params)
	} else {
		s.grid(g, q.Params, strings.Contains(n.text, " on (") || strings.Contains(n.text, "ignoring ("))
	}
	if g.chance(4) {
		s.odd(g, q.Params)
	}
	if g.chance(30) {
		q.Params.Set("nocache", "1")
	}
	if g.chance(11) {
		q.Params.Set("max_lookback", pick(g, "1m", "30s", "30s", "15s", "10m", "90", "20"))
	}
	if g.chance(4) && g.loose&inexactSums == 0 {
		q.Params.Set("round_digits", pick(g, "0", "1", "2", "-1", "3"))
	}
	if g.chance(2) {
		q.Params.Set("extra_label", pick(g, "job=api", "dc=east", "job=x"))
	}
	if g.chance(3) {
		q.Params.Set("extra_filters[]", pick(g, `{job=~"api|db"}`, `{instance="10.0.0.1:9100"}`, `{job="api" or dc="west"}`))
	}
	if renames.MatchString(n.text) {
		g.loose |= mergedValues
	}
	q.Loose = g.loose
	return q, g
}

// seconds spells a time or duration of milliseconds.
func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64) }

func (s *source) time(g *grammar, params url.Values) {
	t := dataStart + 10*minute + s.Int64N(100*minute)
	switch {
	case g.chance(10):
		t = dataStart + 20*minute + s.Int64N(30*minute)
	case g.chance(10):
		t = dataStart - 10*minute + s.Int64N(4*hour)
	case g.chance(6):
		t = dataStart + s.Int64N(dataEnd+hour-dataStart)
	case g.chance(40):
		t -= t % minute
	}
	if g.chance(60) {
		t -= t % 1000
	}
	params.Set("time", seconds(t))
	if g.chance(50) {
		params.Set("step", pick(g, "15", "60", "1m", "300", "10s", "1h", "0.5"))
	}
}

// odd spells arguments in other ways, or leaves them out.
func (s *source) odd(g *grammar, params url.Values) {
	name := pick(g, "start", "end", "time", "step")
	text := params.Get(name)
	if text == "" {
		return
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return
	}
	ms := int64(f * 1000)
	if name == "step" {
		params.Set(name, pick(g, "0", "1i", "-5", "x", fmt.Sprint(f, "s"), fmt.Sprint(ms, "ms"), "0.001"))
		if g.chance(50) {
			params.Del(name)
		}
		return
	}
	at := time.UnixMilli(ms).UTC()
	params.Set(name, pick(g, at.Format(time.RFC3339), at.Format("2006-01-02T15:04"), fmt.Sprint(ms), at.Format("2006-01-02T15:04:05.000Z07:00"), at.In(time.FixedZone("", 7200)).Format(time.RFC3339), "x", fmt.Sprintf("%.6f", f), fmt.Sprintf("%e", f)))
}

// grid asks for few points or many, on multiples of step or not. Where series are
// matched, series of equal labels are joined in the order of internal ids if no more
// than two values overlap: no short ranges then.
func (s *source) grid(g *grammar, params url.Values, matched bool) {
	step := pick(g, int64(10_000), 15_000, 20_000, 30_000, minute, minute, 2*minute, 5*minute, 5*minute, 17_000, 90_000, 10*minute, 2500, 1000, 5000)
	points := pick(g, int64(1), 2, 3, 10, 20, 48, 49, 50, 51, 60, 75, 75, 130, 240)
	start := dataStart + 10*minute + s.Int64N(80*minute)
	switch {
	case g.chance(8):
		start, step = dataStart+18*minute+s.Int64N(20*minute), pick(g, int64(1000), 2000, 3000, 5000, 500, 10_000)
	case g.chance(10):
		start = dataStart - 30*minute + s.Int64N(4*hour)
	case g.chance(4) && !matched:
		start, step = dataStart-s.Int64N(3*hour), pick(g, hour, 40*minute, 100*minute)
	}
	start -= start % 1000
	if g.chance(5) {
		start += 250
	}
	if matched && points > 2 {
		points, step = max(points, 20), max(step, 30_000)
	}
	end := start + (points-1)*step
	switch {
	case g.chance(45):
		start -= start % step
		end = start + (points-1)*step
	case g.chance(40):
		end += s.Int64N(step/1000+1) * 1000
	}
	params.Set("start", seconds(start))
	params.Set("end", seconds(end))
	params.Set("step", seconds(step))
	if g.chance(10) && step%1000 == 0 {
		params.Set("step", fmt.Sprintf("%ds", step/1000))
	}
}

// torn takes a piece away, or adds one: an error, mostly, and one of parsing.
func (g *grammar) torn(text string) string {
	runes := []rune(text)
	at := g.IntN(len(runes))
	if g.chance(50) {
		return string(runes[:at]) + string(runes[at+1:])
	}
	return string(runes[:at]) + pick(g, "(", ")", `"`, "[", "]", "{", "}", ",", "5", "x", "-", "@", " offset ", " by ", "$", "=") + string(runes[at:])
}
