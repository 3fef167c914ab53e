package codec

import (
	"math/bits"
)

// packBonus says how much larger, in 1/1024, a column may be packed than in the
// smallest other form: packed ones decode in half the time.
const packBonus = 1024 + 8

// Of long columns pieces are looked at, of so many numbers together.
const (
	sampleWhole = 3072 // up to which all are
	sampleSize  = 2048
	samplePiece = 256
)

// fewNumbers is below how many numbers pairs are not tried.
const fewNumbers = 64

// Planner chooses Params. It is for one goroutine; the zero value is ready and
// keeps some ten KiB of scratch.
type Planner struct {
	// Short is for columns of so few numbers that a table or centre for them
	// alone takes more than it saves: Plan then keeps to some ten tables and
	// rather takes small centres.
	Short bool

	sorted []int64
	diffs  [3][]int64 // residuals of the sample, of each order
	piece  int        // numbers in each piece of the sample
	size   int        // numbers in the sample

	centres [3]int64 // about the middle of each of diffs

	best Params
	bits int

	centred []int64
	high    [symbols + 1]int
	pairs   [pairKinds]int
	costs   [laneGroups * laneTables]int
}

// Plan returns Params for the streams of v, each of per numbers but the last,
// and about how many bits the streams will take. Orders above maxOrder are not
// tried. v is not empty, per is at least 2. Codec is Zero if and only if no
// stream needs any bytes.
func (pl *Planner) Plan(v []int64, per int, maxOrder uint8) (Params, int) {
	for o := uint8(0); o <= min(maxOrder, 1); o++ {
		if p, ok := zeroPlan(v, per, o); ok {
			return p, 0
		}
	}
	order, _ := pl.order(v, per, maxOrder)
	if order == 2 {
		if p, ok := zeroPlan(v, per, 2); ok {
			return p, 0
		}
	}
	pl.bits = -1
	d := pl.diffs[order]
	p := Params{Order: order, Centre: pl.centres[order]}
	if order == 2 || order == 0 && pl.Short {
		p.Centre = pl.median(d)
	}
	pl.codecs(p, d, pl.piece-int(order))
	return pl.best, pl.scaled(pl.bits, len(v))
}

// Estimate returns about how many bits v takes, somewhat too many, in a fraction
// of the time of Plan: to compare columns.
func (pl *Planner) Estimate(v []int64, maxOrder uint8) int {
	_, least := pl.order(v, len(v), maxOrder)
	return pl.scaled(least, len(v))
}

// scaled is what bits of the sample are for all n numbers.
func (pl *Planner) scaled(bits, n int) int { return int(int64(bits) * int64(n) / int64(pl.size)) }

// zeroPlan tells whether all residuals of an order are the same, and how that is
// said.
func zeroPlan(v []int64, per int, order uint8) (Params, bool) {
	p := Params{Order: order}
	started := false
	for len(v) > 0 {
		n := min(per, len(v))
		for i := int(order); i < n; i++ {
			x := v[i]
			switch order {
			case 1:
				x -= v[i-1]
			case 2:
				x += v[i-2] - 2*v[i-1]
			}
			if !started {
				p.Centre, started = x, true
			} else if x != p.Centre {
				return p, false
			}
		}
		v = v[n:]
	}
	return p, true
}

// order fills diffs and returns the order with the smallest residuals and about
// how many bits they take.
func (pl *Planner) order(v []int64, per int, maxOrder uint8) (best uint8, least int) {
	pl.take(v, per, maxOrder)
	least = -1
	for o := uint8(0); o <= maxOrder && (o == 0 || len(pl.diffs[o]) > 0); o++ {
		d := pl.diffs[o]
		centre := int64(0) // there is no constant change of change for long
		switch {
		case o == 0 && pl.Short:
			centre = d[len(d)/2] // the median, should it come to that
		case o < 2:
			centre = pl.median(d)
		}
		pl.centres[o] = centre
		cost := int(o) * (16 + pl.size/16)
		if pl.Short {
			cost = bits.Len64(Zigzag(centre)) + int(o)
		}
		for _, x := range d {
			cost += bits.Len64(Zigzag(x - centre))
		}
		if least < 0 || cost < least {
			best, least = o, cost
		}
	}
	return best, least
}

// take samples v: pieces of streams of per numbers, and their differences.
func (pl *Planner) take(v []int64, per int, maxOrder uint8) {
	pl.piece, pl.size = min(per, len(v)), 0
	stride := pl.piece
	if len(v) > sampleWhole {
		pl.piece = min(per, samplePiece)
		stride = pl.piece * ((len(v) + sampleSize - 1) / sampleSize)
	}
	for o := range pl.diffs {
		pl.diffs[o] = pl.diffs[o][:0]
	}
	for from := stride - pl.piece; from < len(v); from += stride {
		part := v[from:min(from+pl.piece, len(v))]
		pl.size += len(part)
		pl.diffs[0] = append(pl.diffs[0], part...)
		if maxOrder == 0 {
			continue
		}
		at := len(pl.diffs[1])
		pl.diffs[1] = appendDifferences(pl.diffs[1], part)
		if maxOrder > 1 {
			pl.diffs[2] = appendDifferences(pl.diffs[2], pl.diffs[1][at:])
		}
	}
}

func appendDifferences(dst, v []int64) []int64 {
	for i := 1; i < len(v); i++ {
		dst = append(dst, v[i]-v[i-1])
	}
	return dst
}

// median is that of up to 64 of the numbers: one of them.
func (pl *Planner) median(d []int64) int64 { return pl.medianOf(d, 64) }

// medianOf is the median of up to most of the numbers.
func (pl *Planner) medianOf(d []int64, most int) int64 {
	if len(d) == 0 {
		return 0
	}
	s := pl.sorted[:0]
	step := (len(d) + most - 1) / most
	for i := step / 2; i < len(d); i += step {
		s = append(s, d[i])
	}
	pl.sorted = s
	return quickSelect(s, len(s)/2)
}

// quickSelect returns what would be at k if s were sorted.
func quickSelect(s []int64, k int) int64 {
	low, high := 0, len(s)-1
	for low < high {
		pivot, i, j := s[(low+high)/2], low, high
		for i <= j {
			for s[i] < pivot {
				i++
			}
			for s[j] > pivot {
				j--
			}
			if i <= j {
				s[i], s[j] = s[j], s[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return s[k]
		}
	}
	return s[k]
}
