package tsdb

import "github.com/varvedb/varve/tsdb/internal/block"

// Narrow is samples of a series in a form in which they are kept decoded.
type Narrow = block.Narrow

// NarrowZone is of how many bytes a Narrow may have the extremes.
const NarrowZone = block.ZoneBytes

// AppendNarrow appends to dst the samples of series i inside [mint, maxt], those that
// Read has without staleness markers, as they are kept decoded, from now on if there is
// room. They are shared and not to be changed. ok is false if not all are kept in that
// form, or could not be read: then Read has them or tells why not, and dst may have been
// appended to.
//
// Cost: some hundred nanoseconds, hardly any for a sample that is kept.
func (v *View) AppendNarrow(i int, mint, maxt int64, dst []Narrow) (out []Narrow, ok bool) {
	mint, maxt = max(mint, v.mint), min(maxt, v.maxt)
	if mint > maxt || v.Err() != nil {
		return dst, mint > maxt
	}
	if v.joined == nil {
		p, isPart := v.places[0].(*partSeries)
		if !isPart {
			return dst, false
		}
		return p.appendNarrow(i, mint, maxt, dst)
	}
	out = dst
	for _, ref := range v.joined.of(i) {
		place, k := v.places[ref.place], int(ref.k)
		p, isPart := place.(*partSeries)
		if !isPart {
			if place.shows(k, mint, maxt) {
				return out, false
			}
			continue
		}
		from := len(out)
		if out, ok = p.appendNarrow(k, mint, maxt, out); !ok {
			return out, false
		}
		if from > len(dst) && from < len(out) && out[from].Start <= out[from-1].End() {
			return out, false
		}
	}
	return out, true
}

func (s *partSeries) appendNarrow(k int, mint, maxt int64, dst []Narrow) ([]Narrow, bool) {
	if s.part.hidden != nil && len(s.part.hidden[s.ords[k]]) > 0 {
		return dst, false
	}
	return s.part.part.AppendNarrow(s.ords[k], mint, maxt, !s.part.strict, dst)
}
