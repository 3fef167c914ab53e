package head

import "slices"

// sorter is what sorting the samples of a shard takes, kept for the next one.
type sorter struct {
	ends    []uint32 // by place of a slot in its shard: where its samples end
	samples []Sample
}

// SortBySeries brings the samples of each series together, in the order in which
// they were added. It pays where most series have several: a series that is found
// once is quick to append to.
func (s *Samples) SortBySeries() {
	for i := range s.shards {
		s.shards[i] = s.sorter.sort(s.shards[i])
	}
}

// placeOf numbers the slots of a shard without gaps.
func placeOf(slot uint32) int { return stripeOf(slot)<<stripeBits | int(slot&(stripe-1)) }

// sort returns the sorted list in memory that was the sorter's, and keeps the
// list's: a counting sort.
func (o *sorter) sort(list []Sample) []Sample {
	places, sorted := 0, true
	for k := range list {
		places = max(places, placeOf(list[k].Slot)+1)
		sorted = sorted && (k == 0 || list[k-1].Slot <= list[k].Slot)
	}
	if sorted {
		return list
	}
	o.ends = slices.Grow(o.ends[:0], places)[:places]
	clear(o.ends)
	for k := range list {
		o.ends[placeOf(list[k].Slot)]++
	}
	sum := uint32(0)
	for p, n := range o.ends {
		o.ends[p] = sum // where they begin, until they are placed
		sum += n
	}
	out := slices.Grow(o.samples[:0], len(list))[:len(list)]
	for k := range list {
		p := placeOf(list[k].Slot)
		out[o.ends[p]] = list[k]
		o.ends[p]++
	}
	o.samples = list
	return out
}
