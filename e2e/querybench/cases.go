package main

import (
	"fmt"
	"strings"

	"github.com/varvedb/varve/e2e/oracle"
)

// benchCase is one query on one grid.
type benchCase struct {
	oracle.Question
	steps int // 0 is one time
}

func (c benchCase) name() string {
	if c.steps == 0 {
		return c.Text + ", instant"
	}
	return fmt.Sprintf("%s, %d steps", c.Text, c.steps)
}

// onGrid has steps+1 times that end at end, as Prometheus' benchmarks have.
func onGrid(text string, end, step int64, steps int) benchCase {
	q := oracle.Question{Text: text, Start: end, End: end}
	if steps > 0 {
		q.Start, q.Step = end-int64(steps)*step, step
	}
	return benchCase{q, steps}
}

// rangeExprs are those of rangeQueryCases of Prometheus' promql/bench_test.go; a
// number before one is its only number of steps.
const rangeExprs = `
a_X
rate(a_X[1m])
10000 rate(a_X[1m])
10000 rate(sparse[1m])
rate(a_X[1m] smoothed)
10000 rate(a_X[1m] smoothed)
10000 rate(sparse[1m] smoothed)
double_exponential_smoothing(a_X[1d], 0.3, 0.3)
changes(a_X[1d])
rate(a_X[1d])
absent_over_time(a_X[1d])
-a_X
a_X - b_X
10000 a_X - b_X
a_X and b_X{l=~'.*[0-4]$'}
a_X or b_X{l=~'.*[0-4]$'}
a_X unless b_X{l=~'.*[0-4]$'}
a_X and b_X{l='notfound'}
abs(a_X)
label_replace(a_X, 'l2', '$1', 'l', '(.*)')
label_join(a_X, 'l2', '-', 'l', 'l')
sum(a_X)
avg(a_X)
sum without (l)(h_X)
sum without (le)(h_X)
sum by (l)(h_X)
sum by (le)(h_X)
100 count_values('value', h_X)
topk(1, a_X)
topk(5, a_X)
limitk(1, a_X)
limitk(5, a_X)
limit_ratio(0.1, a_X)
limit_ratio(0.5, a_X)
limit_ratio(-0.5, a_X)
rate(a_X[1m]) + rate(b_X[1m])
sum without (l)(rate(a_X[1m]))
sum without (l)(rate(a_X[1m])) / sum without (l)(rate(b_X[1m]))
histogram_quantile(0.9, rate(h_X[5m]))
a_X + on(l) group_right a_one
1 count({__name__!=""})
1 count({__name__!="",l=""})
quantile_over_time(time() % 100 / 100, a_X[1m:10s] @ 86400)
timestamp(a_X)
`

// rangeCases are at 1000 and 100 steps and for one time, where upstream does not
// say how many.
func rangeCases(intervals int) []benchCase {
	var out []benchCase
	for line := range strings.Lines(strings.TrimSpace(rangeExprs)) {
		line = strings.TrimSpace(line)
		steps := []int{1000, 100, 0}
		var own int
		if n, _ := fmt.Sscanf(line, "%d ", &own); n == 1 {
			_, line, _ = strings.Cut(line, " ")
			steps = []int{own}
		}
		sizes := []string{"hundred", "one"}
		if !strings.Contains(line, "X") {
			sizes = sizes[:1]
		}
		for _, size := range sizes {
			for _, n := range steps {
				out = append(out, onGrid(strings.ReplaceAll(line, "X", size), int64(intervals)*10_000, 10_000, n))
			}
		}
	}
	return out
}

// nativeCases are those of BenchmarkNativeHistograms, BenchmarkNativeHistogramsCustomBuckets
// and BenchmarkInfoFunction.
func nativeCases() []benchCase {
	texts := []string{
		"sum(X)", "sum(rate(X[2m]))", "sum(rate(X[20m]))",
		"histogram_count(sum(rate(X[2m])))", "histogram_count(sum(rate(X[20m])))",
		"histogram_count(sum(rate(X[2m]))) + histogram_sum(sum(rate(X[2m])))",
		"histogram_count(sum(rate(X[20m]))) + histogram_sum(sum(rate(X[20m])))",
		"sum(timestamp(X))", "histogram_quantile(0.9, sum(rate(X[2m])))",
	}
	var out []benchCase
	for _, name := range []string{"native_histogram_series", "native_histogram_custom_bucket_series"} {
		for _, text := range texts {
			out = append(out, onGrid(strings.ReplaceAll(text, "X", name), 7200_000, 30_000, 240))
		}
	}
	for _, text := range []string{
		`rate(http_server_request_duration_seconds_count[2m]) * on (job, instance) group_left (k8s_cluster_name) target_info{k8s_cluster_name="us-east"}`,
		`info(rate(http_server_request_duration_seconds_count[2m]), {k8s_cluster_name="us-east"})`,
		`sum by (k8s_cluster_name, http_status_code) (rate(http_server_request_duration_seconds_count[2m]) * on (job, instance) group_left (k8s_cluster_name) target_info)`,
		`sum by (k8s_cluster_name, http_status_code) (info(rate(http_server_request_duration_seconds_count[2m]), {k8s_cluster_name=~".+"}))`,
	} {
		out = append(out, onGrid(text, 7200_000, 30_000, 240))
	}
	return out
}

// tsbsCases are TSBS' devops shapes on grids of their own: an hour by the minute,
// twelve by the hour, six by the minute; and some of them for one time.
func tsbsCases(intervals int) []benchCase {
	end := tsbsStart + int64(intervals)*10_000
	eight := `{hostname=~"host_1|host_7|host_13|host_25|host_40|host_61|host_77|host_99"}`
	var out []benchCase
	add := func(step int64, steps int, texts ...string) {
		for _, text := range texts {
			out = append(out, onGrid(text, end, step, steps))
		}
	}
	add(60_000, 60,
		`max_over_time(cpu_usage_user{hostname="host_17"}[1m])`,
		`max by (hostname) (max_over_time(cpu_usage_user`+eight+`[1m]))`,
		`max by (__name__, hostname) ({__name__=~"cpu_.*",hostname="host_17"})`)
	add(3600_000, 12,
		`avg by (hostname) (avg_over_time(cpu_usage_user[1h]))`,
		`avg by (__name__, hostname) (last_over_time({__name__=~"cpu_.*"}[1h]))`,
		`avg by (hostname) (avg_over_time(cpu_usage_user[1h])) + avg by (hostname) (avg_over_time(cpu_usage_system[1h]))`)
	shapes := []string{
		`sum by (region) (cpu_usage_user)`, `avg by (region) (cpu_usage_user)`, `max by (datacenter) (cpu_usage_user)`,
		`sum(rate(requests_total[5m]))`, `sum by (region) (rate(requests_total[5m]))`, `topk(5, cpu_usage_user)`,
		`cpu_usage_user / cpu_usage_system`, `quantile_over_time(0.95, cpu_usage_user[10m])`,
		`max_over_time(rate(requests_total[1m])[10m:1m])`, `cpu_usage_user`, `sum by (region) (avg_over_time(cpu_usage_user[10m]))`,
	}
	add(60_000, 360, shapes...)
	add(0, 0, shapes...)
	return out
}
