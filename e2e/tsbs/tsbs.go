// Package tsbs makes the data and the questions of the use case cpu-only of TSBS,
// the Time Series Benchmark Suite: from the same seed the same bytes that
// tsbs_generate_data and tsbs_generate_queries write for VictoriaMetrics, in code of
// its own. What has to agree with them is the order of the random draws and what is
// computed of each; that order is said where the draws are.
//
// A [Fleet] is hosts that walk through time; its lines go to the door of Influx.
// [Options.Queries] asks the eleven types of questions that the adapter for
// VictoriaMetrics has, and the four types that it calls impossible, which MetricsQL
// can express. [Answers] are what VictoriaMetrics 1.146 answered to a thousand of
// each of the eleven.
package tsbs

import "time"

// Options say what is made. The zero value is what TSBS is usually asked for: 100
// hosts on 2016-01-01, a line of each every ten seconds, from the seed 123.
type Options struct {
	Hosts    int           // 100; TSBS calls it scale
	Seed     int64         // 123
	Start    time.Time     // 2016-01-01 in UTC
	Span     time.Duration // a day
	Interval time.Duration // 10 s
}

func (o Options) withDefaults() Options {
	if o.Hosts == 0 {
		o.Hosts = 100
	}
	if o.Seed == 0 {
		o.Seed = 123
	}
	if o.Start.IsZero() {
		o.Start = time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if o.Span == 0 {
		o.Span = 24 * time.Hour
	}
	if o.Interval == 0 {
		o.Interval = 10 * time.Second
	}
	return o
}

// IsUsual tells whether the data is that of the zero value, to whose questions
// [Answers] has the answers.
func (o Options) IsUsual() bool { return o.withDefaults() == Options{}.withDefaults() }

// Fields are the measurements of a host in the order of its line. The metric of one
// is called cpu_ and its name.
func Fields() []string {
	return []string{
		"usage_user", "usage_system", "usage_idle", "usage_nice", "usage_iowait",
		"usage_irq", "usage_softirq", "usage_steal", "usage_guest", "usage_guest_nice",
	}
}
