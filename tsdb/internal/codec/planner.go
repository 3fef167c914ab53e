package codec

import (
	"math/bits"
	"slices"
)

// packBonus says how much larger, in 1/1024, a column may be packed than in the
// smallest other form: packed ones decode in half the time.
const packBonus = 1024 + 20

// Planner chooses Params. It is for one goroutine; the zero value is ready and
// keeps scratch of a few times the longest column.
type Planner struct {
	sample  []int64
	best    Params
	bits    int
	least   int // bits that order found
	high    [symbols + 1]int
	pairs   [(symbols + 1) * (symbols + 1)]int
	diffs   [3][]int64
	centred []int64
}

// Plan returns Params for the streams of v, each of per numbers but the last,
// and about how many bits the streams will take. Orders above maxOrder are not
// tried. v is not empty, per is at least 2.
func (pl *Planner) Plan(v []int64, per int, maxOrder uint8) (Params, int) {
	order := pl.order(v, maxOrder)
	d := pl.diffs[order]
	if order > 0 {
		d = pl.drop(d, per, int(order))
	}
	p := Params{Order: order}
	centre := pl.median(d)
	pl.bits = -1
	per -= int(order)
	pl.zero(p, d)
	if pl.bits >= 0 {
		return pl.best, pl.bits
	}
	all := len(d)
	d = sampled(d, per)
	pl.codecs(p, d, centre, per)
	return pl.best, int(int64(pl.bits) * int64(all) / int64(len(d)))
}

// Estimate returns about how many bits v takes, somewhat too many, in a fraction
// of the time of Plan: to compare columns.
func (pl *Planner) Estimate(v []int64, maxOrder uint8) int {
	pl.order(v, maxOrder)
	return pl.least
}

// sampleEvery is of how many streams of a long column one is looked at.
const sampleEvery = 4

// sampled moves a part of d to its start: codecs are chosen by it.
func sampled(d []int64, per int) []int64 {
	if len(d) < 2*sampleEvery*per {
		return d
	}
	out := d[:0]
	for from := per; from+per <= len(d); from += sampleEvery * per {
		out = append(out, d[from:from+per]...)
	}
	return out
}

// order fills diffs and chooses the one with the smallest residuals.
func (pl *Planner) order(v []int64, maxOrder uint8) uint8 {
	pl.diffs[0] = append(pl.diffs[0][:0], v...)
	best, least := uint8(0), -1
	for o := uint8(0); o <= maxOrder && int(o) < len(v); o++ {
		if o > 0 {
			from := pl.diffs[o-1]
			d := append(pl.diffs[o][:0], from[0])
			for i := 1; i < len(from); i++ {
				d = append(d, from[i]-from[i-1])
			}
			pl.diffs[o] = d
		}
		d := pl.diffs[o][o:]
		centre := pl.median(d)
		cost := 0
		for _, x := range d {
			cost += bits.Len64(zigzag(x - centre))
		}
		if cost += int(o) * (16 + len(v)/16); least < 0 || cost < least {
			best, least = o, cost
		}
	}
	pl.least = least
	return best
}

// drop removes the first skip differences of each stream of per: they are not
// sent.
func (pl *Planner) drop(d []int64, per, skip int) []int64 {
	out := d[:0]
	for len(d) > 0 {
		n := min(per, len(d))
		if n > skip {
			out = append(out, d[skip:n]...)
		}
		d = d[n:]
	}
	return out
}

// median is that of up to 65 of the values: one of them.
func (pl *Planner) median(d []int64) int64 {
	if len(d) == 0 {
		return 0
	}
	pl.sample = pl.sample[:0]
	step := max(1, len(d)/64)
	for i := step / 2; i < len(d); i += step {
		pl.sample = append(pl.sample, d[i])
	}
	slices.Sort(pl.sample)
	return pl.sample[len(pl.sample)/2]
}

// zero takes Zero if all residuals are the same.
func (pl *Planner) zero(p Params, d []int64) {
	for _, x := range d {
		if x != d[0] {
			return
		}
	}
	if len(d) > 0 {
		p.Centre = d[0]
	}
	p.Codec = Zero
	pl.best, pl.bits = p, 0
}

func (pl *Planner) codecs(p Params, d []int64, centre int64, per int) {
	pl.centred = pl.centred[:0]
	for _, x := range d {
		pl.centred = append(pl.centred, x-centre)
	}
	r := pl.centred
	var class [65]int
	for _, x := range r {
		class[classOf(x)]++
	}
	p.Centre = centre
	pl.class(p, &class, len(r))
	list, width := shifts(&class, len(r))
	mean := meanWithin(r, width)
	for _, shift := range list {
		q := p
		half := int64(0)
		if shift > 0 {
			half = 1<<(shift-1) - mean
		}
		q.Codec, q.Shift, q.Centre = Huff, shift, centre-half
		pl.huff(q, r, half, per)
	}
	q := p
	q.Codec, q.Centre = Pack, 0
	size := 0
	for len(d) > 0 {
		n := min(per, len(d))
		size += 8 * planPack(d[:n]).bytes
		d = d[n:]
	}
	if size*1024 <= pl.bits*packBonus {
		pl.best, pl.bits = q, size
	}
}

