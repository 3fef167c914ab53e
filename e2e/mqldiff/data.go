package mqldiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
)

// The bulk of the data lies in [dataStart, dataStart+3h], in milliseconds; the
// sparse families go on to dataEnd. It is over midnight, UTC.
const (
	dataStart int64 = 1_741_471_200_000 // 2025-03-08T22:00:00Z
	dataEnd         = dataStart + 30*hour
	minute    int64 = 60_000
	hour            = 60 * minute
)

// labelSet are the labels of a series, its name among them.
type labelSet map[string]string

// dataSeries is a series of the data; a NaN marks it as stale.
type dataSeries struct {
	labels labelSet
	times  []int64
	values []float64
}

// family is what the grammar knows of the series of one name.
type family struct {
	name   string
	kind   familyKind
	labels map[string][]string // values by label
	brief  bool                // is over soon: few values of it are met at the edges
	merges bool                // one is over when the next begins: they have values at few times both
}

type familyKind int

const (
	gauge    familyKind = iota
	ranked              // gauges of which no two ever have the same value
	counter             // with resets
	leBucket            // of histograms, by le
	vmBucket            // of histograms, by vmrange
	info                // constant 1, for joins
	sparse              // few samples
)

// dataset is all there is to query.
type dataset struct {
	series   []dataSeries
	families []family
}

type dataMaker struct {
	*rand.Rand
	out dataset
}

// makeData makes the data of a seed.
func makeData(seed uint64) *dataset {
	g := &dataMaker{Rand: rand.New(rand.NewPCG(seed, 2))}
	g.gauges()
	g.counters()
	g.histograms()
	g.vmHistograms()
	g.churn()
	g.targets()
	g.slow()
	g.fast()
	g.few()
	return &g.out
}

// declare makes a family known, with the values its labels have.
func (g *dataMaker) declare(kind familyKind, name string) {
	f := family{name: name, kind: kind, labels: map[string][]string{}}
	for _, s := range g.out.series {
		if s.labels["__name__"] != name {
			continue
		}
		for k, v := range s.labels {
			if k != "__name__" && !slices.Contains(f.labels[k], v) {
				f.labels[k] = append(f.labels[k], v)
			}
		}
	}
	g.out.families = append(g.out.families, f)
}

// add makes a series of times from start to end, and asks next for its values.
// jitter moves times by up to so much, gap is the chance to lose a sample.
func (g *dataMaker) add(ls labelSet, start, end, every, jitter int64, gap float64, next func(i int) float64) {
	s := dataSeries{labels: ls}
	phase := g.Int64N(every)
	switch g.IntN(3) { // edges of windows are met, too
	case 0:
		phase = 0
	case 1:
		phase -= phase % 5000
	}
	for i, t := 0, start+phase; t <= end; i, t = i+1, t+every {
		v := next(i)
		if g.Float64() < gap {
			continue
		}
		at := t
		if jitter > 0 {
			at += g.Int64N(2*jitter+1) - jitter
		}
		s.times, s.values = append(s.times, at), append(s.values, v)
	}
	g.out.series = append(g.out.series, s)
}

// without removes what lies in [from, to].
func (s *dataSeries) without(from, to int64) {
	kept := 0
	for i, t := range s.times {
		if t < from || t > to {
			s.times[kept], s.values[kept] = t, s.values[i]
			kept++
		}
	}
	s.times, s.values = s.times[:kept], s.values[:kept]
}

func (g *dataMaker) last() *dataSeries { return &g.out.series[len(g.out.series)-1] }

// quarters walks in steps of 0.25, between bounds.
func (g *dataMaker) quarters(at, lo, hi float64) func(int) float64 {
	return func(int) float64 {
		if g.IntN(4) > 0 {
			at += float64(g.IntN(17)-8) / 4
		}
		at = min(max(at, lo), hi)
		if g.IntN(50) == 0 {
			return hi + 10*float64(g.IntN(30)) // an outlier
		}
		return at
	}
}

