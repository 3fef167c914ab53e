package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"
	"unsafe"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/varvedb/varve/e2e/oracle"
)

// leastBytes is what a query is taken to allocate at least.
const leastBytes = 1 << 10

// figure is what one query cost one contender.
type figure struct {
	nanos float64 // of processor time
	bytes float64 // allocated, the result's own excluded
}

// row is one case with a figure of each contender.
type row struct {
	name    string
	figures []figure
	differs *oracle.Difference
}

func (r row) String() string {
	out := fmt.Sprintf("  %-90s", r.name)
	for _, f := range r.figures {
		out += fmt.Sprintf(" %9s %9s", duration(f.nanos), bytesText(f.bytes))
	}
	if r.differs != nil {
		out += " " + r.differs.String()
	}
	return out
}

// slowNanos is how long a query takes that is run once for each contender, bytes
// and time at once: what is measured is far above what disturbs it.
const slowNanos = 200e6

// measure has the contenders answer a case in turns.
func measure(ctx context.Context, contenders []contender, c benchCase, least time.Duration, rounds int) (row, error) {
	r := row{name: c.name(), figures: make([]figure, len(contenders))}
	spent, err := r.verify(ctx, contenders, c)
	if err != nil {
		return r, err
	}
	slow := float64(spent) > 2*slowNanos
	for i, who := range contenders {
		runs := 4
		if slow {
			runs = 1
		}
		if r.figures[i], err = allocated(ctx, who, c, runs); err != nil {
			return r, err
		}
	}
	for round := 0; round < rounds && !slow; round++ {
		for i, who := range contenders {
			nanos, err := timed(ctx, who, c, least/time.Duration(rounds))
			if err != nil {
				return r, err
			}
			if f := &r.figures[i]; round == 0 || nanos < f.nanos {
				f.nanos = nanos
			}
		}
	}
	return r, nil
}

// verify compares the answers over the store of varve, and returns what time both took.
func (r *row) verify(ctx context.Context, contenders []contender, c benchCase) (time.Duration, error) {
	start := processorTime()
	answers := make([]oracle.Answer, 2)
	for i := range answers {
		if answers[i] = oracle.Run(ctx, contenders[i].engine, contenders[i].from, c.Question); answers[i].Err != nil {
			return 0, fmt.Errorf("%s: %w", contenders[i].name, answers[i].Err)
		}
	}
	spent := processorTime() - start
	if r.differs = oracle.Diff(answers[1], answers[0]); r.differs != nil {
		again := oracle.Run(ctx, contenders[1].engine, contenders[1].from, c.Question)
		if oracle.Diff(again, answers[1]) != nil { // the oracle's answer is not stable
			r.differs = nil
		}
	}
	return spent, nil
}

func ask(ctx context.Context, who contender, c benchCase) (promql.Query, *promql.Result, error) {
	var qry promql.Query
	var err error
	if c.Step == 0 {
		qry, err = who.engine.NewInstantQuery(ctx, who.from, nil, c.Text, time.UnixMilli(c.Start))
	} else {
		qry, err = who.engine.NewRangeQuery(ctx, who.from, nil, c.Text, time.UnixMilli(c.Start), time.UnixMilli(c.End), time.Duration(c.Step)*time.Millisecond)
	}
	if err != nil {
		return nil, nil, err
	}
	res := qry.Exec(ctx)
	return qry, res, res.Err
}

// timed runs a case for a while and returns the processor time of one run. It looks
// at the clock ever more rarely: that is a call of the system, which takes a tenth
// as long as the smallest of queries.
func timed(ctx context.Context, who contender, c benchCase, least time.Duration) (float64, error) {
	runtime.GC() // what others left is not to be collected here
	start, n := processorTime(), 0
	for {
		for range 1 + n/8 {
			qry, _, err := ask(ctx, who, c)
			if err != nil {
				return 0, err
			}
			qry.Close()
			n++
		}
		if spent := processorTime() - start; spent >= least {
			return float64(spent) / float64(n), nil
		}
	}
}

// allocated returns the bytes of a run less those of its result, and the time.
// Pools are emptied first, then filled by a run that does not count, if there are
// several; of the others it takes the least, since others may allocate meanwhile.
func allocated(ctx context.Context, who contender, c benchCase, runs int) (figure, error) {
	runtime.GC()
	runtime.GC() // what survived the first is dropped by the second
	var best figure
	for i := range runs {
		before, start := totalAllocated(), processorTime()
		_, res, err := ask(ctx, who, c)
		spent, after := processorTime()-start, totalAllocated()
		if err != nil {
			return figure{}, err
		}
		left := max(float64(after-before)-resultBytes(res), leastBytes)
		if i <= 1 || left < best.bytes {
			best = figure{nanos: float64(spent), bytes: left}
		}
	}
	return best, nil
}

func totalAllocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// resultBytes is the size of a result by the formula of the package comment.
func resultBytes(r *promql.Result) float64 {
	n := 0
	switch v := r.Value.(type) {
	case promql.Matrix:
		for _, s := range v {
			n += int(unsafe.Sizeof(s)) + labelBytes(s.Metric) + len(s.Floats)*int(unsafe.Sizeof(promql.FPoint{}))
			for _, p := range s.Histograms {
				n += int(unsafe.Sizeof(p)) + histogramBytes(p.H)
			}
		}
	case promql.Vector:
		for _, s := range v {
			n += int(unsafe.Sizeof(s)) + labelBytes(s.Metric) + histogramBytes(s.H)
		}
	}
	return float64(n)
}

func labelBytes(ls labels.Labels) int {
	n := 0
	ls.Range(func(l labels.Label) { n += len(l.Name) + len(l.Value) + 2 })
	return n
}

func histogramBytes(h *histogram.FloatHistogram) int {
	if h == nil {
		return 0
	}
	return int(unsafe.Sizeof(*h)) + 8*(len(h.PositiveSpans)+len(h.NegativeSpans)+len(h.PositiveBuckets)+len(h.NegativeBuckets)+len(h.CustomValues))
}
