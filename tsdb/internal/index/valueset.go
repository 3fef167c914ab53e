package index

import (
	"math"
	"math/bits"
	"slices"
)

// valueSet is a set of value ordinals of one label, those that a matcher without
// its negation accepts.
type valueSet struct {
	lo, hi uint32   // the least and the greatest member; MaxUint32 if there is none
	bits   []uint64 // from the word of lo on; nil if all from lo to hi are members
	count  uint32
	upto   uint32 // ordinals from 1 to here were looked at
	series int    // that have one of them, estimated when they were looked at
}

func emptyValues(upto uint32) *valueSet {
	return &valueSet{lo: math.MaxUint32, hi: math.MaxUint32, upto: upto}
}

func rangeOfValues(lo, hi, upto uint32) *valueSet {
	if lo > hi {
		return emptyValues(upto)
	}
	return &valueSet{lo: lo, hi: hi, count: hi - lo + 1, upto: upto}
}

// newValueSet makes the set of the given ordinals, which it sorts.
func newValueSet(ordinals []uint32, upto uint32) *valueSet {
	slices.Sort(ordinals)
	ordinals = slices.Compact(ordinals)
	if len(ordinals) == 0 {
		return emptyValues(upto)
	}
	vs := rangeOfValues(ordinals[0], ordinals[len(ordinals)-1], upto)
	if int(vs.count) == len(ordinals) {
		return vs
	}
	vs.count = uint32(len(ordinals))
	vs.bits = make([]uint64, vs.hi/64-vs.lo/64+1)
	for _, o := range ordinals {
		vs.bits[o/64-vs.lo/64] |= 1 << (o % 64)
	}
	return vs
}

func (vs *valueSet) has(o uint32) bool {
	return o-vs.lo <= vs.hi-vs.lo && (vs.bits == nil || vs.bits[o/64-vs.lo/64]>>(o%64)&1 != 0)
}

// each calls f for every member, ascending.
func (vs *valueSet) each(f func(o uint32)) {
	if vs.count == 0 {
		return
	}
	if vs.bits == nil {
		for o := vs.lo; o <= vs.hi; o++ {
			f(o)
		}
		return
	}
	for i, x := range vs.bits {
		for ; x != 0; x &= x - 1 {
			f((vs.lo/64+uint32(i))*64 + uint32(bits.TrailingZeros64(x)))
		}
	}
}

func (vs *valueSet) appendTo(dst []uint32) []uint32 {
	vs.each(func(o uint32) { dst = append(dst, o) })
	return dst
}

func (vs *valueSet) size() int { return 64 + 8*len(vs.bits) }

// keep moves the ids whose ordinals are accepted to the front and returns how
// many they are: those in vs, or not in vs if negated; those without a value
// if missing is set.
func (vs *valueSet) keep(ids, ordinals []uint32, negated, missing bool) int {
	n := 0
	ordinals = ordinals[:len(ids)]
	if vs.bits == nil && !missing {
		lo, width := vs.lo, vs.hi-vs.lo
		for i, id := range ids {
			o := ordinals[i]
			ids[n] = id
			if (o-lo <= width) != negated && o != 0 {
				n++
			}
		}
		return n
	}
	for i, id := range ids {
		o := ordinals[i]
		ok := vs.has(o) != negated
		if o == 0 {
			ok = missing
		}
		ids[n] = id
		if ok {
			n++
		}
	}
	return n
}
