package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

const (
	churnDays     = 30
	churnPercent  = 30 // of the targets are new each day
	churnScrapes  = 3  // a day
	churnAskedDay = 15
	day           = int64(24 * time.Hour / time.Millisecond)
	churnInterval = day / churnScrapes
)

// churn is a fleet whose targets are replaced day by day, over the past days.
type churn struct {
	fleet *fleet
	start int64 // midnight of the first day
	turn  int   // the slot to be replaced next
}

func newChurn(targets int) *churn {
	start := time.Now().UnixMilli()/day*day - churnDays*day
	return &churn{newFleet(targets, manyLabels, true, start, churnInterval), start, 0}
}

// begin makes the fleet that of a day, which is the one after the last.
func (c *churn) begin(d int) {
	if d > 0 {
		for range len(c.fleet.targets) * churnPercent / 100 {
			c.fleet.replace(c.turn)
			c.turn = (c.turn + 1) % len(c.fleet.targets)
		}
	}
	c.fleet.start = c.start + int64(d)*day + 600_000
}

// days writes all days.
func (c *churn) days(path string) func(func(workload) bool) {
	return func(yield func(workload) bool) {
		for d := range churnDays {
			if c.begin(d); !yield(c.fleet.scrapes(path, 0, churnScrapes)) {
				return
			}
		}
	}
}

// onlyDay writes one day of the same fleet.
func (c *churn) onlyDay(path string, want int) func(func(workload) bool) {
	for d := range want + 1 {
		c.begin(d)
	}
	return one(c.fleet.scrapes(path, 0, churnScrapes))
}

// query asks for a hundredth of the series of one day.
func (c *churn) query() string {
	args := url.Values{"nocache": {"1"}, "step": {fmt.Sprint(churnInterval / 1000)}}
	args.Set("query", fmt.Sprintf("count by (job) (last_over_time(%s[%ds]))", c.fleet.names[0], churnInterval/1000))
	begin := (c.start + churnAskedDay*day) / 1000
	args.Set("start", fmt.Sprint(begin+churnInterval/1000-1))
	args.Set("end", fmt.Sprint(begin+day/1000-1))
	return "/api/v1/query_range?" + args.Encode()
}

// prepareChurn writes 30 days on each of which 30 % of the series are new.
func prepareChurn(c config) (*plan, error) {
	targets := max(10, c.active/metricsPerTarget)
	active := targets * metricsPerTarget
	ever := active + (churnDays-1)*(targets*churnPercent/100)*metricsPerTarget
	var memory *bar // which the program itself would break with few series
	if active >= 500_000 {
		memory = atMost(math.Floor(float64(600*active+10*(ever-active)) / (1 << 20)))
	}
	rows := append([]row{
		{key: "perseries", title: "index on disk, B/series", digits: 1, bar: atMost(60)},
		{key: "settledrss", title: "VmRSS after flush and merge, MiB", bar: memory},
		{key: "slower", title: "query of a day, CPU, x a store of that day", digits: 2, bar: atMost(2)},
		{key: "latency", title: "  median latency, x a store of that day", digits: 2, bar: atMost(2)},
		{key: "askcpu", title: "  CPU, ms", digits: 2},
		{key: "ask", title: "  median latency, ms", digits: 2},
	}, ingestRows()...)
	return &plan{
		title:   fmt.Sprintf("churn: %d series active, %d in %d days", active, ever, churnDays),
		rows:    rows,
		rivals:  func(k kind) bool { return k.name != "prometheus" }, // takes no samples of the past
		measure: func(s *server) (figures, error) { return c.measureChurn(s, targets) },
	}, nil
}

func (c config) measureChurn(s *server, targets int) (figures, error) {
	load := newChurn(targets)
	f, err := s.ingest(load.days(s.writePath), nil)
	if err != nil {
		return nil, err
	}
	f["perseries"] = f["index"] / float64(load.fleet.everSeries())
	if err := s.ask(f, c.askFor, load.query(), len(load.fleet.targets)); err != nil {
		return nil, err
	}
	if err := s.stop(); err != nil { // servers take turns
		return nil, err
	}
	single, err := newServer(s.kind, c.dir)
	if err != nil {
		return nil, err
	}
	defer single.remove()
	if err := single.start(); err != nil {
		return nil, err
	}
	alone := newChurn(targets)
	g, err := single.ingest(alone.onlyDay(s.writePath, churnAskedDay), nil)
	if err != nil {
		return nil, err
	}
	if err := single.ask(g, c.askFor, alone.query(), len(alone.fleet.targets)); err != nil {
		return nil, err
	}
	f["slower"], f["latency"] = f["askcpu"]/g["askcpu"], f["ask"]/g["ask"]
	return f, nil
}

// ask repeats a range query for some time, after a first one, and sets the
// median latency and the processor time of one, in milliseconds. Each point of
// the answer must add up to want.
func (s *server) ask(f figures, length time.Duration, path string, want int) error {
	if err := s.checkRange(path, want); err != nil {
		return err
	}
	before, err := s.cpu()
	if err != nil {
		return err
	}
	var took []time.Duration
	for begin := time.Now(); time.Since(begin) < length; {
		start := time.Now()
		if _, err := s.send(http.MethodGet, path, nil); err != nil {
			return err
		}
		took = append(took, time.Since(start))
	}
	after, err := s.cpu()
	if err != nil {
		return err
	}
	slices.Sort(took)
	f["ask"] = float64(took[len(took)/2].Nanoseconds()) / 1e6
	f["askcpu"] = float64(after.minus(before).all().Nanoseconds()) / 1e6 / float64(len(took))
	return nil
}

// checkRange requires that at each time of a range the values add up to want.
func (s *server) checkRange(path string, want int) error {
	text, err := s.send(http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	var answer struct {
		Data struct {
			Result []struct{ Values [][2]any }
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("answer %.300s: %w", text, err)
	}
	sums := map[any]int{}
	for _, series := range answer.Data.Result {
		for _, point := range series.Values {
			v, _ := point[1].(string)
			n, err := strconv.Atoi(v)
			if err != nil {
				return err
			}
			sums[point[0]] += n
		}
	}
	if len(sums) != churnScrapes {
		return fmt.Errorf("got %d points, want %d: %.300s", len(sums), churnScrapes, text)
	}
	for at, sum := range sums {
		if sum != want {
			return fmt.Errorf("got %d series at %v, want %d", sum, at, want)
		}
	}
	return nil
}
