package tsbs

import (
	"fmt"
	"math/rand"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Query is one question to the endpoints of MetricsQL.
type Query struct {
	Type string
	// Path is the request below the prefix of the dialect: /api/v1/query_range?...
	Path string
	// What is asked for, of the types that are not TSBS' own: rows from Start on and
	// before End, in seconds. Hosts is nil for all.
	Hosts      []int
	Start, End int64
}

// Kind is a type of questions.
type Kind struct {
	Name string
	// Asked tells whether TSBS' adapter for VictoriaMetrics asks it.
	Asked bool

	metrics, hosts int // 0 hosts: all
	over           time.Duration
	query          func(d *dice, k Kind) Query
}

// Kinds returns all types, in the order in which [Answers] has them; then those that
// TSBS does not ask VictoriaMetrics.
func Kinds() []Kind {
	const hour = time.Hour
	kinds := []Kind{
		{Name: "single-groupby-1-1-1", metrics: 1, hosts: 1, over: hour, query: singleGroupBy},
		{Name: "single-groupby-1-1-12", metrics: 1, hosts: 1, over: 12 * hour, query: singleGroupBy},
		{Name: "single-groupby-1-8-1", metrics: 1, hosts: 8, over: hour, query: singleGroupBy},
		{Name: "single-groupby-5-1-1", metrics: 5, hosts: 1, over: hour, query: singleGroupBy},
		{Name: "single-groupby-5-1-12", metrics: 5, hosts: 1, over: 12 * hour, query: singleGroupBy},
		{Name: "single-groupby-5-8-1", metrics: 5, hosts: 8, over: hour, query: singleGroupBy},
		{Name: "cpu-max-all-1", metrics: 10, hosts: 1, over: 8 * hour, query: maxAll},
		{Name: "cpu-max-all-8", metrics: 10, hosts: 8, over: 8 * hour, query: maxAll},
		{Name: "double-groupby-1", metrics: 1, over: 12 * hour, query: doubleGroupBy},
		{Name: "double-groupby-5", metrics: 5, over: 12 * hour, query: doubleGroupBy},
		{Name: "double-groupby-all", metrics: 10, over: 12 * hour, query: doubleGroupBy},
	}
	for i := range kinds {
		kinds[i].Asked = true
	}
	return append(kinds,
		Kind{Name: "high-cpu-1", metrics: 10, hosts: 1, over: 12 * hour, query: highCPU},
		Kind{Name: "high-cpu-all", metrics: 10, over: 12 * hour, query: highCPU},
		Kind{Name: "lastpoint", metrics: 10, query: lastPoint},
		Kind{Name: "groupby-orderby-limit", metrics: 1, over: hour, query: lastMinutes})
}

// Queries returns the first n questions of a type: as many draws as it takes from the
// seed anew, so that no type depends on another. It panics where TSBS does: if fewer
// hosts than asked for exist, or less time.
func (o Options) Queries(k Kind, n int) []Query {
	d := &dice{rand.New(rand.NewSource(o.withDefaults().Seed)), o.withDefaults(), 0}
	out := make([]Query, 0, n)
	for ; d.asked < n; d.asked++ {
		q := k.query(d, k)
		q.Type = k.Name
		out = append(out, q)
	}
	return out
}

// dice draws what questions leave open.
type dice struct {
	*rand.Rand
	Options
	asked int
}

// choose draws hosts until there are n different ones.
func (d *dice) choose(n int) []int {
	if n > d.Hosts {
		panic(fmt.Sprintf("tsbs: %d hosts asked for, there are %d", n, d.Hosts))
	}
	var hosts []int
	seen := map[int]bool{}
	for len(hosts) < n {
		if host := d.Intn(d.Hosts); !seen[host] {
			seen[host] = true
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// window draws a piece of the time of the data, to the nanosecond, and returns its
// ends in whole seconds. The time ends a second later than the data, as TSBS advises.
func (d *dice) window(over time.Duration) (start, end int64) {
	first := d.Start.UnixNano()
	at := first + d.Int63n(int64(d.Span+time.Second-over))
	return at / 1e9, (at + int64(over)) / 1e9
}

// singleGroupBy asks for the highest value of each minute over some hosts. The draws:
// the hosts, the time.
func singleGroupBy(d *dice, k Kind) Query {
	hosts := d.choose(k.hosts)
	start, end := d.window(k.over)
	return rangeQuery("max(max_over_time("+selector(k.metrics, hosts)+"[1m])) by (__name__)", start, end, 60)
}

// maxAll asks for the highest value of each hour. It draws as singleGroupBy.
func maxAll(d *dice, k Kind) Query {
	hosts := d.choose(k.hosts)
	start, end := d.window(k.over)
	return rangeQuery("max(max_over_time("+selector(k.metrics, hosts)+"[1h])) by (__name__)", start, end, 3600)
}

// doubleGroupBy asks for the average of each hour and host. It draws the time.
func doubleGroupBy(d *dice, k Kind) Query {
	start, end := d.window(k.over)
	return rangeQuery("avg(avg_over_time("+selector(k.metrics, nil)+"[1h])) by (__name__, hostname)", start, end, 3600)
}

// selector spells out the first metrics of some hosts, of all without any.
func selector(metrics int, hosts []int) string {
	var names []string
	for _, host := range hosts {
		names = append(names, "host_"+strconv.Itoa(host))
	}
	tags := ""
	switch len(names) {
	case 0:
	case 1:
		tags = "hostname='" + names[0] + "'"
	default:
		tags = "hostname=~'" + strings.Join(names, "|") + "'"
	}
	fields := Fields()[:metrics]
	if metrics == 1 {
		return "cpu_" + fields[0] + "{" + tags + "}"
	}
	if tags != "" {
		tags = ", " + tags
	}
	return "{__name__=~'cpu_(" + strings.Join(fields, "|") + ")'" + tags + "}"
}

func rangeQuery(text string, start, end, step int64) Query {
	return Query{Start: start, End: end, Path: "/api/v1/query_range?" + url.Values{
		"query": {text}, "start": {strconv.FormatInt(start, 10)}, "end": {strconv.FormatInt(end, 10)},
		"step": {strconv.FormatInt(step, 10)},
	}.Encode()}
}
