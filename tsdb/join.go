package tsdb

import (
	"cmp"
	"math/bits"
	"slices"
)

// joined says which series of the places of a View are one.
type joined struct {
	refs []seriesRef
	ends []uint32 // by series of the View, in refs
}

// seriesRef is a series of a place.
type seriesRef struct{ place, k uint32 }

func (j *joined) count() int { return len(j.ends) }

// of returns where series i is, in the order of the places.
func (j *joined) of(i int) []seriesRef {
	begin := uint32(0)
	if i > 0 {
		begin = j.ends[i-1]
	}
	return j.refs[begin:j.ends[i]]
}

// join puts the series of the head in order, joins those of all places, and drops
// series with samples before the range alone.
func (v *View) join(inHead *headSeries) error {
	keys, err := newLabelOrder(v.places, v.db.caches.Sets != nil)
	if err != nil {
		return err
	}
	if inHead.count() > 0 {
		last := len(v.places) - 1
		order := keys.sorted(last)
		if last == 0 {
			order = slices.DeleteFunc(order, func(k uint32) bool { return !inHead.shows(int(k), v.mint, v.maxt) })
		} else {
			keys.reorder(last, order)
		}
		inHead.found.Reorder(order)
	}
	if len(v.places) > 1 {
		v.joined = v.joinPlaces(keys)
	}
	return nil
}

func (v *View) joinPlaces(keys labelOrder) *joined {
	most := 0
	next := make([]int, len(v.places)) // series by place
	for _, p := range v.places {
		most = max(most, p.count())
	}
	j := &joined{refs: make([]seriesRef, 0, len(v.places)*most), ends: make([]uint32, 0, most)}
	for {
		first := -1
		begin := len(j.refs)
		for p, k := range next {
			if k == v.places[p].count() {
				continue
			}
			c := -1
			if first >= 0 {
				c = keys.compare(p, k, first, next[first])
			}
			if c < 0 {
				first, j.refs = p, j.refs[:begin]
			}
			if c <= 0 {
				j.refs = append(j.refs, seriesRef{uint32(p), uint32(k)})
			}
		}
		if first < 0 {
			return j
		}
		shows := false
		for _, ref := range j.refs[begin:] {
			next[ref.place]++
			shows = shows || v.places[ref.place].shows(int(ref.k), v.mint, v.maxt)
		}
		if !shows {
			j.refs = j.refs[:begin]
			continue
		}
		j.ends = append(j.ends, uint32(len(j.refs)))
	}
}

// labelKeys is a labelOrder that makes no label sets: a
// series has a number for each label name, and all numbers in the order of the names
// are in a few words.
//
// The number of a label is the rank of its value among those there are. Without the
// label it is greater than any of these if a later label follows, as that has the
// greater name then, and else least: the label set is at its end.
type labelKeys struct {
	words [][][]uint64 // by place, the least significant first, by series
	used  uint         // bits of the last word
	later [][]bool     // by place and series: it has one of the names done, the later ones
}