// counts goes up, and sometimes down to zero or near.
func (g *dataMaker) counts(at float64, most int, unit, reset float64) func(int) float64 {
	return func(int) float64 {
		switch {
		case g.Float64() < reset:
			at = float64(g.IntN(3)) * unit
		case g.IntN(5) > 0:
			at += float64(g.IntN(most)) * unit
		}
		return at
	}
}

func (g *dataMaker) gauges() {
	end := dataStart + 3*hour
	for i, room := range []string{"attic", "cellar", "hall"} {
		for _, sensor := range []string{"s1", "s2"}[:1+i%2] {
			g.add(labelSet{"__name__": "temp_celsius", "room": room, "sensor": sensor}, dataStart, end, 20_000, 3000, 0.02, g.quarters(20, -10, 40))
		}
	}
	g.last().without(dataStart+hour, dataStart+hour+25*minute)
	g.declare(gauge, "temp_celsius")
	for i := range 3 {
		ls := labelSet{"__name__": "mem_bytes", "instance": fmt.Sprintf("10.0.0.%d:9100", 3-i), "job": []string{"api", "db", "web"}[i%3], "env": "prod"}
		g.add(ls, dataStart, end, minute, 0, 0.15, func(int) float64 { return float64(1<<30 + g.IntN(1<<20)*4096) })
	}
	g.declare(gauge, "mem_bytes")
	for i, q := range []string{"a", "b", "c", "d"} {
		g.add(labelSet{"__name__": "balance", "queue": q, "job": "cron"}, dataStart, end, 45_000, 20_000, 0.05, func(int) float64 {
			return float64(g.IntN(9)-4) * float64(1+i)
		})
	}
	g.declare(gauge, "balance")
	// Six series; which one it is can be told from any value.
	for i := range 6 {
		ls := labelSet{"__name__": "rank", "instance": fmt.Sprintf("10.0.0.%d:9100", 1+i/2), "job": []string{"api", "db"}[i%2], "dc": []string{"east", "west"}[i/3]}
		at := g.quarters(100, 0, 1000)
		g.add(ls, dataStart, end, 30_000, 0, 0.03, func(n int) float64 { return math.Floor(at(n))*64 + float64(i) })
	}
	g.declare(ranked, "rank")
	for i := range 4 {
		ls := labelSet{"__name__": "build_info", "instance": fmt.Sprintf("10.0.0.%d:9100", 1+i), "version": []string{"1.2", "1.10", "2.0"}[i%3], "zone": []string{"z1", "z2"}[i%2]}
		g.add(ls, dataStart, end, minute, 0, 0, func(int) float64 { return 1 })
	}
	g.declare(info, "build_info")
}

func (g *dataMaker) counters() {
	end := dataStart + 3*hour
	for i := range 3 {
		for j, code := range []string{"200", "404", "500"} {
			for _, method := range []string{"GET", "POST"}[:1+(i+j)%2] {
				ls := labelSet{"__name__": "requests_total", "instance": fmt.Sprintf("10.0.0.%d:9100", 1+i), "job": []string{"api", "db"}[i%2], "code": code, "method": method}
				g.add(ls, dataStart+int64(j)*7*minute, end, 15_000, 0, 0.04, g.counts(float64(g.IntN(1000)), 20, 1, 0.004))
			}
		}
	}
	g.declare(counter, "requests_total")
	for i := range 2 {
		for cpu := range 2 {
			ls := labelSet{"__name__": "cpu_seconds_total", "instance": fmt.Sprintf("10.0.0.%d:9100", 1+i), "cpu": fmt.Sprint(cpu), "job": "api"}
			g.add(ls, dataStart, end, 30_000, 5000, 0.02, g.counts(0, 60, 0.25, 0.002))
		}
	}
	g.declare(counter, "cpu_seconds_total")
	for i, job := range []string{"api", "db", "web"} {
		every := []int64{15_000, 30_000, minute}[i]
		for k := range 2 {
			ls := labelSet{"__name__": "up", "instance": fmt.Sprintf("10.0.0.%d:9100", 1+k), "job": job}
			g.add(ls, dataStart, end, every, 0, 0.05, func(int) float64 { return float64(min(1, g.IntN(12))) })
		}
	}
	g.declare(gauge, "up")
}

