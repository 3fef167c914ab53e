package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve/e2e/harness"
)

const (
	// rounds is how often servers take turns at a shape.
	rounds = 3
	// comparedAnswers is how many answers of each shape are compared.
	comparedAnswers = 5
)

// shape is a kind of query over TSBS cpu-only.
type shape struct {
	name  string
	query string        // with a place for a digit, if any
	over  time.Duration // 0: an instant
	step  time.Duration
	aside bool // the mean leaves it out
	// untied says the same where the answer may take any of equal values: what
	// topk takes depends on the order in which a store gives series.
	untied string
}

func promqlShapes() []shape {
	const hour = time.Hour
	return []shape{
		{name: "1 host, 1 h", query: `max by (hostname) (max_over_time(cpu_usage_user{hostname="host_%d"}[1m]))`, over: hour, step: time.Minute},
		{name: "8 hosts, 1 h", query: `max by (hostname) (max_over_time(cpu_usage_user{hostname=~"host_1|host_2%d|host_35|host_49|host_3|host_39|host_75|host_15"}[1m]))`, over: hour, step: time.Minute},
		{name: "avg by (avg_over_time 1 h), 12 h", query: `avg by (hostname) (avg_over_time(cpu_usage_user[1h]))`, over: 12 * hour, step: hour},
		{name: "avg by, all metrics, 6 h", query: `avg by (hostname) ({__name__=~"cpu_usage_.+"})`, over: 6 * hour, step: time.Minute, aside: true},
		{name: "sum(rate 5 m), 6 h", query: `sum(rate(cpu_usage_user[5m]))`, over: 6 * hour, step: time.Minute},
		{name: "sum by (rate 5 m), 6 h", query: `sum by (datacenter) (rate(cpu_usage_user[5m]))`, over: 6 * hour, step: time.Minute},
		{name: "plain selector, 6 h", query: `cpu_usage_user`, over: 6 * hour, step: time.Minute},
		{name: "a / b, 6 h", query: `cpu_usage_user / cpu_usage_system`, over: 6 * hour, step: time.Minute},
		{name: "topk, 6 h", query: `topk(5, cpu_usage_user)`, untied: `count_values("v", topk(5, cpu_usage_user))`, over: 6 * hour, step: time.Minute},
		{name: "quantile_over_time 10 m, 6 h", query: `quantile_over_time(0.9, cpu_usage_user[10m])`, over: 6 * hour, step: time.Minute},
		{name: "subquery, 3 h", query: `max_over_time(avg by (datacenter) (cpu_usage_user)[30m:1m])`, over: 3 * hour, step: 5 * time.Minute},
		{name: "instant sum by", query: `sum by (region) (cpu_usage_user)`},
	}
}

// request returns the path of the i-th query of a shape, some time within the
// data: no two are the same, and every server is asked the same. No answer comes
// out of a cache.
func (q shape) request(i int, first, last int64) string {
	rng := rand.New(rand.NewPCG(5, uint64(i)))
	const warm = 600 // seconds before a query that have data
	text := q.query
	if strings.Contains(text, "%d") {
		text = fmt.Sprintf(text, rng.IntN(10))
	}
	room := max(1, (last-first)/1000-warm-int64(q.over.Seconds()))
	start := first/1000 + warm + rng.Int64N(room)
	args := url.Values{"query": {text}, "nocache": {"1"}}
	if q.over == 0 {
		args.Set("time", strconv.FormatInt(start, 10))
		return "/api/v1/query?" + args.Encode()
	}
	args.Set("start", strconv.FormatInt(start, 10))
	args.Set("end", strconv.FormatInt(start+int64(q.over.Seconds()), 10))
	args.Set("step", strconv.FormatInt(int64(q.step.Seconds()), 10))
	return "/api/v1/query_range?" + args.Encode()
}

// asked is what the queries of one shape cost a server.
type asked struct {
	queries   int
	cpu       time.Duration
	latencies []time.Duration
	bytes     int64
	failed    error
}

// asking says how often and within what data.
type asking struct {
	least       int           // queries in a turn
	lasting     time.Duration // of a turn at least: cheap queries are asked more often
	turns       int
	first, last int64
}

