package index

import (
	"cmp"
	"iter"
	"slices"
)

// Terms are numbered label names and values. Names have numbers from 0, the
// values of each from 1, both in string order, so that rows of numbers compare as
// their label sets do. A Writer may be given them in place of strings, of which it
// then holds none.
type Terms interface {
	// labelNames returns the names.
	labelNames() []string
	// count returns how many values a label has.
	count(label uint32) uint32
	// texts returns the values of a label in order, each valid until the next, but
	// those whose number has a 0 in used, if that is not nil. Iteration stops early
	// at damage, which err then returns.
	texts(label uint32, used []uint32) iter.Seq[string]
	err() error
}

// Row is a label set in the numbers of Terms, by name.
type Row []pair

// compare compares rows in the order of labels.Compare.
func (r Row) compare(s Row) int {
	for i := range min(len(r), len(s)) {
		if r[i] != s[i] {
			return cmp.Or(cmp.Compare(r[i].label, s[i].label), cmp.Compare(r[i].value, s[i].value))
		}
	}
	return cmp.Compare(len(r), len(s))
}

// Equal says whether r and s are the same label set.
func (r Row) Equal(s Row) bool { return slices.Equal(r, s) }

// heap keeps its lowest element on top.
type heap[T any] struct {
	list []T
	less func(a, b T) bool
}

func (h *heap[T]) push(x T) {
	h.list = append(h.list, x)
	for i := len(h.list) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.less(h.list[i], h.list[up]) {
			return
		}
		h.list[i], h.list[up] = h.list[up], h.list[i]
		i = up
	}
}

// pop removes the top.
func (h *heap[T]) pop() {
	last := len(h.list) - 1
	h.list[0] = h.list[last]
	h.list = h.list[:last]
	h.sink()
}

// sink restores the order after the top has grown.
func (h *heap[T]) sink() {
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < len(h.list) && h.less(h.list[down], h.list[least]) {
				least = down
			}
		}
		if least == i {
			return
		}
		h.list[i], h.list[least] = h.list[least], h.list[i]
		i = least
	}
}
