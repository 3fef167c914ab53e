package transform

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

const (
	leLabel    = "le"
	rangeLabel = "vmrange"
)

// bucket is a series of a histogram; le is its upper bound.
type bucket struct {
	le float64
	s  *series.Series
}

// groups collects things by a key, in the order in which keys first appear.
type groups[T any] struct {
	of    map[string]int
	all   [][]T
	bytes []byte
}

// add puts v to what has the key that is written to the bytes lent.
func (g *groups[T]) add(key func(dst []byte) []byte, v T) {
	if g.of == nil {
		g.of = map[string]int{}
	}
	g.bytes = key(g.bytes[:0])
	i, ok := g.of[string(g.bytes)]
	if !ok {
		i = len(g.all)
		g.of[string(g.bytes)] = i
		g.all = append(g.all, nil)
	}
	g.all[i] = append(g.all[i], v)
}

func prometheusBuckets(c *call) ([]*series.Series, error) {
	if err := c.want(1); err != nil {
		return nil, err
	}
	return toLE(c.Args[0]), nil
}

// span is a bucket with both bounds, which does not count those below it.
type span struct {
	from, to         float64
	fromText, toText string
	s                *series.Series
}

// toLE turns buckets with a vmrange, which count what fell into the range, to ones
// with an le, which count all below. Buckets with an le alone are kept, and come
// first; other series are dropped. (vmrangeBucketsToLE of VictoriaMetrics'
// promql/transform.go.)
func toLE(all []*series.Series) []*series.Series {
	answer := make([]*series.Series, 0, len(all))
	var histograms groups[span]
	for _, s := range all {
		text := s.Name.Get(rangeLabel)
		if text == "" {
			if s.Name.Get(leLabel) != "" {
				answer = append(answer, s)
			}
			continue
		}
		if b, ok := parseRange(text); ok {
			b.s = s
			s.Name.Remove(leLabel)
			s.Name.Remove(rangeLabel)
			histograms.add(s.Name.AppendKey, b)
		}
	}
	for _, h := range histograms.all {
		answer = append(answer, sumSpans(h)...)
	}
	return answer
}

func parseRange(text string) (b span, ok bool) {
	if b.fromText, b.toText, ok = strings.Cut(text, "..."); !ok {
		return b, false
	}
	var err error
	if b.from, err = strconv.ParseFloat(b.fromText, 64); err != nil {
		return b, false
	}
	b.to, err = strconv.ParseFloat(b.toText, 64)
	return b, err == nil
}

// sumSpans turns the buckets of one histogram. Empty buckets are left out, but there
// is one below every run of others, and one up to +Inf.
func sumSpans(h []span) []*series.Series {
	sort.Slice(h, func(i, j int) bool { return h[i].to < h[j].to })
	all := make([]*series.Series, 0, len(h)+2)
	seen := make(map[string]*series.Series, len(h))
	var last span
	for _, b := range h {
		if !counted(b.s.Values) {
			continue
		}
		if b.from != last.to && seen[b.fromText] == nil {
			seen[b.fromText] = b.s
			all = append(all, emptyBucket(b.s, b.fromText))
		}
		b.s.Name.Add(leLabel, b.toText)
		if other := seen[b.toText]; other != nil {
			series.Merge(other.Values, b.s.Values) // buckets may overlap
		} else {
			seen[b.toText] = b.s
			all = append(all, b.s)
		}
		last = b
	}
	if last.s != nil && !math.IsInf(last.to, 1) && counted(last.s.Values) {
		all = append(all, emptyBucket(last.s, "+Inf"))
	}
	addUp(all)
	return all
}

// addUp makes every series the sum of itself and those before it.
func addUp(all []*series.Series) {
	if len(all) == 0 {
		return
	}
	for i := range all[0].Values {
		count := 0.0
		for _, s := range all {
			if v := s.Values[i]; v > 0 {
				count += v
			}
			s.Values[i] = count
		}
	}
}

