package record

import (
	"math"
	"unsafe"

	"github.com/prometheus/prometheus/model/labels"
)

// Define calls fn with each definition of the payload that was decoded last, in
// order; the payload must still be there. The labels and their strings are valid
// during the call only. An error comes after the definitions before the damage.
func (c *Columns) Define(fn func(ref uint32, lset labels.Labels)) error {
	r := reader{b: c.definitions}
	ref := int64(0)
	prev, cur := &c.text[0], &c.text[1]
	prev.reset()
	var lset labels.Labels
	for len(r.b) > 0 {
		ref += r.varint()
		if ref < 0 || ref > math.MaxUint32 {
			r.fail("a ref is out of range")
		}
		cur.reset()
		r.definition(prev, cur)
		if r.err != nil {
			break
		}
		c.builder.Reset()
		for i := range cur.len() {
			c.builder.Add(alias(cur.name(i)), alias(cur.value(i)))
		}
		c.builder.Overwrite(&lset)
		fn(uint32(ref), lset)
		prev, cur = cur, prev
		ref++
	}
	return r.err
}

// alias returns b as a string that changes with it.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// definition makes cur of prev.
func (r *reader) definition(prev, cur *labelText) {
	for at := 0; r.err == nil; {
		step, n := r.step()
		left := prev.len() - at
		switch {
		case step == stepSkip && n == 0:
			return
		case step == stepLabel:
			r.newLabel(cur, n)
		case step == stepValue && left > 0 && n <= len(prev.value(at)):
			r.newValue(prev, cur, at, n)
			at++
		case step == stepSkip && n <= left:
			at += n
		case step == stepCopy && n < left:
			if !cur.takes(prev.name(at)) {
				r.fail("labels are not in order")
			}
			cur.copy(prev, at, n+1)
			at += n + 1
		default:
			r.fail("the definition before has fewer labels, or a shorter value")
		}
	}
}

// takes tells whether name may come next.
func (l *labelText) takes(name []byte) bool {
	n := l.len()
	return n == 0 || string(l.name(n-1)) < string(name)
}

// copy adds n labels of prev, from the one at on.
func (l *labelText) copy(prev *labelText, at, n int) {
	from := prev.ends[2*at]
	shift := len(l.text) - from
	l.text = append(l.text, prev.text[from:prev.ends[2*(at+n)]]...)
	for _, end := range prev.ends[2*at+1 : 2*(at+n)+1] {
		l.ends = append(l.ends, end+shift)
	}
}

func (r *reader) newLabel(cur *labelText, nameBytes int) {
	name := r.take(nameBytes)
	rest := r.rest()
	if len(name) > maxLabelBytes || len(rest) > maxLabelBytes {
		r.fail("a label is too long")
	}
	if r.err == nil && !cur.takes(name) {
		r.fail("labels are not in order")
	}
	cur.add(name, nil, rest)
}

func (r *reader) newValue(prev, cur *labelText, at, shared int) {
	name, rest := prev.name(at), r.rest()
	if shared+len(rest) > maxLabelBytes {
		r.fail("a label is too long")
	}
	if !cur.takes(name) {
		r.fail("labels are not in order")
	}
	cur.add(name, prev.value(at)[:shared], rest)
}

// rest reads a string, which aliases the payload.
func (r *reader) rest() []byte {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail("a string is longer than the record")
		return nil
	}
	return r.take(int(n))
}

// add adds a label whose value is in two pieces.
func (l *labelText) add(name, value, rest []byte) {
	l.text = append(l.text, name...)
	mid := len(l.text)
	l.text = append(append(l.text, value...), rest...)
	l.ends = append(l.ends, mid, len(l.text))
}
