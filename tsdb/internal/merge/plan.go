package merge

import (
	"cmp"
	"slices"
	"time"
)

// Candidate is a part as planning sees it.
type Candidate struct {
	ID             uint64
	MinDay, MaxDay int64 // UTC days since 1970, of one month
	SeqMin         uint64
	Samples        uint64
	Series         uint64
	Hidden         bool          // deletes hide something of it
	Damaged        bool          // it cannot be read whole
	Age            time.Duration // since it was made
}

// Policy is what planning depends on besides the parts.
type Policy struct {
	Today     int64  // UTC day since 1970
	MaxDays   int    // how many days of a month a part may cover, at least 1
	MaxSeries uint64 // most series of all inputs of a merge of several days
	Force     bool   // as few parts as can be, and hidden samples go
}

const (
	// minFan is the number of parts that make a merge worth it.
	minFan = 4
	// settledAfter is for how long a part of one day is there before it is thought
	// that no more will come for the day in a while; one of many days waits longer,
	// as it is costlier to write again.
	settledAfter = 10 * time.Minute
)

// Plan returns the groups of parts that ought to be joined, each in the order of
// their sequence numbers.
//
// Parts that share days make a unit. Of an open day (today and later) runs of
// parts of similar size are joined, so that a sample is rewritten about log4
// times; a closed unit becomes one part when it is settled. Then neighbouring
// days are joined in the same way, inside windows of MaxDays of a month, so that
// series that live for days are indexed once; a window that is over becomes one
// part.
//
// Units with a damaged part stay as they are, and apart from their neighbours.
//
// A group has all parts that share its days, or the newest of them: what is left
// out is older in each sequence number, and a later write wins.
func Plan(parts []Candidate, p Policy) [][]uint64 {
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.MinDay, b.MinDay), cmp.Compare(a.SeqMin, b.SeqMin))
	})
	var groups [][]uint64
	for _, w := range windows(units(parts), p) {
		groups = append(groups, planWindow(w, p)...)
	}
	return groups
}

// unit is parts that share days, in the order of their sequence numbers.
type unit struct {
	parts          []Candidate
	minDay, maxDay int64
}

// units cuts parts, sorted by first day, where a day begins that no earlier part
// reaches.
func units(parts []Candidate) []unit {
	var out []unit
	for _, c := range parts {
		if n := len(out); n > 0 && c.MinDay <= out[n-1].maxDay {
			u := &out[n-1]
			u.parts = append(u.parts, c)
			u.maxDay = max(u.maxDay, c.MaxDay)
			continue
		}
		out = append(out, unit{parts: []Candidate{c}, minDay: c.MinDay, maxDay: c.MaxDay})
	}
	for i := range out {
		slices.SortFunc(out[i].parts, func(a, b Candidate) int { return cmp.Compare(a.SeqMin, b.SeqMin) })
	}
	return out
}

func (u *unit) samples() (n uint64) {
	for _, c := range u.parts {
		n += c.Samples
	}
	return n
}

func (u *unit) series() (n uint64) {
	for _, c := range u.parts {
		n += c.Series
	}
	return n
}

func (u *unit) settled() bool {
	wait := settledAfter * time.Duration(u.maxDay-u.minDay+1)
	return !slices.ContainsFunc(u.parts, func(c Candidate) bool { return c.Age < wait })
}

// windows groups units by the window of days that they lie in. One that reaches
// over the edge of a window stands alone.
func windows(list []unit, p Policy) [][]unit {
	var out [][]unit
	last := int64(-1)
	for _, u := range list {
		w := windowOf(u.minDay, p.MaxDays)
		if w != windowOf(u.maxDay, p.MaxDays) {
			w = -1
		}
		if w < 0 || w != last {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], u)
		last = w
	}
	return out
}

// windowOf numbers the windows of maxDays that months are divided in.
func windowOf(day int64, maxDays int) int64 {
	at := time.Unix(day*24*60*60, 0).UTC()
	return (int64(at.Year())*12+int64(at.Month()))*32 + int64((at.Day()-1)/max(1, maxDays))
}

func planWindow(list []unit, p Policy) (groups [][]uint64) {
	var run []unit // closed neighbours that could be joined
	flush := func() {
		groups = append(groups, planRun(run, p)...)
		run = nil
	}
	for _, u := range list {
		if slices.ContainsFunc(u.parts, func(c Candidate) bool { return c.Damaged }) {
			flush()
			continue
		}
		closed := u.maxDay < p.Today
		if closed && p.MaxDays > 1 && (p.Force || len(u.parts) == 1 && u.settled()) {
			run = append(run, u)
			continue
		}
		flush()
		if group := planUnit(u, closed, p.Force); len(group) > 0 {
			groups = append(groups, group)
		}
	}
	flush()
	return groups
}

// planUnit joins parts that share days.
func planUnit(u unit, closed, force bool) []uint64 {
	switch {
	case len(u.parts) == 1:
		if force && u.parts[0].Hidden {
			return ids(u.parts)
		}
		return nil
	case force || closed && u.settled():
		return ids(u.parts)
	}
	sizes := make([]uint64, len(u.parts))
	for i, c := range u.parts {
		sizes[i] = c.Samples
	}
	return ids(u.parts[tier(sizes):])
}

// planRun joins neighbouring units of closed days: all of them if forced or if
// their window is over, or else the newest of similar size.
func planRun(run []unit, p Policy) (groups [][]uint64) {
	for len(run) > 0 {
		n, series := 1, run[0].series()
		for n < len(run) && series+run[n].series() <= p.MaxSeries {
			series += run[n].series()
			n++
		}
		list := run[:n]
		run = run[n:]
		over := windowOf(list[0].minDay, p.MaxDays) != windowOf(p.Today, p.MaxDays)
		if !p.Force && !over {
			sizes := make([]uint64, len(list))
			for i := range list {
				sizes[i] = list[i].samples()
			}
			list = list[tier(sizes):]
		}
		var all []Candidate
		for _, u := range list {
			all = append(all, u.parts...)
		}
		if len(all) > 1 || len(all) == 1 && p.Force && all[0].Hidden {
			slices.SortFunc(all, func(a, b Candidate) int { return cmp.Compare(a.SeqMin, b.SeqMin) })
			groups = append(groups, ids(all))
		}
	}
	return groups
}

// tier returns from where on sizes should be joined: from the last one backwards,
// as long as the next is not much larger than all after it together; len(sizes)
// if they are too few.
func tier(sizes []uint64) (from int) {
	from = len(sizes) - 1
	if from < 0 {
		return 0
	}
	sum := sizes[from]
	for from > 0 && sizes[from-1] <= minFan*sum {
		from--
		sum += sizes[from]
	}
	if len(sizes)-from < minFan {
		return len(sizes)
	}
	return from
}

func ids(list []Candidate) []uint64 {
	if len(list) == 0 {
		return nil
	}
	out := make([]uint64, len(list))
	for i, c := range list {
		out[i] = c.ID
	}
	return out
}
