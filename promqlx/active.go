package promqlx

import (
	"sync"
	"time"

	"github.com/varvedb/varve/promqlx/internal/top"
)

// activeQueries are the queries that wait or run: a list, the oldest first.
type activeQueries struct {
	mu            sync.Mutex
	last          uint64 // identifier given last
	n             int
	first, newest *query // the ends of the list
}

func (a *activeQueries) add(q *query) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	a.n++
	q.id = a.last
	if q.before = a.newest; q.before != nil {
		q.before.after = q
	} else {
		a.first = q
	}
	a.newest = q
}

func (a *activeQueries) remove(q *query) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n--
	if q.before != nil {
		q.before.after = q.after
	} else {
		a.first = q.after
	}
	if q.after != nil {
		q.after.before = q.before
	} else {
		a.newest = q.before
	}
	q.before, q.after = nil, nil
}

func (a *activeQueries) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n
}

// ActiveQuery is a query that waits or runs.
type ActiveQuery struct {
	ID         uint64 // not given twice by one engine
	Text       string
	Start, End time.Time
	Step       time.Duration // 0 if it is evaluated at one time
	Client     string
	Began      time.Time
	Running    bool  // it has a slot
	Memory     int64 // bytes it holds
	Samples    int64 // that it holds
}

// ActiveQueries lists the queries that wait or run, the oldest first.
func (e *Engine) ActiveQueries() []ActiveQuery {
	e.active.mu.Lock()
	defer e.active.mu.Unlock()
	list := make([]ActiveQuery, 0, e.active.n)
	for q := e.active.first; q != nil; q = q.after {
		list = append(list, ActiveQuery{
			ID: q.id, Text: q.req.Text, Start: q.req.Start, End: q.req.End, Step: q.req.Step, Client: q.client,
			Began: q.began, Running: q.running.Load(), Memory: q.req.Meter.Used(), Samples: q.req.Meter.Held(),
		})
	}
	return list
}

// QueryInfo is what there is to tell of a query that ended.
type QueryInfo struct {
	Text        string
	Start, End  time.Time
	Step        time.Duration // 0 if it was evaluated at one time
	Client      string
	Began       time.Time
	Duration    time.Duration // of waiting and evaluation
	Queued      time.Duration // of waiting
	Samples     int64         // looked at, as stats=all counts them
	PeakSamples int
	Memory      int64 // bytes at its peak
	Err         error
}

// QueryRanks are the last queries by what they took.
type QueryRanks = top.Ranks

// RankedQueries is how many queries there are ranks of.
const RankedQueries = top.DefaultQueries

// QueryRank is a row of them: the queries of one text and range.
type QueryRank = top.Row

// TopQueries ranks the last 20,000 queries, as far as they ended within maxAge;
// each rank has at most n rows.
func (e *Engine) TopQueries(n int, maxAge time.Duration) QueryRanks {
	return e.last.Top(n, time.Now().Add(-maxAge))
}
