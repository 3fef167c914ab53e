package mqldiff

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
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
		// limitk picks by hashes of names with their labels in the order they have, which
		// is left to chance below several names.
		if !g.several || !strings.Contains(strings.ToLower(q.Params.Get("query")), "limitk") {
			return q
		}
	}
}

func (s *source) question() (question, *grammar) {
	q := question{Endpoint: "query_range", Params: url.Values{}}
	g := &grammar{Rand: s.Rand, data: s.data}
	if g.chance(35) {
		q.Endpoint, g.instant = "query", true
	}
	n := g.expression(place{1 + s.IntN(topDepth), true})
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
		s.grid(g, q.Params)
	}
	if g.chance(30) {
		q.Params.Set("nocache", "1")
	}
	if g.chance(8) {
		q.Params.Set("max_lookback", pick(g, "1m", "30s", "10m", "90"))
	}
	if g.chance(4) {
		q.Params.Set("round_digits", pick(g, "0", "1", "2", "-1", "3"))
	}
	if g.chance(2) {
		q.Params.Set("extra_label", pick(g, "job=api", "dc=east", "job=x"))
	}
	if g.chance(3) {
		q.Params.Set("extra_filters[]", pick(g, `{job=~"api|db"}`, `{instance="10.0.0.1:9100"}`, `{job="api" or dc="west"}`))
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

// grid asks for few points or many, on multiples of step or not.
func (s *source) grid(g *grammar, params url.Values) {
	step := pick(g, int64(10_000), 15_000, 20_000, 30_000, minute, minute, 2*minute, 5*minute, 5*minute, 17_000, 90_000, 10*minute, 2500, 1000, 5000)
	points := pick(g, int64(1), 2, 3, 10, 20, 48, 49, 50, 51, 60, 75)
	start := dataStart + 10*minute + s.Int64N(80*minute)
	switch {
	case g.chance(10):
		start = dataStart - 30*minute + s.Int64N(4*hour)
	case g.chance(4):
		start, step = dataStart-s.Int64N(3*hour), pick(g, hour, 40*minute, 100*minute)
	}
	start -= start % 1000
	if g.chance(5) {
		start += 250
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
