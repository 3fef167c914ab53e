package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/encoding/protowire"
)

const (
	samplesPerRequest = 2000
	targetsPerRequest = samplesPerRequest / metricsPerTarget
	metricsPerTarget  = 100
)

// fleet is targets with a hundred series each, scraped at a fixed interval. A
// third of the series are counters, a third gauges, a third decimals.
//
// Labels lie in memory as they are sent, once for each target and once for each
// metric, so that a fleet of a million series takes few bytes. __name__ sorts
// before the labels of a target, uuid behind them.
type fleet struct {
	metrics  [][]byte // the label __name__
	names    []string
	labels   []string // the names of a target's labels
	unique   bool     // each series has a label uuid
	targets  []target
	known    int     // targets that there have ever been
	values   []int64 // the last value of each series, in units of its metric
	start    int64   // of the first scrape, milliseconds
	interval int64
}

type target struct {
	id     int
	labels []byte
	offset int64 // of its scrapes, milliseconds
}

// The labels of a target, sorted.
var (
	fewLabels  = []string{"cluster", "container", "endpoint", "instance", "job", "namespace", "node", "pod", "service"}
	manyLabels = []string{
		"cluster", "container", "endpoint", "environment", "instance", "job", "namespace", "node", "pod",
		"prometheus", "region", "service", "team",
	}
)

func newFleet(targets int, labels []string, unique bool, start, interval int64) *fleet {
	f := &fleet{labels: labels, unique: unique, start: start, interval: interval}
	areas := []string{"http", "grpc", "cache", "queue", "db", "disk", "net", "runtime", "auth", "batch"}
	nouns := []string{"requests", "errors", "latency", "connections", "retries", "wait", "items", "reads", "writes", "lag"}
	units := []string{"total", "bytes", "seconds"}
	for k := range metricsPerTarget {
		name := fmt.Sprintf("app_%s_%s_%s", areas[k/10], nouns[k%10], units[k%len(units)])
		f.names = append(f.names, name)
		f.metrics = append(f.metrics, appendLabel(nil, "__name__", name))
	}
	f.targets = make([]target, targets)
	f.values = make([]int64, targets*metricsPerTarget)
	for i := range f.targets {
		f.replace(i)
	}
	return f
}

// replace puts a new target in the place of one.
func (f *fleet) replace(slot int) {
	t := &f.targets[slot]
	t.id = f.known
	f.known++
	t.offset = int64(mix(uint64(t.id)) % uint64(min(f.interval, 15_000)))
	t.labels = t.labels[:0]
	for _, name := range f.labels {
		t.labels = appendLabel(t.labels, name, targetLabel(name, t.id))
	}
	for k := range metricsPerTarget {
		f.values[slot*metricsPerTarget+k] = int64(mix(uint64(t.id*metricsPerTarget+k)) % 100_000)
	}
}

func targetLabel(name string, id int) string {
	job := id % 50
	switch name {
	case "cluster":
		return fmt.Sprintf("prod-%d", id%4)
	case "container", "service":
		return fmt.Sprintf("service-%d", job)
	case "endpoint":
		return "http-metrics"
	case "environment":
		return []string{"production", "staging", "test"}[id%3]
	case "instance":
		return fmt.Sprintf("10.%d.%d.%d:9100", id>>16&255, id>>8&255, id&255)
	case "job":
		return fmt.Sprintf("team-%d/service-%d", job%10, job)
	case "namespace":
		return fmt.Sprintf("team-%d", job%10)
	case "node":
		return fmt.Sprintf("ip-10-0-%d-%d.internal", id/10>>8&255, id/10&255)
	case "pod":
		return fmt.Sprintf("service-%d-%08x-%05x", job, uint32(mix(uint64(job))), mix(uint64(id))&0xfffff)
	case "prometheus":
		return "monitoring/k8s"
	case "region":
		return []string{"eu-central-1", "us-east-1"}[id%4/2]
	}
	return fmt.Sprintf("%s-%d", name, job%10)
}

// series returns how many there are at a time, everSeries how many there have
// ever been.
func (f *fleet) series() int     { return len(f.targets) * metricsPerTarget }
func (f *fleet) everSeries() int { return f.known * metricsPerTarget }

// span returns the first and last time of n scrapes.
func (f *fleet) span(n int) (first, last int64) {
	return f.start, f.start + int64(n-1)*f.interval + min(f.interval, 15_000) - 1
}

