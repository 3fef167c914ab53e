package codec

import (
	"slices"
	"sync"
)

// What coding with every table would cost is added up for four tables at a time,
// in lanes of 16 bits: a sample has too few numbers to fill one.
const (
	laneTables = 4
	laneGroups = (singleTables + laneTables - 1) / laneTables
	fewGroups  = (10 + laneTables - 1) / laneTables
	pairKinds  = (symbols + 1) * (symbols + 1)
)

// tableCosts are the bits of every word of every table.
type tableCosts struct {
	singles [symbols + 1][laneGroups]uint64
	few     [symbols + 1][fewGroups]uint64 // of fewTables
	pairs   [singleTables][pairKinds]uint8 // without what the halves that are no symbols take
	// slow is what decoding a symbol is worth, in 2^-16 bits: nothing at
	// lookupEmit symbols a look-up, an eighth of a bit at half of that.
	slow [Tables]int
}

var costsOfTables = sync.OnceValue(func() *tableCosts {
	c := new(tableCosts)
	for id := range singleTables {
		lengths := tableLengths(id)
		for s, l := range lengths {
			c.singles[s][id/laneTables] |= uint64(l) << (16 * (id % laneTables))
		}
		if k := slices.Index(fewTables, uint8(id)); k >= 0 {
			for s, l := range lengths {
				c.few[s][k/laneTables] |= uint64(l) << (16 * (k % laneTables))
			}
		}
		c.slow[id] = slowness(lengths, 1)
		lengths = tableLengths(pairBase + id)
		for kind := range pairKinds {
			c.pairs[id][kind] = uint8(pairCost(lengths, kind/(symbols+1), kind%(symbols+1)))
		}
		c.slow[pairBase+id] = slowness(lengths, 2)
	}
	return c
})

// missLookups is how many look-ups a word that a look-up does not know takes.
const missLookups = 24

// slowness is that of a table of words of width symbols: look-ups for each symbol,
// those that have to be made for words they do not know among them.
func slowness(lengths []byte, width int) int {
	missing := lookupSize
	for _, l := range lengths[:len(lengths)-1] {
		if l > 0 && l <= lookupBits {
			missing -= 1 << (lookupBits - l)
		}
	}
	emitted := pace(lengths, width) + missing*width
	return (lookupEmit*(lookupSize+missLookups*missing) - emitted) << 12 / emitted
}

// pace is how many symbols all entries of a lookup have together: how fast a
// table of words of width symbols decodes. It follows from the lengths: of every
// 2^l entries one begins with words of l bits together.
func pace(lengths []byte, width int) (sum int) {
	var ahead [lookupBits + 1]int
	ahead[0] = 1
	for range lookupEmit / width {
		var next [lookupBits + 1]int
		for _, l := range lengths[:len(lengths)-1] { // all but escape
			for before := 0; l > 0 && before+int(l) <= lookupBits; before++ {
				next[before+int(l)] += ahead[before]
			}
		}
		ahead = next
		for l, k := range ahead {
			sum += width * k << (lookupBits - l)
		}
	}
	return sum
}

// pairCost leaves out what the halves of a pair that are no symbols take.
func pairCost(lengths []byte, a, b int) int {
	if a < symbols && b < symbols && lengths[a*symbols+b] > 0 {
		return int(lengths[a*symbols+b])
	}
	cost := int(lengths[len(lengths)-1])
	for _, s := range [2]int{a, b} {
		if s < symbols {
			cost += int(escapedBits(int64(s - symbolMax)))
		}
	}
	return cost
}

// fewTables are those for short columns: normal of five widths, Laplace of two,
// many zeros, one-sided, uniform.
var fewTables = []uint8{1, 4, 7, 10, 13, 18, 21, 27, 42, 50}

// codecs finds the best codec for the residuals d of streams of per, around
// p.Centre.
func (pl *Planner) codecs(p Params, d []int64, per int) {
	pl.centred = pl.centred[:0]
	var class [65]int
	for _, x := range d {
		x -= p.Centre
		pl.centred = append(pl.centred, x)
		class[classOf(x)]++
	}
	r := pl.centred
	widest := len(class) - 1
	for widest > 0 && class[widest] == 0 {
		widest--
	}
	if widest > 4 || len(r) == 0 {
		pl.class(p, &class, len(r))
	}
	pl.huffs(p, r, per, &class)
	size := 0
	for rest := d; len(rest) > 0; {
		n := min(per, len(rest))
		size += 8 * planPack(rest[:n]).bytes
		rest = rest[n:]
		if done := len(d) - len(rest); size*len(d) > pl.bits*done*5/4 {
			return // it will not come near
		}
	}
	if size*1024 <= pl.bits*packBonus {
		p.Codec, p.Centre = Pack, 0
		pl.best, pl.bits = p, size
	}
}

// huffs tries Huff with some numbers of raw low bits, the two best of them with
// pairs.
func (pl *Planner) huffs(p Params, r []int64, per int, class *[65]int) {
	list, count, width := shifts(class, len(r))
	mean := meanWithin(r, width)
	p.Codec = Huff
	centre := p.Centre
	var tried [len(list)]Params
	var cost [len(list)]int
	for k, shift := range list[:count] {
		half := int64(0)
		if shift > 0 {
			half = 1<<(shift-1) - mean
		}
		p.Shift, p.Centre = shift, centre-half
		extra := pl.count(r, shift, half)
		tried[k], cost[k] = p, pl.singles(p, len(r), extra)
	}
	if pl.Short || len(r) < fewNumbers {
		return
	}
	for range min(count, 2) {
		best := 0
		for k := range count {
			if cost[k] >= 0 && (cost[best] < 0 || cost[k] < cost[best]) {
				best = k
			}
		}
		p = tried[best]
		half := centre - p.Centre
		extra := pl.count(r, p.Shift, half)
		pl.singleCosts()
		pl.countPairs(r, p.Shift, half, per)
		pl.pairTables(p, len(r), extra)
		cost[best] = -1
	}
}