// counted tells whether there is anything in a bucket.
func counted(values []float64) bool {
	return slices.ContainsFunc(values, func(v float64) bool { return v > 0 })
}

func emptyBucket(like *series.Series, le string) *series.Series {
	s := &series.Series{Name: like.Name.Clone(), Values: make([]float64, len(like.Values))}
	s.Name.Put(leLabel, le)
	return s
}

// parseLE returns the upper bound of a bucket; !ok if there is none.
func parseLE(s *series.Series) (b bucket, ok bool) {
	le, err := strconv.ParseFloat(s.Name.Get(leLabel), 64)
	return bucket{le, s}, err == nil
}

// histograms turns series to histograms: sorted buckets that have all labels but le in
// common. The names of metrics and le are dropped. Series without an le are left out.
func histograms(all []*series.Series) [][]bucket {
	var h groups[bucket]
	for _, s := range toLE(all) {
		if b, ok := parseLE(s); ok {
			s.Name.Group = ""
			s.Name.Remove(leLabel)
			h.add(s.Name.AppendTagsKey, b)
		}
	}
	for _, buckets := range h.all {
		sortBuckets(buckets)
	}
	return h.all
}

func sortBuckets(all []bucket) {
	sort.Slice(all, func(i, j int) bool { return all[i].le < all[j].le })
}

// mergeSame adds up buckets of the same bound.
func mergeSame(all []bucket) []bucket {
	merged := all[:1]
	for _, b := range all[1:] {
		last := merged[len(merged)-1]
		if b.le != last.le {
			merged = append(merged, b)
			continue
		}
		for i, v := range b.s.Values {
			last.s.Values[i] += v
		}
	}
	return merged
}

// mend makes counts at step i ones that never fall from bucket to bucket.
// (fixBrokenBuckets of VictoriaMetrics' promql/transform.go.)
func mend(all []bucket, i int) {
	if len(all) < 2 {
		return
	}
	last := all[0].s.Values[i]
	if math.IsNaN(last) {
		last = 0
		all[0].s.Values[i] = 0
	}
	for _, b := range all[1:] {
		if v := b.s.Values[i]; math.IsNaN(v) || last > v {
			b.s.Values[i] = last
		} else {
			last = v
		}
	}
}

// bucketsLimit leaves histograms up to a number of buckets, at least three: those with
// the least in them are merged with the one above. The first and the last stay.
func bucketsLimit(c *call) ([]*series.Series, error) {
	if err := c.want(2); err != nil {
		return nil, err
	}
	limit, err := c.integer(0)
	if err != nil || limit <= 0 {
		return nil, err
	}
	limit = max(limit, 3)
	all := toLE(c.Args[1])
	var h groups[bucket]
	for _, s := range all {
		if b, ok := parseLE(s); ok {
			rest := s.Name.Clone() // a key sorts the labels, those of the answer are not
			rest.Remove(leLabel)
			h.add(rest.AppendKey, b)
		}
	}
	answer := all[:0]
	for _, buckets := range h.all {
		for _, b := range c.limitBuckets(buckets, limit) {
			answer = append(answer, b.s)
		}
	}
	return answer, nil
}

func (c *call) limitBuckets(all []bucket, limit int) []bucket {
	if len(all) <= limit {
		return all
	}
	sortBuckets(all)
	hits := make([]float64, len(all))
	for i := range all[0].s.Values {
		prev := 0.0
		for k, b := range all {
			v := b.s.Values[i]
			hits[k] += v - prev
			prev = v
		}
	}
	for len(all) > limit && !c.Pace.Over(len(all)) {
		least := 1 // merged with the one above it
		for k := 2; k < len(all)-2; k++ {
			if hits[k]+hits[k+1] < hits[least]+hits[least+1] {
				least = k
			}
		}
		hits[least+1] += hits[least]
		hits = slices.Delete(hits, least, least+1)
		all = slices.Delete(all, least, least+1)
	}
	return all
}
