package index

import (
	"encoding/binary"
	"errors"
	"iter"
	"math/bits"

	"github.com/varvedb/varve/tsdb/internal/codec"
)

// template packs values that are all of one length, such as UUIDs: at each place
// a value has one of an alphabet of few bytes, and is stored as its number in
// there in as few bits as that needs, none where there is but one. Alphabets are
// sorted and the first place has the highest bits, so that packed values have
// the order of the values.
type template struct {
	alphabets []string
	places    []byte // by place: which alphabet
	width     []byte // by place: bits
	size      int    // bytes of a packed value
	ranks     [][256]int16
}

const (
	// Values are packed if there are fewTemplate of them at least and it takes a
	// quarter off.
	fewTemplate   = 64
	shortTemplate = 4
	longTemplate  = 255
)

// newTemplate returns the template of count values, nil if packing does not pay.
func newTemplate(count int, values iter.Seq[string]) *template {
	if count < fewTemplate {
		return nil
	}
	var seen [][4]uint64
	for value := range values {
		if seen == nil {
			if len(value) < shortTemplate || len(value) > longTemplate {
				return nil
			}
			seen = make([][4]uint64, len(value))
		}
		if len(value) != len(seen) {
			return nil
		}
		for i := range seen {
			x := value[i]
			seen[i][x>>6] |= 1 << (x & 63)
		}
	}
	t := &template{}
	numbers := map[string]byte{}
	for i := range seen {
		var alphabet []byte
		for k, word := range seen[i] {
			for ; word != 0; word &= word - 1 {
				alphabet = append(alphabet, byte(64*k+bits.TrailingZeros64(word)))
			}
		}
		number, ok := numbers[string(alphabet)]
		if !ok {
			number = byte(len(t.alphabets))
			numbers[string(alphabet)] = number
			t.alphabets = append(t.alphabets, string(alphabet))
		}
		t.places = append(t.places, number)
	}
	t.finish()
	if 4*t.size > 3*len(seen) {
		return nil
	}
	return t
}

// finish works out what is not stored.
func (t *template) finish() {
	total := 0
	for _, number := range t.places {
		width := bits.Len(uint(len(t.alphabets[number]) - 1))
		t.width = append(t.width, byte(width))
		total += width
	}
	t.size = (total + 7) / 8
	t.ranks = make([][256]int16, len(t.alphabets))
	for i, alphabet := range t.alphabets {
		for k := range t.ranks[i] {
			t.ranks[i][k] = -1
		}
		for k := range len(alphabet) {
			t.ranks[i][alphabet[k]] = int16(k)
		}
	}
}

// encode appends the packed value; ok is false if no value of the label is such.
func (t *template) encode(dst []byte, value string) (packed []byte, ok bool) {
	if len(value) != len(t.places) {
		return dst, false
	}
	acc, have := uint64(0), uint(0)
	for i, number := range t.places {
		rank := t.ranks[number][value[i]]
		if rank < 0 {
			return dst, false
		}
		acc = acc<<t.width[i] | uint64(rank)
		for have += uint(t.width[i]); have >= 8; {
			have -= 8
			dst = append(dst, byte(acc>>have))
		}
	}
	if have > 0 {
		dst = append(dst, byte(acc<<(8-have)))
	}
	return dst, true
}

// decode appends the value; packed is size bytes.
func (t *template) decode(dst, packed []byte) []byte {
	acc, have := uint64(0), uint(0)
	for i, number := range t.places {
		width := uint(t.width[i])
		for ; have < width; have += 8 {
			acc = acc<<8 | uint64(packed[0])
			packed = packed[1:]
		}
		have -= width
		dst = append(dst, t.alphabets[number][acc>>have&(1<<width-1)])
	}
	return dst
}

// appendTo appends the stored form: number of alphabets; of each its length and
// bytes; number of places; a byte each.
func (t *template) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(t.alphabets)))
	for _, alphabet := range t.alphabets {
		dst = appendText(dst, alphabet)
	}
	return appendText(dst, string(t.places))
}

var errTemplate = errors.New("template of values does not parse")

func readTemplate(r *codec.Reader) (*template, error) {
	t := &template{}
	n := r.Uvarint()
	if n == 0 || n > longTemplate {
		return nil, errTemplate
	}
	for range n {
		alphabet := r.Take(r.Uvarint())
		if len(alphabet) == 0 || len(alphabet) > 256 {
			return nil, errTemplate
		}
		for i := 1; i < len(alphabet); i++ {
			if alphabet[i] <= alphabet[i-1] {
				return nil, errTemplate
			}
		}
		t.alphabets = append(t.alphabets, string(alphabet))
	}
	places := r.Take(r.Uvarint())
	if r.Bad() || len(places) == 0 || len(places) > longTemplate {
		return nil, errTemplate
	}
	t.places = append(t.places, places...)
	for _, number := range places {
		if uint64(number) >= n {
			return nil, errTemplate
		}
	}
	t.finish()
	return t, nil
}
