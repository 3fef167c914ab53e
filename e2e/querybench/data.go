package main

import (
	"math/rand/v2"
	"strconv"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
)

// fillRange writes what setupRangeQueryTestData of Prometheus' promql/bench_test.go
// writes: a_X, b_X and h_X of one, ten and a hundred series, and one sparse metric.
func fillRange(s *stores, intervals int) error {
	var metrics []labels.Labels
	for _, size := range []struct {
		name   string
		series int
	}{{"one", 1}, {"ten", 10}, {"hundred", 100}} {
		for i := range size.series {
			var l []string
			if size.series > 1 {
				l = []string{"l", strconv.Itoa(i)}
			}
			with := func(name string, more ...string) {
				metrics = append(metrics, labels.FromStrings(append(append([]string{"__name__", name + "_" + size.name}, l...), more...)...))
			}
			with("a")
			with("b")
			for j := range 10 {
				with("h", "le", strconv.Itoa(j))
			}
			with("h", "le", "+Inf")
		}
	}
	perSparse := max(intervals/50, 1)
	for i := range intervals {
		s.begin()
		t := int64(i) * 10_000
		for j, ls := range metrics {
			if err := s.append(uint64(j), ls, t, float64(i)+float64(j)/float64(len(metrics)), nil); err != nil {
				return err
			}
		}
		l := i / perSparse
		err := s.append(uint64(len(metrics)+l), labels.FromStrings("__name__", "sparse", "l", strconv.Itoa(l)), t, float64(i)/float64(len(metrics)), nil)
		if err != nil {
			return err
		}
		if err := s.commit(); err != nil {
			return err
		}
	}
	return nil
}

// fillNative writes what BenchmarkNativeHistograms, its sibling for custom buckets
// and BenchmarkInfoFunction of promql/bench_test.go query.
func fillNative(s *stores, series, samples int) error {
	higher := &histogram.Histogram{
		Schema:          3,
		PositiveSpans:   []histogram.Span{{Offset: -5, Length: 2}, {Offset: 2, Length: 3}, {Offset: 2, Length: 2}},
		PositiveBuckets: []int64{1, 2, -2, 1, -1, 0, 3},
		Count:           13,
	}
	plain, custom := tsdbutil.GenerateTestHistograms(samples), tsdbutil.GenerateTestCustomBucketsHistograms(samples)
	plain[0] = higher
	for i := range samples {
		s.begin()
		for j := range series {
			for k, of := range []struct {
				name string
				h    *histogram.Histogram
			}{{"native_histogram_series", plain[i]}, {"native_histogram_custom_bucket_series", custom[i]}} {
				ls := labels.FromStrings("__name__", of.name, "foo", "bar", "h", strconv.Itoa(j))
				if err := s.append(uint64(2*j+k), ls, int64(i)*15_000, 0, of.h); err != nil {
					return err
				}
			}
		}
		if err := s.commit(); err != nil {
			return err
		}
	}
	return fillInfo(s, 100, 3600)
}

// fillInfo writes what generateInfoFunctionTestSeries writes.
func fillInfo(s *stores, infos, intervals int) error {
	const base = 1 << 32
	var metrics []labels.Labels
	for i := range infos {
		cluster := "us-east"
		if i >= infos/2 {
			cluster = "eu-south"
		}
		metrics = append(metrics, labels.FromStrings("__name__", "target_info", "instance", "instance"+strconv.Itoa(i), "job", "job"+strconv.Itoa(i), "k8s_cluster_name", cluster))
	}
	for _, code := range []string{"200", "400", "500"} {
		metrics = append(metrics, labels.FromStrings("__name__", "http_server_request_duration_seconds_count", "instance", "instance0", "job", "job0", "http_status_code", code))
	}
	for i := range intervals {
		s.begin()
		for j, ls := range metrics {
			v := 1.0
			if j >= infos {
				v = float64(i)
			}
			if err := s.append(base+uint64(j), ls, int64(i)*2000, v, nil); err != nil {
				return err
			}
		}
		if err := s.commit(); err != nil {
			return err
		}
	}
	return nil
}

// tsbsStart is in 2023, so that no path is taken for times about zero.
const tsbsStart int64 = 1_700_000_000_000 / 3600_000 * 3600_000

var tsbsMetrics = []string{
	"cpu_usage_user", "cpu_usage_system", "cpu_usage_idle", "cpu_usage_nice", "cpu_usage_iowait",
	"cpu_usage_irq", "cpu_usage_softirq", "cpu_usage_steal", "cpu_usage_guest", "requests_total",
}

// fillTSBS writes ten metrics of each host: nine walk between 0 and 100 in
// integers, as those of TSBS cpu-only do, and one counts.
func fillTSBS(s *stores, hosts, intervals int) error {
	r := rand.New(rand.NewPCG(1, 1))
	metrics := make([]labels.Labels, 0, hosts*len(tsbsMetrics))
	for h := range hosts {
		for _, name := range tsbsMetrics {
			metrics = append(metrics, labels.FromStrings("__name__", name, "hostname", "host_"+strconv.Itoa(h),
				"region", "region-"+strconv.Itoa(h%9), "datacenter", "dc-"+strconv.Itoa(h%20), "rack", strconv.Itoa(h%50),
				"os", "Ubuntu16.04LTS", "arch", "x64", "team", "SF", "service", strconv.Itoa(h%19), "service_environment", "production"))
		}
	}
	levels := make([]float64, len(metrics))
	for i := range levels {
		levels[i] = float64(r.IntN(100))
	}
	for i := range intervals {
		s.begin()
		for j, ls := range metrics {
			if j%len(tsbsMetrics) == len(tsbsMetrics)-1 {
				levels[j] += float64(r.IntN(100))
			} else {
				levels[j] = min(max(levels[j]+r.NormFloat64(), 0), 100)
			}
			if err := s.append(uint64(j), ls, tsbsStart+int64(i)*10_000, float64(int(levels[j])), nil); err != nil {
				return err
			}
		}
		if err := s.commit(); err != nil {
			return err
		}
	}
	return nil
}
