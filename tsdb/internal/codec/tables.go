package codec

import (
	"encoding/hex"
	"math/bits"
	"sync"
)

// A table is a static canonical Huffman code. Its code words stand for one
// symbol, -7 to 7, or for a pair of them; one more stands for escape, behind
// which every symbol of the word follows as 6 bits (the number of bits less
// one) and its zigzagged bits. Words are sent first bit first, bits fill bytes
// lowest first.
//
// Ids are part of the format: 0 to SingleTables-1 code single symbols, from
// pairBase on pairs of the same distributions. Lengths never change; new tables
// get new ids.
const (
	symbolMax   = 7
	symbols     = 2*symbolMax + 1
	singleWords = symbols + 1
	pairWords   = symbols*symbols + 1
	pairBase    = 64
	maxCode     = 16

	lookupBits = 11
	lookupSize = 1 << lookupBits
	lookupEmit = 4
)

// Tables is one more than the greatest id of a table. Not every id below it
// is in use.
const Tables = pairBase + singleTables

// validTable tells whether a table has the id.
func validTable(id uint8) bool {
	return id < singleTables || id >= pairBase && int(id) < Tables
}

// table is what coding and decoding need of a code.
type table struct {
	width  int // symbols a word stands for, 1 or 2
	escape int // the word that is escape
	length []uint8
	code   []uint16 // first bit lowest
	words  []word

	// lookup and step have an entry for each value of the next lookupBits bits.
	// lookup: the running sums of the symbols of all words that are complete
	// in those bits, lane i times 2^16i added up, the last one repeated. step:
	// how many bits, and from bit 8 on twice how many symbols. No symbols: look
	// at one word.
	lookup [lookupSize]uint64
	step   [lookupSize]uint16

	// Canonical decoding of one word: words by (length, number).
	first  [maxCode + 2]uint32 // first code of a length
	offset [maxCode + 2]uint32 // where its words begin in sorted
	count  [maxCode + 2]uint32
	limit  [maxCode + 2]uint32 // what all codes of a length and shorter are below, as the first bits of maxCode
	sorted []uint16
}

// word is a code word above its length; 0 is none.
type word uint32

// tables are built when first used and never change.
var tables = func() (out [Tables]func() *table) {
	for id := range out {
		if validTable(uint8(id)) {
			out[id] = sync.OnceValue(func() *table { return newTable(tableLengths(id)) })
		}
	}
	return out
}()

// tableLengths returns the code lengths of a table; pairs are listed first
// symbol major.
func tableLengths(id int) []byte {
	text := ""
	if id < pairBase {
		text = singleLengths[2*singleWords*id : 2*singleWords*(id+1)]
	} else {
		text = pairLengths[2*pairWords*(id-pairBase) : 2*pairWords*(id-pairBase+1)]
	}
	out, err := hex.DecodeString(text)
	if err != nil {
		panic("codec: compiled tables: " + err.Error()) // our own constants
	}
	return out
}

func newTable(lengths []byte) *table {
	t := &table{width: 1, escape: len(lengths) - 1, length: lengths, code: make([]uint16, len(lengths)), words: make([]word, len(lengths))}
	if len(lengths) == pairWords {
		t.width = 2
	}
	for n := 1; n <= maxCode; n++ {
		t.first[n] = (t.first[n-1] + t.count[n-1]) << 1
		t.offset[n] = uint32(len(t.sorted))
		for w, l := range lengths {
			if int(l) != n {
				continue
			}
			code := t.first[n] + t.count[n]
			t.code[w] = bits.Reverse16(uint16(code)) >> (16 - n)
			t.words[w] = word(t.code[w])<<8 | word(n)
			t.count[n]++
			t.sorted = append(t.sorted, uint16(w))
		}
		t.limit[n] = (t.first[n] + t.count[n]) << (maxCode - n)
	}
	for x := range t.lookup {
		t.lookup[x], t.step[x] = t.entry(uint64(x))
	}
	return t
}

// word decodes the code word at the start of x; length is 0 if there is none.
func (t *table) word(x uint64) (word int, length uint) {
	code := uint32(bits.Reverse16(uint16(x)))
	for n := uint(1); n <= maxCode; n++ {
		if code < t.limit[n] {
			return int(t.sorted[t.offset[n]+code>>(maxCode-n)-t.first[n]]), n
		}
	}
	return 0, 0
}

// symbolsOf returns the symbols of a word that is not escape.
func (t *table) symbolsOf(word int) (a, b int) {
	if t.width == 1 {
		return word - symbolMax, 0
	}
	return word/symbols - symbolMax, word%symbols - symbolMax
}

func (t *table) entry(x uint64) (lanes uint64, step uint16) {
	sum, n, used := 0, 0, uint(0)
	add := func(symbol int) {
		sum += symbol
		lanes += uint64(sum) << (16 * n)
		n++
	}
	for {
		word, length := t.word(x >> used)
		if length == 0 || word == t.escape || used+length > lookupBits || n+t.width > lookupEmit {
			break
		}
		used += length
		a, b := t.symbolsOf(word)
		add(a)
		if t.width == 2 {
			add(b)
		}
	}
	step = uint16(2*n)<<8 | uint16(used)
	for n < lookupEmit {
		add(0)
	}
	return lanes, step
}
