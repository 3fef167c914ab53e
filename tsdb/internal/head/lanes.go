package head

import (
	"github.com/varvedb/varve/tsdb/internal/tail"
)

// lane is floats that came late but ascend among themselves: what several senders
// of one series interleave makes two or three of them. They are coded like those
// in order, in a tenth of the room that a list takes. A record chains its lanes.
type lane struct {
	tail tail.Tail
	next uint32 // number of the next lane plus one, 0 at the end
}

// maxLanes bounds those of a record; what fits none goes to the list.
const maxLanes = 8

// addToLane appends a late float to the first lane such that neither it nor one
// behind it, which would be the newer, has a sample as late as that. ok is false
// if there are too many.
func (s *holdings) addToLane(r *record, x *sample) (grown int, ok bool) {
	at, n := &r.lanes, 0 // where the number of the lane to use stands
	for next := &r.lanes; *next != 0; n++ {
		l := s.lanes.At(*next - 1)
		next = &l.next
		if l.tail.MaxT() >= x.t && l.tail.Count() > 0 {
			at = next
		}
	}
	if *at == 0 {
		if n == maxLanes {
			return 0, false
		}
		*at = s.lanes.Add() + 1
		grown = laneBytes
	}
	return grown + s.lanes.At(*at-1).tail.Append(s.arena, x.st, x.t, x.v), true
}

// laneSnapshots returns what the lanes of r hold, the older first.
func (s *holdings) laneSnapshots(r *record) (out []tail.Snapshot) {
	for next := r.lanes; next != 0; {
		l := s.lanes.At(next - 1)
		if l.tail.Count() > 0 {
			out = append(out, tail.Snapshot{})
			l.tail.Snapshot(s.arena, &out[len(out)-1])
		}
		next = l.next
	}
	return out
}

// removeFromLanes takes out the samples inside [mint, maxt]; keep is called with
// the first and last times of the others.
func (s *holdings) removeFromLanes(r *record, mint, maxt int64, keep func(int64)) (removed, grown int) {
	for next := r.lanes; next != 0; {
		l := s.lanes.At(next - 1)
		next = l.next
		if l.tail.Count() == 0 {
			continue
		}
		n, g := l.tail.Remove(s.arena, mint, maxt)
		removed, grown = removed+n, grown+g
		if l.tail.Count() > 0 {
			keep(l.tail.MinT())
			keep(l.tail.MaxT())
		}
	}
	return removed, grown
}
