package codec

import (
	"encoding/binary"
	"math"
)

// Times are said by the first one, a step and a form; a payload says the rest:
//
//	grid     t = start + i * step; no payload
//	holes    runs of samples on a grid, some slots between them empty
//	jitter   residuals from a grid
//	both
//
// Payload, in this order, each present only if the form says so:
//
//	runs      uvarint, 2 or more
//	gaps      column: empty slots before each run but the first
//	lengths   column: samples of each run but the last
//	residual  column: t - start - slot * step
//
// The payload does not depend on start: the same gaps and jitter make the same
// bytes, so that series of one target can share it.
type TimesForm uint8

// The forms. Numbers are part of the format.
const (
	TimesGrid   TimesForm = 0
	TimesHoles  TimesForm = 1
	TimesJitter TimesForm = 2
	TimesBoth   TimesForm = 3
)

// TimesCoder appends times. It is for one goroutine; the zero value is ready.
type TimesCoder struct {
	columns              Columns
	gaps, lengths, other []int64
	plain, holed         []byte
}

// Append appends the payload of times, which ascend and are not empty.
func (c *TimesCoder) Append(dst []byte, times []int64) (out []byte, form TimesForm, step int64) {
	if len(times) == 1 {
		return dst, TimesGrid, 0
	}
	step = c.step(times)
	on := true
	for i, t := range times {
		on = on && t-times[0] == int64(i)*step
	}
	if on {
		return dst, TimesGrid, step
	}
	c.other = c.other[:0]
	for i, t := range times {
		c.other = append(c.other, t-times[0]-int64(i)*step)
	}
	c.plain = c.columns.Append(c.plain[:0], c.other)
	if form, ok := c.holes(times, step); ok && len(c.holed) < len(c.plain) {
		return append(dst, c.holed...), form, step
	}
	return append(dst, c.plain...), TimesJitter, step
}

// step is the median of a sample of the distances, large enough to find the step
// behind some jitter.
func (c *TimesCoder) step(times []int64) int64 {
	c.other = c.other[:0]
	for i := 1; i < len(times); i++ {
		c.other = append(c.other, times[i]-times[i-1])
	}
	return c.columns.planner.medianOf(c.other, 512)
}

// holes fills c.holed, if times have holes and not too many.
func (c *TimesCoder) holes(times []int64, step int64) (TimesForm, bool) {
	c.gaps, c.lengths, c.other = c.gaps[:0], c.lengths[:0], c.other[:0]
	if step <= 0 {
		return 0, false
	}
	slot, length, jitter := int64(0), int64(0), int64(0)
	for i, t := range times {
		gap := int64(0)
		if i > 0 {
			d := t - times[i-1]
			if d < 0 || d > math.MaxInt64-step {
				return 0, false
			}
			gap = max((d+step/2)/step-1, 0)
			slot += gap + 1
		}
		if gap > 0 {
			c.gaps, c.lengths = append(c.gaps, gap), append(c.lengths, length)
			length = 0
		}
		length++
		r := t - times[0] - slot*step
		jitter |= r
		c.other = append(c.other, r)
	}
	if len(c.gaps) == 0 || len(c.gaps) > len(times)/4 {
		return 0, false
	}
	c.holed = binary.AppendUvarint(c.holed[:0], uint64(len(c.gaps)+1))
	c.holed = c.columns.Append(c.holed, c.gaps)
	c.holed = c.columns.Append(c.holed, c.lengths)
	if jitter == 0 {
		return TimesHoles, true
	}
	c.holed = c.columns.Append(c.holed, c.other)
	return TimesBoth, true
}

// FillGrid fills dst with start + i * step for i from first on.
func FillGrid(dst []int64, start, step int64, first int) {
	t := start + int64(first)*step
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		d := (*[4]int64)(dst[i:])
		d[0], d[1], d[2], d[3] = t, t+step, t+2*step, t+3*step
		t += 4 * step
	}
	for ; i < len(dst); i++ {
		dst[i] = t
		t += step
	}
}

// DecodeTimes fills dst, which is not empty, with times; src holds the payload
// and nothing more. Times that do not ascend are refused.
func DecodeTimes(dst []int64, form TimesForm, start, step int64, src []byte, s *Scratch) bool {
	if form == TimesGrid {
		FillGrid(dst, start, step, 0)
		return len(src) == 0 && Ascending(dst)
	}
	var runs runReader
	if form&TimesHoles != 0 {
		var ok bool
		if src, ok = runs.open(src, len(dst), s); !ok {
			return false
		}
	}
	if form&TimesJitter != 0 {
		var ok bool
		if src, ok = DecodeColumn(dst, src, s); !ok {
			return false
		}
	} else {
		clear(dst)
	}
	if len(src) > 0 || form > TimesBoth {
		return false
	}
	t := start
	if form&TimesHoles == 0 {
		for i := range dst {
			dst[i] += t
			t += step
		}
		return Ascending(dst)
	}
	i := 0
	for i < len(dst) {
		gap, length := runs.next(len(dst) - i)
		t += gap * step
		for range length {
			dst[i] += t
			t += step
			i++
		}
	}
	return Ascending(dst)
}

// Ascending tells whether t does, strictly.
func Ascending(t []int64) bool {
	for i := 1; i < len(t); i++ {
		if t[i] <= t[i-1] {
			return false
		}
	}
	return true
}

// runReader walks runs. It takes memory for at most half of what the samples
// take.
type runReader struct {
	gaps, lengths []int64
	at            int
}

func (r *runReader) open(src []byte, n int, s *Scratch) (rest []byte, ok bool) {
	runs, k := binary.Uvarint(src)
	if k <= 0 || runs < 2 || runs > uint64(n/4+1) {
		return nil, false
	}
	all := make([]int64, 2*(runs-1))
	r.gaps, r.lengths = all[:runs-1], all[runs-1:]
	if src, ok = DecodeColumn(r.gaps, src[k:], s); !ok {
		return nil, false
	}
	if src, ok = DecodeColumn(r.lengths, src, s); !ok {
		return nil, false
	}
	total := uint64(0)
	for _, l := range r.lengths {
		if l < 1 || l > int64(n) {
			return nil, false
		}
		total += uint64(l)
	}
	return src, total < uint64(n)
}

// next returns the empty slots before the next run and its length; the last
// run takes all that is left.
func (r *runReader) next(left int) (gap int64, length int) {
	length = left
	if r.at > 0 {
		gap = r.gaps[r.at-1]
	}
	if r.at < len(r.lengths) {
		length = int(r.lengths[r.at])
	}
	r.at++
	return gap, length
}