// shifts are the numbers of raw low bits to try: those that leave most of the
// high parts within the symbols.
// Seven of ten zigzagged residuals have width bits at most.
func shifts(class *[65]int, n int) (list []uint8, width int) {
	seen := 0
	for c, k := range class {
		if seen += k; seen*10 >= n*7 {
			width = c
			break
		}
	}
	list = make([]uint8, 0, 4)
	for s := width - 4; s < width; s++ {
		if s := uint8(min(max(s, 0), maxShift)); len(list) == 0 || list[len(list)-1] != s {
			list = append(list, s)
		}
	}
	return list, width
}

// meanWithin is the mean of the residuals that are not far out.
func meanWithin(r []int64, width int) int64 {
	if width > 58 {
		return 0 // the sum might not fit
	}
	limit, sum, n := int64(1)<<width, int64(0), int64(0)
	for _, x := range r {
		if x < limit && x > -limit {
			sum += x >> (width / 2)
			n++
		}
	}
	return sum / max(n, 1) << (width / 2)
}

// take keeps the cheapest of what it is offered.
func (pl *Planner) take(p Params, cost int) {
	if pl.bits < 0 || cost < pl.bits {
		pl.best, pl.bits = p, cost
	}
}

// slowness is what decoding n symbols with a table is worth in bits: nothing at
// lookupEmit symbols a look-up, a sixteenth of a bit each at half of that.
func slowness(id uint8, n int) int {
	t := tables[id]()
	return n * (lookupEmit*lookupSize - t.pace) / max(t.pace, 1) / 16
}

// class finds the best origin and table for bit lengths.
func (pl *Planner) class(p Params, class *[65]int, n int) {
	raw, common := 0, 0
	for c, k := range class {
		raw += k * max(c-1, 0)
		if k > class[common] {
			common = c
		}
	}
	p.Codec = Class
	for origin := max(common-3, 1); origin <= min(common+3, 64); origin++ {
		pl.high = [symbols + 1]int{}
		extra := 0
		for c, k := range class {
			if s := int64(c - origin); small(s) {
				pl.high[s+symbolMax] += k
			} else {
				pl.high[symbols] += k
				extra += k * int(escapedBits(s))
			}
		}
		p.Shift = uint8(origin)
		for id := range uint8(singleTables) {
			p.Table = id
			pl.take(p, raw+extra+pl.singleCost(id)+slowness(id, n))
		}
	}
}

func (pl *Planner) singleCost(id uint8) int {
	length := tables[id]().length
	cost := 0
	for s, k := range pl.high {
		cost += k * int(length[s])
	}
	return cost
}

// huff finds the best table for the high parts of r + half.
func (pl *Planner) huff(p Params, r []int64, half int64, per int) {
	pl.high = [symbols + 1]int{}
	pl.pairs = [len(pl.pairs)]int{}
	extra := 0
	for rest := r; len(rest) > 0; {
		n := min(per, len(rest))
		mini := rest[:n]
		rest = rest[n:]
		before := -1
		for _, x := range mini {
			s := (x + half) >> p.Shift
			k := symbols
			if small(s) {
				k = int(s + symbolMax)
			} else {
				extra += int(escapedBits(s))
			}
			pl.high[k]++
			if before < 0 {
				before = k
			} else {
				pl.pairs[before*(symbols+1)+k]++
				before = -1
			}
		}
		if before >= 0 {
			pl.pairs[before*(symbols+1)+symbolMax]++
		}
	}
	low := len(r) * int(p.Shift)
	var costs [singleTables]int
	for id := range uint8(singleTables) {
		costs[id] = pl.singleCost(id)
		p.Table = id
		pl.take(p, low+extra+costs[id]+slowness(id, len(r)))
	}
	if len(r) < 16 {
		return
	}
	tries := 6
	if len(r) < 512 {
		tries = 2
	}
	for range tries {
		id := slices.Index(costs[:], slices.Min(costs[:]))
		costs[id] = int(^uint(0) >> 1)
		p.Table = uint8(pairBase + id)
		pl.take(p, low+extra+pl.pairCost(p.Table)+slowness(p.Table, len(r)))
	}
}

// pairCost leaves out what the halves of a pair that are no symbols take.
func (pl *Planner) pairCost(id uint8) int {
	t := tables[id]()
	cost := 0
	for a := range symbols + 1 {
		for b := range symbols + 1 {
			k := pl.pairs[a*(symbols+1)+b]
			if k == 0 {
				continue
			}
			if a < symbols && b < symbols && t.length[a*symbols+b] > 0 {
				cost += k * int(t.length[a*symbols+b])
				continue
			}
			each := int(t.length[t.escape])
			for _, s := range [2]int{a, b} {
				if s < symbols {
					each += int(escapedBits(int64(s - symbolMax)))
				}
			}
			cost += k * each
		}
	}
	return cost
}
