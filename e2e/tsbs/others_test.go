package tsbs

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// The questions that TSBS does not ask VictoriaMetrics are answered as a walk through
// all rows answers them.
func TestOtherAnswersAreRight(t *testing.T) {
	o := Options{Hosts: 20, Seed: 7, Span: 14 * time.Hour}
	ofEach := 40
	if testing.Short() {
		ofEach = 6
	}
	v := harness.StartVarve(t)
	load(t, v, o)
	rows := readRows(o)
	for _, k := range Kinds() {
		if k.Asked {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			want := map[string]func([]row, Query) []string{
				"high-cpu-1": wantHighCPU, "high-cpu-all": wantHighCPU, "lastpoint": wantLastPoint, "groupby-orderby-limit": wantLastMinutes,
			}[k.Name]
			found := 0
			for i, q := range o.Queries(k, ofEach) {
				expected := want(rows, q)
				found += len(expected)
				require.Equal(t, expected, points(t, v, q.Path), "%s %d: %s", k.Name, i, q.Path)
			}
			require.Positive(t, found) // some hosts are never busy
		})
	}
}

// row is what a host tells at a time in seconds.
type row struct {
	time   int64
	host   int
	values [10]int64
}

func readRows(o Options) []row {
	o = o.withDefaults()
	var rows []row
	for f := NewFleet(o); f.Next(); {
		for host := range o.Hosts {
			r := row{time: f.Time() / 1000, host: host}
			for i := range r.values {
				r.values[i] = f.Value(host, i)
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// points returns a line for each point of an answer, sorted. What the steps are does
// not matter, so that a time is rounded to the whole second before it.
func points(t *testing.T, v *harness.Varve, path string) []string {
	var data struct {
		Result []struct {
			Metric map[string]string
			Value  *[2]any
			Values [][2]any
		}
	}
	v.Do(t, http.MethodGet, "/metricsql"+path, nil).Data(t, &data)
	var out []string
	for _, s := range data.Result {
		if s.Value != nil {
			s.Values = append(s.Values, *s.Value)
		}
		for _, p := range s.Values {
			out = append(out, point(s.Metric["__name__"], s.Metric["hostname"], int64(p[0].(float64)), p[1].(string)))
		}
	}
	slices.Sort(out)
	return out
}

func point(name, host string, time int64, value string) string {
	return fmt.Sprintf("%s %s %d %s", name, host, time, value)
}

// appendRow appends a point for each field, told at some time.
func appendRow(dst []string, r row, at int64) []string {
	for i, name := range Fields() {
		dst = append(dst, point("cpu_"+name, "host_"+strconv.Itoa(r.host), at, strconv.FormatInt(r.values[i], 10)))
	}
	return dst
}

// wantHighCPU is SELECT * WHERE usage_user > 90 AND time >= start AND time < end, for
// some hosts.
func wantHighCPU(rows []row, q Query) []string {
	var out []string
	for _, r := range rows {
		if r.values[0] > 90 && r.time >= q.Start && r.time < q.End && (q.Hosts == nil || slices.Contains(q.Hosts, r.host)) {
			out = appendRow(out, r, r.time)
		}
	}
	slices.Sort(out)
	return out
}

// wantLastPoint is the last row of each host, with its time.
func wantLastPoint(rows []row, q Query) []string {
	last := map[int]row{}
	for _, r := range rows {
		last[r.host] = r
	}
	var out []string
	for host, r := range last {
		out = appendRow(out, r, q.End)
		out = append(out, point("time", "host_"+strconv.Itoa(host), q.End, strconv.FormatInt(r.time, 10)))
	}
	slices.Sort(out)
	return out
}

// wantLastMinutes is max(usage_user) WHERE time < end GROUP BY minute ORDER BY minute
// DESC LIMIT 5; a minute is named by its last second.
func wantLastMinutes(rows []row, q Query) []string {
	highest := map[int64]int64{}
	for _, r := range rows {
		if r.time < q.End {
			minute := r.time / 60 * 60
			highest[minute] = max(highest[minute], r.values[0])
		}
	}
	var minutes []int64
	for m := range highest {
		minutes = append(minutes, m)
	}
	slices.Sort(minutes)
	var out []string
	for _, m := range minutes[len(minutes)-5:] {
		out = append(out, point("", "", m+59, strconv.FormatInt(highest[m], 10)))
	}
	slices.Sort(out)
	return out
}