// scrapes writes scrapes number from to number to, exclusive. Each worker has
// its own targets, so that the samples of a series come in order.
func (f *fleet) scrapes(path string, from, to int) workload {
	w := workload{path: path, headers: remoteWriteHeaders()}
	var senders [workers]*fleetSender
	for i := range senders {
		senders[i] = &fleetSender{fleet: f, worker: i, slot: i * targetsPerRequest, scrape: from, end: to, rng: rand.New(rand.NewPCG(uint64(from), uint64(i)))}
	}
	w.next = func(i int) body { return senders[i].next() }
	return w
}

// fleetSender makes the requests of one worker.
type fleetSender struct {
	*fleet
	worker           int
	slot, scrape     int
	end              int
	rng              *rand.Rand
	raw, packed, one []byte
}

func (s *fleetSender) next() body {
	if s.slot >= len(s.targets) {
		s.slot = s.worker * targetsPerRequest
		s.scrape++
	}
	if s.scrape >= s.end || s.slot >= len(s.targets) {
		return body{}
	}
	s.raw = s.raw[:0]
	last := min(s.slot+targetsPerRequest, len(s.targets))
	for slot := s.slot; slot < last; slot++ {
		s.appendTarget(slot)
	}
	samples := int64(last-s.slot) * metricsPerTarget
	s.slot += workers * targetsPerRequest
	if n := s2.MaxEncodedLen(len(s.raw)); cap(s.packed) < n {
		s.packed = make([]byte, n)
	}
	return body{s2.EncodeSnappy(s.packed[:cap(s.packed)], s.raw), samples}
}

// appendTarget appends one sample of each series of a target.
func (s *fleetSender) appendTarget(slot int) {
	t := &s.targets[slot]
	at := uint64(s.start + int64(s.scrape)*s.interval + t.offset)
	for k, metric := range s.metrics {
		s.one = append(append(s.one[:0], metric...), t.labels...)
		if s.unique {
			s.one = appendUUID(s.one, uint64(t.id*metricsPerTarget+k))
		}
		const valueSize = 9
		sampleSize := valueSize + 1 + protowire.SizeVarint(at)
		s.raw = protowire.AppendTag(s.raw, 1, protowire.BytesType)
		s.raw = protowire.AppendVarint(s.raw, uint64(len(s.one)+1+protowire.SizeVarint(uint64(sampleSize))+sampleSize))
		s.raw = append(s.raw, s.one...)
		s.raw = protowire.AppendTag(s.raw, 2, protowire.BytesType)
		s.raw = protowire.AppendVarint(s.raw, uint64(sampleSize))
		s.raw = protowire.AppendTag(s.raw, 1, protowire.Fixed64Type)
		s.raw = protowire.AppendFixed64(s.raw, math.Float64bits(s.value(slot, k)))
		s.raw = protowire.AppendTag(s.raw, 2, protowire.VarintType)
		s.raw = protowire.AppendVarint(s.raw, at)
	}
}

// value moves a series on and returns its value. One series in five stands still.
func (s *fleetSender) value(slot, k int) float64 {
	v := &s.values[slot*metricsPerTarget+k]
	pace := int64(mix(uint64(slot*metricsPerTarget+k)) % 1000)
	if pace%5 == 0 {
		pace = 0
	}
	switch k % 3 {
	case 0: // a counter
		*v += s.rng.Int64N(pace + 1)
		return float64(*v)
	case 1: // a gauge of pages
		*v = max(0, *v+s.rng.Int64N(2*(pace/50)+1)-pace/50)
		return float64(*v * 4096)
	}
	*v = max(0, *v+s.rng.Int64N(2*pace+1)-pace) // a gauge in thousandths
	return float64(*v) / 1000
}

// appendLabel appends a label as a field of a series.
func appendLabel(dst []byte, name, value string) []byte {
	size := 1 + protowire.SizeBytes(len(name)) + 1 + protowire.SizeBytes(len(value))
	dst = protowire.AppendTag(dst, 1, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(size))
	dst = protowire.AppendTag(dst, 1, protowire.BytesType)
	dst = protowire.AppendString(dst, name)
	dst = protowire.AppendTag(dst, 2, protowire.BytesType)
	return protowire.AppendString(dst, value)
}

// appendUUID appends the label uuid, 36 bytes that only series id has.
func appendUUID(dst []byte, id uint64) []byte {
	const hexDigits = "0123456789abcdef"
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], mix(id))
	binary.BigEndian.PutUint64(raw[8:], mix(^id))
	var text [36]byte
	out := text[:0]
	for i, b := range raw {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			out = append(out, '-')
		}
		out = append(out, hexDigits[b>>4], hexDigits[b&15])
	}
	return appendLabel(dst, "uuid", string(out))
}

// mix scatters a number: distinct ones stay distinct (it is splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