// turn asks queries of a shape, from number i on.
func (s *server) turn(q shape, i int, a asking, sum *asked) error {
	before, err := s.preciseCPU()
	if err != nil {
		return err
	}
	begin := time.Now()
	for n := 0; n < a.least || time.Since(begin) < a.lasting; n++ {
		path := q.request(i+n, a.first, a.last)
		start := time.Now()
		text, err := s.send(http.MethodGet, path, nil)
		if err != nil {
			sum.failed = err
			return nil
		}
		sum.latencies = append(sum.latencies, time.Since(start))
		sum.bytes += int64(len(text))
		sum.queries++
	}
	after, err := s.preciseCPU()
	sum.cpu += after - before
	return err
}

// askShapes lets the servers take turns at every shape.
func askShapes(servers []*server, shapes []shape, a asking) ([][]asked, error) {
	out := make([][]asked, len(servers))
	for i := range out {
		out[i] = make([]asked, len(shapes))
	}
	for k, q := range shapes {
		fmt.Fprintf(os.Stderr, "  %s\n", q.name)
		for turn := range a.turns {
			for i := range servers {
				at := (i + turn) % len(servers)
				if out[at][k].failed != nil {
					continue
				}
				if err := servers[at].turn(q, 10_000*(turn+1), a, &out[at][k]); err != nil {
					return nil, err
				}
			}
		}
	}
	return out, nil
}

// compareShapes asks all servers that answer exactly the same things, and
// returns how many answers differ from those of the reference.
func compareShapes(reference *server, others []*server, shapes []shape, first, last int64) (map[string]figures, error) {
	out := map[string]figures{}
	for _, s := range others {
		f := figures{"compared": 0, "different": 0}
		for _, q := range shapes {
			for i := range comparedAnswers {
				diff, err := differ(reference, s, q.request(i, first, last))
				if err == nil && diff != "" && q.untied != "" {
					untied := q
					untied.query = q.untied
					diff, err = differ(reference, s, untied.request(i, first, last))
				}
				if err != nil {
					return nil, err
				}
				f["compared"]++
				if diff != "" {
					f["different"]++
					fmt.Fprintf(os.Stderr, "  %s answers %s otherwise than %s: %s\n", s.name, q.name, reference.name, diff)
				}
			}
		}
		out[s.name] = f
	}
	return out, nil
}

// differ says in what two servers answer otherwise.
func differ(reference, other *server, path string) (string, error) {
	want, err := reference.answer(path)
	if err != nil {
		return "", err
	}
	got, err := other.answer(path)
	if err != nil {
		return "", err
	}
	return want.Diff(got), nil
}

func (s *server) answer(path string) (harness.Answer, error) {
	text, err := s.send(http.MethodGet, path, nil)
	if err != nil {
		return harness.Answer{}, err
	}
	return harness.ParseAnswer(http.StatusOK, text)
}

// benchPromQL asks servers that hold the same samples, one at a time.
func benchPromQL(c config) error {
	lines, err := tsbsLines(c)
	if err != nil {
		return err
	}
	text, err := c.promql(lines, promqlShapes())
	if err != nil {
		return err
	}
	_, err = fmt.Println(text)
	return err
}

func tsbsLines(c config) (*influxLines, error) {
	text, err := readLines(c.tsbs)
	if err != nil {
		return nil, err
	}
	return cut(text)
}

func (c config) promql(lines *influxLines, shapes []shape) (string, error) {
	kinds := slices.Clone(c.kinds)
	if !slices.ContainsFunc(kinds, func(k kind) bool { return k.name == "prometheus" }) {
		bin, err := harness.BuildPrometheus()
		if err != nil {
			return "", err
		}
		kinds = append(kinds, prometheus(bin))
	}
	var servers []*server
	defer func() {
		for _, s := range servers {
			s.remove()
		}
	}()
	loaded := map[string]figures{}
	for _, k := range kinds {
		s, err := newServer(k, c.dir)
		if err != nil {
			return "", err
		}
		servers = append(servers, s)
		fmt.Fprintf(os.Stderr, "  %s loads\n", k.name)
		if loaded[k.name], err = s.loadLines(lines); err != nil {
			return "", fmt.Errorf("%s: %w\nlast output:\n%s", k.name, err, s.logTail())
		}
	}
	exact := slices.DeleteFunc(slices.Clone(servers), func(s *server) bool { return s.name == "victoria-metrics" || s.name == "prometheus" })
	reference := servers[slices.IndexFunc(servers, func(s *server) bool { return s.name == "prometheus" })]
	compared, err := compareShapes(reference, exact, shapes, lines.first, lines.last)
	if err != nil {
		return "", err
	}
	for _, s := range servers {
		s.forgetPeak()
	}
	costs, err := askShapes(servers, shapes, asking{c.asks, c.askFor / 10, rounds * c.runs, lines.first, lines.last})
	if err != nil {
		return "", err
	}
	for _, s := range servers {
		rss, peak, err := s.memory()
		if err != nil {
			return "", err
		}
		f := loaded[s.name]
		f["rss"], f["askpeak"] = float64(rss)/(1<<20), float64(peak)/(1<<20)
		for key, v := range compared[s.name] {
			f[key] = v
		}
	}
	return promqlText(lines, servers, shapes, costs, loaded), nil
}