func newLabelKeys(places []place) (*labelKeys, error) {
	k := &labelKeys{words: make([][][]uint64, len(places)), later: make([][]bool, len(places)), used: 64}
	numbers := make([][]uint32, len(places))
	var names []string
	for i, p := range places {
		numbers[i], k.later[i] = make([]uint32, p.count()), make([]bool, p.count())
		list, err := p.labelNames()
		if err != nil {
			return nil, err
		}
		names = append(names, list...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for i := len(names) - 1; i >= 0; i-- {
		if err := k.add(places, names[i], numbers); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// add adds the numbers of a label; numbers is room for them.
func (k *labelKeys) add(places []place, name string, numbers [][]uint32) error {
	texts, err := valueNumbers(places, name, numbers)
	if err != nil {
		return err
	}
	ranks := make([]uint32, len(texts)) // by number
	order := make([]uint32, len(texts)-1)
	for i := range order {
		order[i] = uint32(i + 1)
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(texts[a], texts[b]) })
	for rank, number := range order {
		ranks[number] = uint32(rank + 1)
	}
	above := uint32(len(texts))
	low, high := above, uint32(0)
	for p, list := range numbers {
		later := k.later[p]
		for i, number := range list {
			x := ranks[number]
			if number != 0 {
				later[i] = true
			} else if later[i] {
				x = above
			}
			list[i] = x
			low, high = min(low, x), max(high, x)
		}
	}
	if low < high {
		k.pack(numbers, uint(bits.Len32(above)))
	}
	return nil
}

// pack puts the numbers of all series, of so many bits, above those before.
func (k *labelKeys) pack(numbers [][]uint32, width uint) {
	if k.used+width > 64 {
		for p := range k.words {
			k.words[p] = append(k.words[p], make([]uint64, len(numbers[p])))
		}
		k.used = 0
	}
	for p, list := range numbers {
		word := k.words[p][len(k.words[p])-1]
		for i, x := range list {
			word[i] |= uint64(x) << k.used
		}
	}
	k.used += width
}

// compare compares the label sets of series i of place p and j of place q.
func (k *labelKeys) compare(p, i, q, j int) int {
	a, b := k.words[p], k.words[q]
	for w := len(a) - 1; w >= 0; w-- {
		if a[w][i] != b[w][j] {
			return cmp.Compare(a[w][i], b[w][j])
		}
	}
	return 0
}

// sorted returns the series of a place in label order.
func (k *labelKeys) sorted(p int) []uint32 {
	type keyed struct {
		key uint64
		k   uint32
	}
	list := make([]keyed, len(k.later[p]))
	for i := range list {
		list[i].k = uint32(i)
		if n := len(k.words[p]); n > 0 {
			list[i].key = k.words[p][n-1][i]
		}
	}
	slices.SortFunc(list, func(a, b keyed) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return k.compare(p, int(a.k), p, int(b.k))
	})
	order := make([]uint32, len(list))
	for i, x := range list {
		order[i] = x.k
	}
	return order
}

// reorder moves series order[i] of a place to i.
func (k *labelKeys) reorder(p int, order []uint32) {
	for w, word := range k.words[p] {
		moved := make([]uint64, len(word))
		for i, from := range order {
			moved[i] = word[from]
		}
		k.words[p][w] = moved
	}
}

// valueNumbers fills numbers, for each place one of each series, with small numbers
// of the values of a label, 0 for none, and returns the values by number.
func valueNumbers(places []place, name string, numbers [][]uint32) (texts []string, err error) {
	var known map[string]uint32
	if len(places) > 1 {
		known = map[string]uint32{}
	}
	texts = make([]string, 1, 8)
	for p, of := range places {
		list := numbers[p]
		err := of.column(name, list, func(value func(uint32) string) {
			seen := newNumbering(list)
			for i, own := range list {
				if own == 0 {
					continue
				}
				number := seen.get(own)
				if number == 0 {
					text := value(own)
					if number = known[text]; number == 0 {
						number = uint32(len(texts))
						texts = append(texts, text)
						if known != nil {
							known[text] = number
						}
					}
					seen.put(own, number)
				}
				list[i] = number
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// numbering maps numbers to others that are not 0.
type numbering struct {
	dense  []uint32
	sparse map[uint32]uint32
}

// newNumbering returns an empty one for some numbers.
func newNumbering(of []uint32) numbering {
	if len(of) == 0 {
		return numbering{}
	}
	most := slices.Max(of)
	if uint64(most) <= 4*uint64(len(of))+64 {
		return numbering{dense: make([]uint32, most+1)}
	}
	return numbering{sparse: map[uint32]uint32{}}
}

func (n *numbering) get(x uint32) uint32 {
	if n.sparse != nil {
		return n.sparse[x]
	}
	return n.dense[x]
}

func (n *numbering) put(x, y uint32) {
	if n.sparse != nil {
		n.sparse[x] = y
		return
	}
	n.dense[x] = y
}
