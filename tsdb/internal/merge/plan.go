package merge

import "slices"

// Candidate is a part as planning sees it.
type Candidate struct {
	ID      uint64
	Day     int64 // UTC day since 1970
	SeqMin  uint64
	Samples uint64
	Hidden  bool // deletes hide something of it
	Settled bool // it was made a while ago
}

// minFan is the number of parts of an open day that make a merge worth it.
const minFan = 4

// Plan returns the groups of parts that ought to be joined, each group
// neighbours of one day in the order of their sequence numbers: runs of similar
// size, so that a sample is rewritten about log4 times. Of a closed day (before
// today) all parts are joined once they are settled, so that data that comes
// late in many small pieces does not rewrite the day for each. With force every
// day gets one part and hidden samples go.
func Plan(parts []Candidate, today int64, force bool) [][]uint64 {
	byDay := map[int64][]Candidate{}
	var days []int64
	for _, p := range parts {
		if byDay[p.Day] == nil {
			days = append(days, p.Day)
		}
		byDay[p.Day] = append(byDay[p.Day], p)
	}
	slices.Sort(days)
	var out [][]uint64
	for _, day := range days {
		list := byDay[day]
		slices.SortFunc(list, func(a, b Candidate) int {
			if a.SeqMin < b.SeqMin {
				return -1
			}
			return 1
		})
		if group := planDay(list, day < today, force); len(group) > 0 {
			out = append(out, group)
		}
	}
	return out
}

func planDay(list []Candidate, closed, force bool) []uint64 {
	switch {
	case len(list) == 1:
		if force && list[0].Hidden {
			return ids(list)
		}
		return nil
	case force || closed && settled(list):
		return ids(list)
	}
	// From the newest backwards: as long as the next older part is not much
	// larger than all newer ones together, it joins them.
	from := len(list) - 1
	sum := list[from].Samples
	for from > 0 && list[from-1].Samples <= minFan*sum {
		from--
		sum += list[from].Samples
	}
	if len(list)-from < minFan {
		return nil
	}
	return ids(list[from:])
}

func settled(list []Candidate) bool {
	for _, c := range list {
		if !c.Settled {
			return false
		}
	}
	return true
}

func ids(list []Candidate) []uint64 {
	out := make([]uint64, len(list))
	for i, c := range list {
		out[i] = c.ID
	}
	return out
}