// promqlText prints what was measured.
func promqlText(lines *influxLines, servers []*server, shapes []shape, costs [][]asked, general map[string]figures) string {
	var out strings.Builder
	fmt.Fprintf(&out, "promql: TSBS cpu-only by remote write, %d hosts, %d samples. varve flushed and merged,\n", lines.hosts, lines.samples)
	out.WriteString("Prometheus as its compaction left it, caches off. Queries of each shape: ")
	for i, s := range servers {
		n := 0
		for _, a := range costs[i] {
			n = max(n, a.queries)
		}
		fmt.Fprintf(&out, "%s up to %d; ", s.name, n)
	}
	out.WriteString("\n")
	for _, what := range []struct {
		title  string
		digits int
		judged bool
		of     func(asked) float64
	}{
		{"server CPU, ms/query", 2, true, func(a asked) float64 { return milliseconds(a.cpu) / float64(a.queries) }},
		{"median latency, ms", 2, false, func(a asked) float64 { return milliseconds(median(a.latencies)) }},
		{"answer, kB", 1, false, func(a asked) float64 { return float64(a.bytes) / float64(a.queries) / 1000 }},
	} {
		t := table{title: what.title, runs: 1}
		for i, s := range servers {
			t.servers = append(t.servers, column{s.name, shapeFigures(shapes, costs[i], what.of)})
		}
		out.WriteString("\n")
		t.print(&out, shapeRows(shapes, what.digits, what.judged))
	}
	t := table{title: "servers", runs: 1}
	for _, s := range servers {
		t.servers = append(t.servers, column{s.name, general[s.name]})
	}
	out.WriteString("\n")
	t.print(&out, []row{
		{key: "compared", title: "answers compared with Prometheus'"},
		{key: "different", title: "  different in any text", bar: atMost(0)},
		{key: "blocks", title: "blocks after loading"},
		{key: "loadrss", title: "memory after loading, MiB"},
		{key: "askpeak", title: "peak memory while asked, MiB"},
		{key: "rss", title: "memory afterwards, MiB"},
	})
	for i, s := range servers {
		for k, a := range costs[i] {
			if a.failed != nil {
				fmt.Fprintf(&out, "%s cannot answer %s: %v\n", s.name, shapes[k].name, a.failed)
			}
		}
	}
	return out.String()
}

func shapeRows(shapes []shape, digits int, judged bool) []row {
	var rows []row
	for _, q := range shapes {
		r := row{key: q.name, title: q.name, digits: digits}
		if judged && !q.aside {
			r.bar = atMostOf("prometheus", 1)
		}
		rows = append(rows, r)
	}
	mean := row{key: "mean", title: "geometric mean", digits: digits}
	if judged {
		mean.bar = atMostOf("prometheus", 0.2)
	}
	return append(rows, mean)
}

// shapeFigures takes a figure of each shape that was answered, and their
// geometric mean if all were.
func shapeFigures(shapes []shape, costs []asked, of func(asked) float64) figures {
	f, logs, n := figures{}, 0.0, 0
	complete := true
	for k, a := range costs {
		if a.failed != nil || a.queries == 0 {
			complete = complete && shapes[k].aside
			continue
		}
		v := of(a)
		f[shapes[k].name] = v
		if !shapes[k].aside {
			logs, n = logs+math.Log(v), n+1
		}
	}
	if complete && n > 0 {
		f["mean"] = math.Exp(logs / float64(n))
	}
	return f
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(ds []time.Duration) time.Duration { return percentile(ds, 0.5) }

// percentile returns the smallest duration that a share of all do not exceed.
func percentile(ds []time.Duration, share float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(ds))
	return sorted[min(len(sorted)-1, max(0, int(math.Ceil(share*float64(len(sorted))))-1))]
}