func (g *dataMaker) histograms() {
	end := dataStart + 2*hour
	for _, path := range []string{"/", "/a"} {
		for k := range 2 {
			instance := fmt.Sprintf("10.0.0.%d:9100", 1+k)
			bounds := []string{"0.1", "0.5", "1", "5", "+Inf"}
			counts := make([][]float64, len(bounds))
			n := int(end-dataStart) / 30_000
			total := make([]float64, len(bounds))
			for range n + 2 {
				for b := range bounds {
					added := float64(g.IntN(5))
					for above := b; above < len(bounds); above++ {
						total[above] += added
					}
				}
				for b := range bounds {
					counts[b] = append(counts[b], total[b])
				}
			}
			for b, le := range bounds {
				ls := labelSet{"__name__": "latency_bucket", "le": le, "instance": instance, "path": path}
				g.steady(ls, end, counts[b])
			}
		}
	}
	g.declare(leBucket, "latency_bucket")
}

// steady adds a series of given values every 30 s.
func (g *dataMaker) steady(ls labelSet, end int64, values []float64) {
	s := dataSeries{labels: ls}
	for i, t := 0, dataStart; t <= end && i < len(values); i, t = i+1, t+30_000 {
		s.times, s.values = append(s.times, t), append(s.values, values[i])
	}
	g.out.series = append(g.out.series, s)
}

func (g *dataMaker) vmHistograms() {
	end := dataStart + 2*hour
	ranges := []string{"0...1.000e-09", "8.799e-01...1.000e+00", "1.000e+00...1.136e+00", "2.154e+00...2.448e+00", "1.000e+01...1.136e+01", "1.000e+18...+Inf"}
	for _, host := range []string{"h1", "h2"} {
		for i, r := range ranges {
			if host == "h2" && i == 3 {
				continue
			}
			late := int64(i%3) * 10 * minute
			g.add(labelSet{"__name__": "size_bucket", "vmrange": r, "host": host}, dataStart+late, end, minute, 0, 0, g.counts(0, 9, 1, 0))
		}
	}
	g.declare(vmBucket, "size_bucket")
}

// churn makes pods that live twenty minutes each, one after the other: where few
// values overlap, operators join series, in the order of internal ids.
func (g *dataMaker) churn() {
	for i := range 8 {
		start := dataStart + int64(i)*28*minute
		ls := labelSet{"__name__": "pod_ticks_total", "pod": fmt.Sprint("p", i), "node": fmt.Sprint("n", i%2), "namespace": []string{"ns1", "ns2"}[i/4]}
		g.add(ls, start, start+20*minute, 30_000, 0, 0.02, g.counts(float64(g.IntN(50)), 10, 1, 0))
	}
	g.declare(counter, "pod_ticks_total")
	g.out.families[len(g.out.families)-1].merges = true
}

// targets makes series that end with a mark, and come back.
func (g *dataMaker) targets() {
	end := dataStart + 3*hour
	for i := range 3 {
		for _, name := range []string{"target_health", "target_requests_total"} {
			next := g.counts(0, 12, 1, 0.01)
			if name == "target_health" {
				next = func(int) float64 { return float64(g.IntN(3)) }
			}
			g.add(labelSet{"__name__": name, "instance": fmt.Sprintf("10.0.0.%d:9100", 1+i), "job": "api"}, dataStart, end, 30_000, 0, 0.01, next)
			for n := range 2 {
				down := dataStart + int64(20+i*13+n*70)*minute
				s := g.last()
				s.without(down, down+int64(4+i*9)*minute)
				at, _ := slices.BinarySearch(s.times, down)
				s.times = slices.Insert(s.times, at, down)
				s.values = slices.Insert(s.values, at, math.Float64frombits(value.StaleNaN))
			}
		}
	}
	g.declare(gauge, "target_health")
	g.declare(counter, "target_requests_total")
}