// shifts are the numbers of raw low bits to try: those that leave most of the
// high parts within the symbols. Seven of ten zigzagged residuals have width bits
// at most.
func shifts(class *[65]int, n int) (list [4]uint8, count, width int) {
	seen := 0
	for c, k := range class {
		if seen += k; seen*10 >= n*7 {
			width = c
			break
		}
	}
	for s := width - 4; s < width || count == 0; s++ {
		if s := uint8(min(max(s, 0), maxShift)); count == 0 || list[count-1] != s {
			list[count] = s
			count++
		}
	}
	return list, count, width
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

// keep keeps the cheapest of what it is offered.
func (pl *Planner) keep(p Params, cost int) {
	if pl.bits < 0 || cost < pl.bits {
		pl.best, pl.bits = p, cost
	}
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
	around := 3
	if pl.Short {
		around = 1
	}
	for origin := max(common-around, 1); origin <= min(common+around, 64); origin++ {
		pl.high = [symbols + 1]int{}
		extra := 0
		for c, k := range class {
			if s := int64(c - origin); small(s) {
				pl.high[s+symbolMax] += k
			} else if k > 0 {
				pl.high[symbols] += k
				extra += k * int(escapedBits(s))
			}
		}
		p.Shift = uint8(origin)
		pl.singles(p, n, raw+extra)
	}
}

// count fills high with the high parts of r + half and returns the bits of all
// but the code words.
func (pl *Planner) count(r []int64, shift uint8, half int64) (extra int) {
	pl.high = [symbols + 1]int{}
	for _, x := range r {
		s := (x + half) >> (shift & 63)
		if k := uint64(s + symbolMax); k < symbols {
			pl.high[k]++
		} else {
			pl.high[symbols]++
			extra += int(escapedBits(s))
		}
	}
	return extra + len(r)*int(shift)
}

// countPairs fills pairs with the high parts of r + half, of streams of per.
func (pl *Planner) countPairs(r []int64, shift uint8, half int64, per int) {
	pl.pairs = [pairKinds]int{}
	kind := func(x int64) uint64 { return min(uint64((x+half)>>(shift&63)+symbolMax), symbols) }
	for len(r) > 0 {
		mini := r[:min(per, len(r))]
		r = r[len(mini):]
		for ; len(mini) > 1; mini = mini[2:] {
			pl.pairs[kind(mini[0])*(symbols+1)+kind(mini[1])]++
		}
		if len(mini) > 0 {
			pl.pairs[kind(mini[0])*(symbols+1)+symbolMax]++
		}
	}
}

// singleCosts fills costs with the bits of the code words of high in each table.
func (pl *Planner) singleCosts() {
	var sum [laneGroups]uint64
	costs := costsOfTables()
	for s, k := range pl.high {
		if k > 0 {
			for g, x := range &costs.singles[s] {
				sum[g] += x * uint64(k)
			}
		}
	}
	pl.spread(sum[:])
}

// fewCosts is singleCosts for fewTables.
func (pl *Planner) fewCosts() {
	var sum [fewGroups]uint64
	costs := costsOfTables()
	for s, k := range pl.high {
		if k > 0 {
			for g, x := range &costs.few[s] {
				sum[g] += x * uint64(k)
			}
		}
	}
	pl.spread(sum[:])
}

// spread fills costs with the lanes of sum.
func (pl *Planner) spread(sum []uint64) {
	for g, x := range sum {
		c := (*[laneTables]int)(pl.costs[laneTables*g:])
		c[0], c[1], c[2], c[3] = int(uint16(x)), int(uint16(x>>16)), int(uint16(x>>32)), int(x>>48)
	}
}

// singles finds the best table for n high parts and extra bits beside them, and
// returns what it costs.
func (pl *Planner) singles(p Params, n, extra int) (least int) {
	slow := &costsOfTables().slow
	least = -1
	try := func(id uint8, cost int) {
		if cost += extra + n*slow[id]>>16; least < 0 || cost < least {
			p.Table, least = id, cost
		}
	}
	if pl.Short {
		pl.fewCosts()
		for k, id := range fewTables {
			try(id, pl.costs[k])
		}
	} else {
		pl.singleCosts()
		for id, cost := range pl.costs[:singleTables] {
			try(uint8(id), cost)
		}
	}
	pl.keep(p, least)
	return least
}

// pairTables tries the tables of pairs whose single ones cost least.
func (pl *Planner) pairTables(p Params, n, extra int) {
	costs := costsOfTables()
	var kinds [pairKinds]uint8
	count := 0
	for kind, k := range pl.pairs {
		if k > 0 {
			kinds[count] = uint8(kind)
			count++
		}
	}
	tries := 6
	if n < 512 {
		tries = 2
	}
	for range tries {
		id := 0
		for k, cost := range pl.costs[:singleTables] {
			if cost < pl.costs[id] {
				id = k
			}
		}
		pl.costs[id] = int(^uint(0) >> 1)
		p.Table = uint8(pairBase + id)
		cost, row := extra+n*costs.slow[p.Table]>>16, &costs.pairs[id]
		for _, kind := range kinds[:count] {
			cost += pl.pairs[kind] * int(row[kind])
		}
		pl.keep(p, cost)
	}
}
