package record

import "encoding/binary"

// A definition is a varint that leads to its ref from the one after the previous
// definition's, and steps that make its labels of those of the previous one in
// the frame, which is looked at label by label. A step is a byte: two bits of
// what to do, six bits of a number; where that is 63, a uvarint to be added to it
// follows.
const (
	stepCopy  = 0 // the number plus one labels are the same
	stepValue = 1 // one label has another value, which shares a prefix of that length; then the rest, a string
	stepSkip  = 2 // that many labels are missing here; 0 ends the definition
	stepLabel = 3 // a label that is missing there, with a name of that length; then the name's bytes, and the value, a string

	stepBits = 2
	stepMost = 63
)

// maxLabelBytes is less than what labels.Labels takes as a name or a value.
const maxLabelBytes = 1<<24 - 1

func appendStep(dst []byte, step byte, n int) []byte {
	if n < stepMost {
		return append(dst, step|byte(n)<<stepBits)
	}
	return binary.AppendUvarint(append(dst, step|stepMost<<stepBits), uint64(n-stepMost))
}

// labelText holds labels end to end, name and value by turns.
type labelText struct {
	text []byte
	ends []int // of names and values by turns, after a 0
}

func (l *labelText) reset() { l.text, l.ends = l.text[:0], append(l.ends[:0], 0) }

func (l *labelText) len() int { return len(l.ends) / 2 }

func (l *labelText) name(i int) []byte  { return l.text[l.ends[2*i]:l.ends[2*i+1]] }
func (l *labelText) value(i int) []byte { return l.text[l.ends[2*i+1]:l.ends[2*i+2]] }

// definitionEncoder writes definitions.
type definitionEncoder struct {
	out       []byte
	ref       int64 // the next one to be expected
	prev, cur labelText
	at        int // label of prev that comes next
	copied    int // labels up to it that are the same and not written yet
	skipped   int // labels up to it that are missing and not written yet
}

func (e *definitionEncoder) reset() {
	e.out, e.ref = e.out[:0], 0
	e.cur.reset()
}

func (e *definitionEncoder) begin(ref uint32) {
	e.prev, e.cur = e.cur, e.prev
	e.cur.reset()
	e.out = binary.AppendVarint(e.out, int64(ref)-e.ref)
	e.ref = int64(ref) + 1
	e.at, e.copied, e.skipped = 0, 0, 0
}

func (e *definitionEncoder) label(name, value string) {
	for ; e.at < e.prev.len(); e.at++ {
		old := e.prev.name(e.at)
		if string(old) == name {
			e.sameName(value)
			e.keep(name, value)
			return
		}
		if string(old) > name {
			break
		}
		e.flushCopied()
		e.skipped++
	}
	e.flush()
	e.out = appendStep(e.out, stepLabel, len(name))
	e.out = append(e.out, name...)
	e.out = appendString(e.out, value)
	e.keep(name, value)
}

// sameName writes the value of a label that prev has too.
func (e *definitionEncoder) sameName(value string) {
	old := e.prev.value(e.at)
	e.at++
	if string(old) == value {
		e.flushSkipped()
		e.copied++
		return
	}
	e.flush()
	shared := 0
	for shared < len(old) && shared < len(value) && old[shared] == value[shared] {
		shared++
	}
	e.out = appendStep(e.out, stepValue, shared)
	e.out = appendString(e.out, value[shared:])
}

func (e *definitionEncoder) keep(name, value string) {
	text := append(e.cur.text, name...)
	mid := len(text)
	text = append(text, value...)
	e.cur.text = text
	e.cur.ends = append(e.cur.ends, mid, len(text))
}

func (e *definitionEncoder) end() {
	e.flushCopied()
	e.out = appendStep(e.out, stepSkip, 0)
}

func (e *definitionEncoder) flush() {
	e.flushCopied()
	e.flushSkipped()
}

func (e *definitionEncoder) flushCopied() {
	if e.copied > 0 {
		e.out = appendStep(e.out, stepCopy, e.copied-1)
		e.copied = 0
	}
}

func (e *definitionEncoder) flushSkipped() {
	if e.skipped > 0 {
		e.out = appendStep(e.out, stepSkip, e.skipped)
		e.skipped = 0
	}
}
