package bitmap

// Builder makes a Set of ascending ordinals. The zero value is ready; it is for
// one goroutine. It takes two bytes an ordinal at most.
type Builder struct {
	set  Set
	key  uint32
	tail []uint16 // of key
}

// Add adds an ordinal above all before.
func (b *Builder) Add(id uint32) {
	if id>>16 != b.key {
		b.flush()
		b.key = id >> 16
	}
	b.tail = append(b.tail, uint16(id))
}

// Ends says whether id is the ordinal added last.
func (b *Builder) Ends(id uint32) bool {
	return len(b.tail) > 0 && b.key == id>>16 && b.tail[len(b.tail)-1] == uint16(id)
}

// AddAll adds ascending ordinals above all before.
func (b *Builder) AddAll(ids []uint32) {
	if len(ids) == 0 {
		return
	}
	if key := ids[0] >> 16; key == ids[len(ids)-1]>>16 {
		if key != b.key {
			b.flush()
			b.key = key
		}
		for _, id := range ids {
			b.tail = append(b.tail, uint16(id))
		}
		return
	}
	for _, id := range ids {
		b.Add(id)
	}
}

// AddRange adds the ordinals from begin to end-1, above all before. A container
// that they fill takes no time.
func (b *Builder) AddRange(begin, end uint32) {
	for begin < end {
		stop := uint32(min(uint64(end), uint64(begin|(span-1))+1))
		if stop-begin == span {
			b.flush()
			b.set.add(runContainer(uint16(begin>>16), 0, span-1))
			b.key = begin >> 16
		} else {
			b.Add(begin)
			for id := begin + 1; id < stop; id++ {
				b.tail = append(b.tail, uint16(id))
			}
		}
		begin = stop
	}
}

func (b *Builder) flush() {
	if len(b.tail) == 0 {
		return
	}
	c := fromSorted(uint16(b.key), b.tail)
	if c.kind == kindArray {
		c.array = append([]uint16(nil), b.tail...)
	}
	b.set.add(c)
	b.tail = b.tail[:0]
}

func (b *Builder) finish() *Set {
	b.flush()
	return &b.set
}

// Set returns the set of all added. The builder must not be used afterwards.
func (b *Builder) Set() *Set { return b.finish() }

// FromSorted returns the set of ascending ordinals.
func FromSorted(ids []uint32) *Set {
	if len(ids) == 0 {
		return nil
	}
	var b Builder
	b.AddAll(ids)
	return b.finish()
}

// Accumulator is the union of lists given in any order. The zero value is ready;
// it is for one goroutine. It takes 8 KiB per container touched.
type Accumulator struct {
	pages []*words // by key
}

func (a *Accumulator) page(key uint32) *words {
	if key >= uint32(len(a.pages)) {
		a.pages = append(a.pages, make([]*words, int(key)+1-len(a.pages))...)
	}
	if a.pages[key] == nil {
		a.pages[key] = new(words)
	}
	return a.pages[key]
}

// Add adds an ordinal.
func (a *Accumulator) Add(id uint32) {
	a.page(id >> 16)[id>>6&(wordCount-1)] |= 1 << (id & 63)
}

// AddAll adds ordinals; those of one container should be next to each other.
func (a *Accumulator) AddAll(ids []uint32) {
	key := uint32(1 << 16)
	var w *words
	for _, id := range ids {
		if id>>16 != key {
			key = id >> 16
			w = a.page(key)
		}
		w[id>>6&(wordCount-1)] |= 1 << (id & 63)
	}
}

// AddRange adds the ordinals from begin to end-1.
func (a *Accumulator) AddRange(begin, end uint32) {
	for begin < end {
		stop := min(uint64(end), uint64(begin|(span-1))+1)
		a.page(begin>>16).setRange(begin&(span-1), uint32(stop-1)&(span-1))
		if stop == 1<<32 {
			return
		}
		begin = uint32(stop)
	}
}

// AddSet adds the ordinals of a set.
func (a *Accumulator) AddSet(s *Set) {
	for i := range s.containers() {
		s.cs[i].fill(a.page(uint32(s.cs[i].key)))
	}
}

// Set returns the union. The accumulator must not be used afterwards.
func (a *Accumulator) Set() *Set {
	out := &Set{}
	for key, w := range a.pages {
		if w != nil {
			out.add(fromWords(uint16(key), w, true))
		}
	}
	return out
}