// slow makes series over more than a day.
func (g *dataMaker) slow() {
	for _, disk := range []string{"sda", "sdb"} {
		g.add(labelSet{"__name__": "disk_free", "disk": disk, "dc": "east"}, dataStart, dataEnd, 5*minute, 0, 0.02, g.quarters(400, 0, 900))
		g.add(labelSet{"__name__": "backups_total", "disk": disk, "dc": "east"}, dataStart+hour, dataEnd, 5*minute, 1000, 0.02, g.counts(3, 6, 1, 0.01))
	}
	g.declare(gauge, "disk_free")
	g.declare(counter, "backups_total")
}

// fast makes series of all the intervals for which jitter is allowed differently.
func (g *dataMaker) fast() {
	for i, every := range []int64{1000, 3000, 6000, 12_000} {
		ls := labelSet{"__name__": "volts", "phase": fmt.Sprint("l", i), "instance": "10.0.0.1:9100"}
		g.add(ls, dataStart+20*minute, dataStart+50*minute, every, every/5, 0.1, g.quarters(230, 200, 260))
		g.last().without(dataStart+30*minute, dataStart+(31+3*int64(i))*minute)
		ls = labelSet{"__name__": "pulses_total", "phase": fmt.Sprint("l", i), "instance": "10.0.0.1:9100"}
		g.add(ls, dataStart+20*minute, dataStart+50*minute, every, 0, 0.2, g.counts(0, 3, 1, 0.01))
	}
	g.declare(gauge, "volts")
	g.declare(counter, "pulses_total")
	for i := len(g.out.families) - 2; i < len(g.out.families); i++ {
		g.out.families[i].brief = true
	}
}

func (g *dataMaker) few() {
	one := func(name string, at int64, v float64) {
		g.out.series = append(g.out.series, dataSeries{labels: labelSet{"__name__": name, "job": "cron"}, times: []int64{at}, values: []float64{v}})
		g.declare(sparse, name)
	}
	one("oneshot", dataStart+40*minute, 7)
	one("légende.un-coup", dataStart+55*minute+250, -2.75)
	g.add(labelSet{"__name__": "constant", "job": "cron", "Größe": "ä\"b\\c"}, dataStart, dataStart+3*hour, minute, 0, 0, func(int) float64 { return 42 })
	g.declare(sparse, "constant")
	s := dataSeries{labels: labelSet{"__name__": "events_total", "job": "cron", "queue": "q1"}}
	total := 0.0
	for t := dataStart; t < dataStart+3*hour; t += 1000 * (1 + g.Int64N(480)) {
		total += float64(g.IntN(4))
		s.times, s.values = append(s.times, t), append(s.values, total)
	}
	g.out.series = append(g.out.series, s)
	g.declare(counter, "events_total")
}

// isStale tells whether a series has a mark: these go by remote write.
func (s *dataSeries) isStale() bool { return slices.ContainsFunc(s.values, math.IsNaN) }

// importLines are the series without marks, as JSON lines.
func (d *dataset) importLines() ([]byte, error) {
	var out bytes.Buffer
	for _, s := range d.series {
		if s.isStale() {
			continue
		}
		line, err := json.Marshal(struct {
			Metric     labelSet  `json:"metric"`
			Values     []float64 `json:"values"`
			Timestamps []int64   `json:"timestamps"`
		}{s.labels, s.values, s.times})
		if err != nil {
			return nil, err
		}
		out.Write(append(line, '\n'))
	}
	return out.Bytes(), nil
}

// marked are the series with marks, for remote write.
func (d *dataset) marked() (out []prompb.TimeSeries) {
	for _, s := range d.series {
		if !s.isStale() {
			continue
		}
		var one prompb.TimeSeries
		for _, k := range slices.Sorted(maps.Keys(s.labels)) {
			one.Labels = append(one.Labels, prompb.Label{Name: k, Value: s.labels[k]})
		}
		for i, t := range s.times {
			one.Samples = append(one.Samples, prompb.Sample{Timestamp: t, Value: s.values[i]})
		}
		out = append(out, one)
	}
	return out
}
