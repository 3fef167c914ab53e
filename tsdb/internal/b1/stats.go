package b1

import (
	"errors"
	"math"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

var (
	errNotDecimal = errors.New("read block: its values are of another kind")
	errRange      = errors.New("read block: samples out of range")
)

// Stat returns a statistic over the values of the samples [i, j) of a float
// block and whether it is exact: equal, bit for bit, to what decoding them and
// computing in time order yields. On false the caller decodes. Staleness markers
// are values like any other: with one in the range, only count, first and last
// are exact. i < j.
//
// Mini-blocks inside the range are answered for by their statistics, those it
// cuts are decoded.
func (b *Block) Stat(op block.StatOp, i, j int) (value float64, exact bool) {
	if b.h.Kind != block.KindFloat || i < 0 || i >= j || j > b.h.Count {
		return 0, false
	}
	switch op {
	case block.StatCount:
		return float64(j - i), true
	case block.StatFirst:
		return b.at(i)
	case block.StatLast:
		return b.at(j - 1)
	case block.StatSum:
		return b.sum(i, j)
	case block.StatMin:
		return b.extreme(i, j, false)
	case block.StatMax:
		return b.extreme(i, j, true)
	}
	return 0, false
}

// Increase returns what counters grow by over the samples [i, j): the last value
// less the first, plus, in time order, each value that a smaller one follows.
// exact as in Stat. A range with NaN is never exact.
func (b *Block) Increase(i, j int) (value float64, exact bool) {
	h := &b.h
	if h.Kind != block.KindFloat || i < 0 || i >= j || j > h.Count {
		return 0, false
	}
	if h.Resets >= manyResets || h.Flags&FlagSpecial != 0 || len(b.exceptionsIn(i, j)) > 0 {
		return 0, false
	}
	first, ok := b.at(i)
	last, ok2 := b.at(j - 1)
	if !ok || !ok2 {
		return 0, false
	}
	value = last - first
	for _, at := range h.ResetAt[:h.Resets] {
		if int(at) <= i || int(at) >= j {
			continue
		}
		before, ok := b.at(int(at) - 1)
		if !ok {
			return 0, false
		}
		value += before
	}
	return value, true
}

// Resets appends to dst the indexes of the samples of (i, j) whose value is below
// the one before; exact is false if there are too many or exceptions among them.
func (b *Block) Resets(dst []int, i, j int) (list []int, exact bool) {
	if i < 0 || len(b.exceptionsIn(i, j)) > 0 {
		return dst, false
	}
	return b.h.AppendResets(dst, i, j)
}

// AppendResets is Block.Resets of a block whose payload is not at hand, if there are
// no exceptions among the samples.
func (h *Header) AppendResets(dst []int, i, j int) (list []int, exact bool) {
	if h.Kind != block.KindFloat || i < 0 || i >= j || j > h.Count || h.Resets >= manyResets || h.Flags&FlagSpecial != 0 {
		return dst, false
	}
	for _, at := range h.ResetAt[:h.Resets] {
		if int(at) > i && int(at) < j {
			dst = append(dst, int(at))
		}
	}
	return dst, true
}

// Stat is Block.Stat over all samples of a block whose payload is not at hand.
func (h *Header) Stat(op block.StatOp) (value float64, exact bool) {
	if h.Kind != block.KindFloat {
		return 0, false
	}
	if op == block.StatCount {
		return float64(h.Count), true
	}
	if h.Exceptions > 0 || h.Flags&FlagSpecial != 0 {
		return 0, false
	}
	switch op {
	case block.StatFirst:
		return h.value(h.First), true
	case block.StatLast:
		return h.value(h.Last), true
	case block.StatMin:
		return h.value(h.Min), true
	case block.StatMax:
		return h.value(h.Max), true
	case block.StatSum:
		return float64(h.Sum), h.Flags&FlagIntExact != 0
	}
	return 0, false
}

// value is the double that a statistic of the header stands for.
func (h *Header) value(s int64) float64 {
	if h.Domain == codec.Decimals10 {
		return codec.Decimal(s, h.Scale)
	}
	return math.Float64frombits(codec.FromOrdered(s))
}

// at returns the value of sample i.
func (b *Block) at(i int) (value float64, ok bool) {
	if list := b.exceptionsIn(i, i+1); len(list) > 0 {
		return math.Float64frombits(list[0].Bits), true
	}
	switch h := &b.h; {
	case i == 0:
		return h.value(h.First), true
	case i == h.Count-1:
		return h.value(h.Last), true
	case h.Layout == LayoutMinis && i&(h.mini()-1) == 0:
		k := i >> h.MiniLog
		return h.value(h.stat(b.dir.at(dirStart, k), b.dir.at(dirUlps, k))), true
	}
	var out [1]float64
	err := b.Floats(out[:], i)
	return out[0], err == nil
}

// stat makes a statistic of what a directory says.
func (h *Header) stat(q, ulps int64) int64 {
	m := h.Base + h.Divisor*q
	if h.Domain == codec.NearTens {
		return nearOrdered(m, ulps, h.Scale)
	}
	return m
}

// sum adds integers.
func (b *Block) sum(i, j int) (float64, bool) {
	h := &b.h
	if h.Flags&FlagIntExact == 0 || len(b.exceptionsIn(i, j)) > 0 {
		return 0, false
	}
	if i == 0 && j == h.Count {
		return float64(h.Sum), true
	}
	total := int64(0)
	switch h.Layout {
	case LayoutLinear:
		var ends [2]int64
		if decodeAt(b, ends[:1], i) != nil || decodeAt(b, ends[1:], j-1) != nil {
			return 0, false
		}
		return float64((ends[0] + ends[1]) * int64(j-i) / 2), true
	case LayoutRuns:
		b.runFill(i, j-i, func(_, n int, v int64) { total += int64(n) * v })
		return float64(total), true
	}
	for i < j {
		k := i >> h.MiniLog
		from := k << h.MiniLog
		end := min(from+h.mini(), h.Count)
		to := min(end, j)
		part, ok := int64(0), true
		switch {
		case to < end:
			part, ok = b.partSum(k, i-from, to-from)
		case len(b.exceptionsIn(from, i)) > 0:
			part, ok = b.partSum(k, i-from, end-from)
		default: // the whole less what is before i
			n := int64(end - from)
			part = n*h.Base + h.Divisor*(b.dir.at(dirSum, k)+n*(b.dir.at(dirStart, k)-b.dir.at(dirBelow, k)))
			if i > from {
				var before int64
				before, ok = b.partSum(k, 0, i-from)
				part -= before
			}
		}
		if !ok {
			return 0, false
		}
		total += part
		i = to
	}
	return float64(total), true
}

// decodeAt decodes mantissas from sample i on.
func decodeAt(b *Block, dst []int64, i int) error { return ints(b, dst, b.wide[:], i) }

// partSum adds the mantissas [from, to) of mini-block k.
func (b *Block) partSum(k, from, to int) (int64, bool) {
	total := min(b.h.mini(), b.h.Count-k<<b.h.MiniLog)
	if b.Narrow() {
		part := b.narrow[:b.need(to, total)]
		ok := decode(b, part, k)
		return sumOf(part[from:to]), ok
	}
	part := b.wide[:b.need(to, total)]
	ok := decode(b, part, k)
	return sumOf(part[from:to]), ok
}

func sumOf[T codec.Lane](v []T) (sum int64) {
	for _, x := range v {
		sum += int64(x)
	}
	return sum
}

// extreme finds the least or greatest value. Values that are exceptions take
// part as doubles; with NaN or -0 in the range the answer depends on who asks.
func (b *Block) extreme(i, j int, greatest bool) (float64, bool) {
	h := &b.h
	if h.Flags&FlagSpecial != 0 {
		return 0, false
	}
	list := b.exceptionsIn(i, j)
	for _, e := range list {
		if x := math.Float64frombits(e.Bits); x != x || e.Bits == 1<<63 || h.Layout != LayoutMinis {
			return 0, false
		}
	}
	if i == 0 && j == h.Count && h.Exceptions == 0 {
		if greatest {
			return h.value(h.Max), true
		}
		return h.value(h.Min), true
	}
	best := math.Inf(1)
	if greatest {
		best = math.Inf(-1)
	}
	better := func(x float64) {
		if greatest == (x > best) && x != best {
			best = x
		}
	}
	for _, e := range list {
		better(math.Float64frombits(e.Bits))
	}
	if h.Layout != LayoutMinis {
		return b.extremeOfLayout(i, j, greatest)
	}
	// What the directory does not know is decoded last, and only where it can matter.
	for _, known := range [...]bool{true, false} {
		for from := i; from < j; {
			k := from >> h.MiniLog
			begin := k << h.MiniLog
			end := min(begin+h.mini(), h.Count)
			to := min(end, j)
			plain := len(b.exceptionsIn(from, to)) == 0
			switch whole := plain && from == begin && to == end; {
			case whole != known:
			case whole:
				better(h.value(b.miniExtreme(k, greatest)))
			case plain && worse(h.value(b.miniExtreme(k, greatest)), best, greatest):
			default:
				x, any, ok := b.partExtreme(k, from, to, greatest)
				if !ok {
					return 0, false
				}
				if any {
					better(h.value(x))
				}
			}
			from = to
		}
	}
	return best, true
}

// worse tells whether x changes nothing about the least or greatest value so far.
func worse(x, best float64, greatest bool) bool {
	return greatest && x <= best || !greatest && x >= best
}

// extremeOfLayout is for blocks without mini-blocks and ranges without
// exceptions.
func (b *Block) extremeOfLayout(i, j int, greatest bool) (float64, bool) {
	h := &b.h
	var v [2]int64
	if h.Layout == LayoutRuns {
		started := false
		b.runFill(i, j-i, func(_, _ int, x int64) {
			if !started || greatest == (x > v[0]) {
				v[0], started = x, true
			}
		})
		return h.value(v[0]), true
	}
	if decodeAt(b, v[:1], i) != nil || decodeAt(b, v[1:], j-1) != nil {
		return 0, false
	}
	if greatest {
		return h.value(max(v[0], v[1])), true
	}
	return h.value(min(v[0], v[1])), true
}

// miniExtreme is that of a mini-block without exceptions, from the directory.
func (b *Block) miniExtreme(k int, greatest bool) int64 {
	d := &b.dir
	switch {
	case b.h.Domain != codec.NearTens && greatest:
		return b.h.stat(d.at(dirStart, k)+d.at(dirAbove, k), 0)
	case b.h.Domain != codec.NearTens:
		return b.h.stat(d.at(dirStart, k)-d.at(dirBelow, k), 0)
	case greatest:
		return b.h.stat(d.at(dirStart, k)+d.at(dirAbove, k), d.at(dirMaxUlps, k))
	}
	return b.h.stat(d.at(dirStart, k)-d.at(dirBelow, k), d.at(dirMinUlps, k))
}

// rises tells whether none of the samples [i, j), which are no exceptions, is known to
// be below the one before; false where that is not known.
func (h *Header) rises(i, j int) bool {
	if h.Resets >= manyResets {
		return false
	}
	for _, at := range h.ResetAt[:h.Resets] {
		if int(at) > i && int(at) < j {
			return false
		}
	}
	return true
}

// partExtreme is that of the samples [i, j) of mini-block k that are no
// exceptions; any is false if there are none.
func (b *Block) partExtreme(k, i, j int, greatest bool) (best int64, any, ok bool) {
	from := k << b.h.MiniLog
	total := min(b.h.mini(), b.h.Count-from)
	list := b.exceptionsIn(i, j)
	if b.h.Domain == codec.Decimals10 && len(list) == 0 && b.h.rises(i, j) {
		if greatest {
			i = j - 1
		}
		var end [1]int64
		err := decodeAt(b, end[:], i)
		return end[0], true, err == nil
	}
	if b.Narrow() {
		part := b.narrow[:b.need(j-from, total)]
		if !decode(b, part, k) {
			return 0, false, false
		}
		best, any = extremeOf(part, i-from, j-from, from, list, greatest)
		return best, any, true
	}
	n := b.need(j-from, total)
	if b.h.Domain == codec.NearTens {
		n = total
	}
	part := b.wide[:n]
	if b.h.Domain == codec.Decimals10 {
		ok = decode(b, part, k)
	} else {
		ok = b.ordered(part, k)
	}
	if !ok {
		return 0, false, false
	}
	best, any = extremeOf(part, i-from, j-from, from, list, greatest)
	return best, any, true
}

// extremeOf looks at v[i:j] but for the exceptions, whose indexes count from
// -from on.
func extremeOf[T codec.Lane](v []T, i, j, from int, list []codec.Exception, greatest bool) (int64, bool) {
	var best T
	any := false
	for i < j {
		to := j
		if len(list) > 0 {
			to = list[0].Index - from
			list = list[1:]
		}
		if i < to {
			part := v[i:to]
			x := part[0]
			if greatest {
				for _, y := range part {
					x = max(x, y)
				}
			} else {
				for _, y := range part {
					x = min(x, y)
				}
			}
			if !any || greatest == (x > best) {
				best, any = x, true
			}
		}
		if to == j {
			break
		}
		i = to + 1
	}
	return int64(best), any
}
