package tsbs

import (
	"fmt"
	"math/rand"
	"strconv"
	"strings"
)

// Fleet is hosts at a moment. Each has ten measurements that walk at random between 0
// and 100, by steps drawn from the normal distribution, and shows their whole parts.
type Fleet struct {
	rng      *rand.Rand
	hosts    []string  // measurement and tags of each, as they begin a line
	fields   []string  // " usage_user=", ",usage_system=" and so on
	states   []float64 // of each host ten
	now, end int64     // nanoseconds
	interval int64
	started  bool
}

// NewFleet returns a fleet before its first moment.
//
// The draws of a host: the first state of each measurement, then the tags in the
// order of drawTags; the hosts follow each other.
func NewFleet(o Options) *Fleet {
	o = o.withDefaults()
	f := &Fleet{rng: rand.New(rand.NewSource(o.Seed)), now: o.Start.UnixNano(), interval: int64(o.Interval)}
	f.end = f.now + int64(o.Span)/f.interval*f.interval
	separator := " "
	for _, name := range Fields() {
		f.fields = append(f.fields, separator+name+"=")
		separator = ","
	}
	for host := range o.Hosts {
		for range f.fields {
			f.states = append(f.states, f.rng.Float64()*100)
		}
		f.hosts = append(f.hosts, drawTags(f.rng, host))
	}
	return f
}

// Next goes to the next moment, and tells whether there is one.
//
// The draws of a moment but the first: a step of each measurement of each host.
func (f *Fleet) Next() bool {
	if f.started {
		f.now += f.interval
		for i, v := range f.states {
			f.states[i] = min(100, max(0, v+f.rng.NormFloat64()))
		}
	}
	f.started = true
	return f.now < f.end
}

// Time returns the moment in milliseconds.
func (f *Fleet) Time() int64 { return f.now / 1e6 }

// Value returns what a host shows of a field.
func (f *Fleet) Value(host, field int) int64 {
	return int64(f.states[host*len(f.fields)+field])
}

// AppendLines appends the line of each host in the protocol of Influx.
func (f *Fleet) AppendLines(dst []byte) []byte {
	for host, tags := range f.hosts {
		dst = append(dst, tags...)
		for field, name := range f.fields {
			dst = append(dst, name...)
			dst = append(strconv.AppendInt(dst, f.Value(host, field), 10), 'i')
		}
		dst = append(strconv.AppendInt(append(dst, ' '), f.now, 10), '\n')
	}
	return dst
}

// Lines returns all there are.
func (o Options) Lines() []byte {
	o = o.withDefaults()
	const line = 350 // bytes; a little more than most take
	text := make([]byte, 0, int(o.Span/o.Interval)*o.Hosts*line)
	for f := NewFleet(o); f.Next(); {
		text = f.AppendLines(text)
	}
	return text
}

// drawTags returns the measurement and the tags of a host. They are drawn in another
// order than they are written: region, datacenter, rack, arch, os, service, its
// version, its environment, team.
func drawTags(rng *rand.Rand, host int) string {
	choose := func(from ...string) string { return from[rng.Intn(len(from))] }
	below := func(n int64) int64 { return rng.Int63n(n) }
	region, zones, _ := strings.Cut(choose("us-east-1:abce", "us-west-1:ab", "us-west-2:abc", "eu-west-1:abc", "eu-central-1:ab",
		"ap-southeast-1:ab", "ap-southeast-2:ab", "ap-northeast-1:ac", "sa-east-1:abc"), ":")
	datacenter := region + string(zones[rng.Intn(len(zones))])
	rack := below(100)
	arch := choose("x64", "x86")
	system := choose("Ubuntu16.10", "Ubuntu16.04LTS", "Ubuntu15.10")
	service, version := below(20), below(2)
	environment := choose("production", "staging", "test")
	team := choose("SF", "NYC", "LON", "CHI")
	return fmt.Sprintf("cpu,hostname=host_%d,region=%s,datacenter=%s,rack=%d,os=%s,arch=%s,team=%s,service=%d,service_version=%d,service_environment=%s",
		host, region, datacenter, rack, system, arch, team, service, version, environment)
}
