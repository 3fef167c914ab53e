// Package top remembers the last queries and ranks them: by how often they were
// asked, and by the time and the memory they took. The ranks are those of
// VictoriaMetrics' /api/v1/status/top_queries.
//
// Memory is bounded: by a number of queries and by the bytes of their texts,
// each distinct one held once.
package top

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// DefaultQueries is how many queries are remembered, as in VictoriaMetrics.
	DefaultQueries = 20_000
	// maxTextBytes bounds the texts that are remembered.
	maxTextBytes = 8 << 20
)

// Query is one that ended.
type Query struct {
	Text     string
	Range    time.Duration // from its start to its end
	At       time.Time     // when it ended
	Duration time.Duration
	Memory   int64 // bytes at its peak
}

// Row is what queries of one text and range have in common.
type Row struct {
	Text     string
	Range    time.Duration
	Count    int
	Duration time.Duration // of all together
	Memory   int64         // of all together
}

// AvgDuration is the mean duration.
func (r Row) AvgDuration() time.Duration { return r.Duration / time.Duration(r.Count) }

// AvgMemory is the mean of the bytes.
func (r Row) AvgMemory() int64 { return r.Memory / int64(r.Count) }

// Ranks are rows in different orders, the greatest first.
type Ranks struct {
	ByCount, ByAvgDuration, BySumDuration, ByAvgMemory []Row
}

// Recorder remembers queries. It is safe for concurrent use.
type Recorder struct {
	mu    sync.Mutex
	max   int
	ring  []query // a ring that begins at next once it is full
	next  int
	count int
	texts map[string]*text
	bytes int
}

// query is a Query as it is remembered: its text is shared.
type query struct {
	text     *text
	span     time.Duration
	at       time.Time
	duration time.Duration
	memory   int64
}

// text is a query's text and how many of the remembered queries have it.
type text struct {
	text string
	uses int
}

// NewRecorder returns a recorder of the last n queries; 0 means DefaultQueries.
func NewRecorder(n int) *Recorder {
	if n <= 0 {
		n = DefaultQueries
	}
	return &Recorder{max: n, texts: map[string]*text{}}
}

// Add remembers q, and forgets the oldest ones that there is no place for. Of a text
// that is known it allocates nothing.
func (r *Recorder) Add(q Query) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.count > 0 && (r.count == r.max || r.bytes+len(q.Text) > maxTextBytes) {
		r.forgetOldest()
	}
	t := r.texts[q.Text]
	if t == nil {
		t = &text{text: strings.Clone(q.Text)} // which may be a part of a request
		r.texts[t.text] = t
		r.bytes += len(t.text)
	}
	t.uses++
	one := query{text: t, span: q.Range, at: q.At, duration: q.Duration, memory: q.Memory}
	switch at := r.next + r.count; {
	case at < len(r.ring):
		r.ring[at] = one
	case len(r.ring) == r.max:
		r.ring[at-r.max] = one
	default:
		r.ring = append(r.ring, one)
	}
	r.count++
}

func (r *Recorder) forgetOldest() {
	q := &r.ring[r.next]
	if q.text.uses--; q.text.uses == 0 {
		delete(r.texts, q.text.text)
		r.bytes -= len(q.text.text)
	}
	*q = query{}
	if r.next++; r.next == len(r.ring) {
		r.next = 0
	}
	r.count--
}

// Top ranks the queries that ended since a time; each rank has at most n rows.
func (r *Recorder) Top(n int, since time.Time) Ranks {
	rows := r.rows(since)
	rank := func(greater func(a, b Row) int) []Row {
		slices.SortFunc(rows, func(a, b Row) int {
			return cmp.Or(greater(b, a), cmp.Compare(a.Text, b.Text), cmp.Compare(a.Range, b.Range))
		})
		return slices.Clone(rows[:min(max(0, n), len(rows))])
	}
	return Ranks{
		ByCount:       rank(func(a, b Row) int { return cmp.Compare(a.Count, b.Count) }),
		ByAvgDuration: rank(func(a, b Row) int { return cmp.Compare(a.AvgDuration(), b.AvgDuration()) }),
		BySumDuration: rank(func(a, b Row) int { return cmp.Compare(a.Duration, b.Duration) }),
		ByAvgMemory:   rank(func(a, b Row) int { return cmp.Compare(a.AvgMemory(), b.AvgMemory()) }),
	}
}

// rows adds queries up by text and range.
func (r *Recorder) rows(since time.Time) []Row {
	type key struct {
		text *text
		span time.Duration
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := map[key]int{}
	var rows []Row
	for i := range r.count {
		q := &r.ring[(r.next+i)%len(r.ring)]
		if q.at.Before(since) {
			continue
		}
		k := key{q.text, q.span}
		j, ok := at[k]
		if !ok {
			j = len(rows)
			at[k] = j
			rows = append(rows, Row{Text: q.text.text, Range: q.span})
		}
		rows[j].Count++
		rows[j].Duration += q.duration
		rows[j].Memory += q.memory
	}
	return rows
}
