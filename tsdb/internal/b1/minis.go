package b1

import (
	"encoding/binary"

	"github.com/varvedb/varve/tsdb/internal/codec"
)

// The payload of LayoutMinis, behind start timestamps and exceptions:
//
//	ulps       NearTens: codec | order<<2 byte, table byte, shift byte, centre
//	           varint of the second streams; missing otherwise
//	directory  unless the header says it all
//	minis      one after the other: the stream of q, for NearTens followed by
//	           the stream of ulps, each beginning with a whole byte
func (e *Encoder) appendMinis(dst []byte, h *Header, v *codec.Values) []byte {
	var ulps codec.Params
	if h.Domain == codec.NearTens {
		ulps, _ = e.planner.Plan(v.Ulps, h.mini(), 1)
		dst = append(dst, byte(ulps.Codec)|ulps.Order<<2, ulps.Table, ulps.Shift)
		dst = binary.AppendVarint(dst, ulps.Centre)
	}
	e.stream = e.stream[:0]
	for k := range h.minis() {
		from := k << h.MiniLog
		to := min(from+h.mini(), h.Count)
		before := len(e.stream)
		e.stream = e.coder.Append(e.stream, &h.Params, e.q[from:to])
		var u []int64
		if h.Domain == codec.NearTens {
			u = v.Ulps[from:to]
			first := len(e.stream)
			e.stream = e.coder.Append(e.stream, &ulps, u)
			e.dir[dirSecond][k] = int64(len(e.stream) - first)
		}
		if !h.oneMini() {
			e.dir.fill(h, k, e.q[from:to], u)
		}
		e.dir[dirLength][k] = int64(len(e.stream) - before)
	}
	if !h.oneMini() {
		dst = e.dir.append(dst, h)
	}
	return append(dst, e.stream...)
}
