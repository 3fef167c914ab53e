package b1

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// appendFloats appends the payload of floats behind start timestamps. Decimals,
// which need not be looked for if the span comes as integers, are taken unless
// they take many bits.
func (e *Encoder) appendFloats(dst []byte, h *Header, s *block.Span) []byte {
	e.floats = s.Floats
	v := e.decimals(s)
	estimate := math.MaxInt
	if v != nil {
		estimate = e.plan(h, v, s)
	}
	if v == nil || estimate+len(v.Exceptions)*exceptionBits >= codec.GoodEnough*s.Count {
		e.needFloats(s)
		if other := e.analyzer.Analyze(e.floats); v == nil || other.Domain != codec.Decimals10 || other.Scale != v.Scale {
			v = other
			estimate = e.plan(h, v, s)
		}
	}
	e.coded = v
	dst = codec.AppendExceptions(dst, v.Exceptions)
	if h.Params.Codec == codec.Zero && h.Domain != codec.NearTens && isLine(e.q, &h.Params) {
		h.Layout = LayoutLinear
		return dst
	}
	switch {
	case estimate > incompressible*s.Count:
		h.MiniLog = maxMiniLog
	case estimate > compressible*s.Count:
		h.MiniLog = min(h.MiniLog+1, maxMiniLog)
	}
	estimate = estimate/8 + 5*h.minis()
	if h.Domain != codec.NearTens {
		if runs, ok := e.runs(v.Ints); ok && len(runs) < estimate {
			h.Layout = LayoutRuns
			h.Params, h.Divisor, h.Base = codec.Params{}, 1, 0
			return append(dst, runs...)
		}
	}
	h.Layout = LayoutMinis
	return e.appendMinis(dst, h, v)
}

// From how many bits a value on mini-blocks are made longer, for directories to
// cost less than 1 %.
const (
	compressible   = 40
	incompressible = 60
)

// exceptionBits is what an exception takes, about.
const exceptionBits = 60

// decimals says the values as decimals, if they are; otherwise it returns nil.
func (e *Encoder) decimals(s *block.Span) *codec.Values {
	if s.Floats != nil {
		if v, ok := e.analyzer.Decimals(s.Floats); ok {
			return v
		}
		return nil
	}
	ints := s.Ints64
	if ints == nil {
		e.wide = resize(e.wide, s.Count)
		for i, m := range s.Ints32 {
			e.wide[i] = int64(m)
		}
		ints = e.wide
	}
	e.ints = codec.Values{Domain: codec.Decimals10, Scale: s.Scale, Ints: ints}
	all := int64(0)
	for _, m := range ints {
		all |= max(m, -m)
	}
	if all < 0 || all >= maxMantissa {
		return nil
	}
	return &e.ints
}

// needFloats fills floats.
func (e *Encoder) needFloats(s *block.Span) {
	if e.floats != nil {
		return
	}
	e.room = resize(e.room, s.Count)
	e.floats = e.room
	for i := range e.floats {
		e.floats[i] = s.Float(i)
	}
}

// plan fills h with how v is to be coded and with its statistics, and returns
// about how many bits it takes.
func (e *Encoder) plan(h *Header, v *codec.Values, s *block.Span) (estimate int) {
	h.Domain, h.Scale, h.Exceptions = v.Domain, v.Scale, len(v.Exceptions)
	sum := codec.Summarize(v.Ints)
	h.Divisor, h.Base = sum.Divisor(v.Ints)
	e.statistics(h, v, &sum, s)
	e.q = v.Ints
	if h.Divisor != 1 {
		e.part = codec.Divide(e.part[:0], v.Ints, h.Divisor, h.Base)
		e.q = e.part
	}
	e.planner.Short = h.Count < fewSamples
	h.Params, estimate = e.planner.Plan(e.q, h.mini(), h.maxOrder())
	return estimate
}

// fewSamples is below how many samples a table for them alone does not pay.
const fewSamples = 192

// maxOrder leaves out order 2 where it would make a directory necessary.
func (h *Header) maxOrder() uint8 {
	if h.minis() == 1 {
		return 1
	}
	return 2
}

// isLine tells whether First and Centre say all of q: also from one mini-block to
// the next.
func isLine(q []int64, p *codec.Params) bool {
	if p.Order != 1 {
		return p.Order == 0
	}
	for i := 1; i < len(q); i++ {
		if q[i]-q[i-1] != p.Centre {
			return false
		}
	}
	return true
}

// runs returns the runs of equal numbers as two columns, if there are few.
func (e *Encoder) runs(v []int64) ([]byte, bool) {
	e.runValues, e.runLengths = e.runValues[:0], e.runLengths[:0]
	for i, x := range v {
		if i > 0 && x == v[i-1] {
			e.runLengths[len(e.runLengths)-1]++
			continue
		}
		if len(e.runValues) == len(v)/runRatio {
			return nil, false
		}
		e.runValues, e.runLengths = append(e.runValues, x), append(e.runLengths, 1)
	}
	if len(e.runValues) < 2 {
		return nil, false
	}
	e.stream = binary.AppendUvarint(e.stream[:0], uint64(len(e.runValues)))
	e.stream = e.columns.Append(e.stream, e.runValues)
	e.stream = e.columns.Append(e.stream, e.runLengths[:len(e.runLengths)-1])
	return e.stream, true
}

// statistics fills those of h; sum is that of v.Ints.
func (e *Encoder) statistics(h *Header, v *codec.Values, sum *codec.Summary, s *block.Span) {
	h.Flags &= FlagStartTimes
	h.First, h.Last, h.Min, h.Max, h.Sum = v.Ints[0], v.Ints[h.Count-1], sum.Min, sum.Max, 0
	if v.Domain == codec.NearTens {
		of := func(i int) int64 { return nearOrdered(v.Ints[i], v.Ulps[i], v.Scale) }
		h.First, h.Last = of(0), of(h.Count-1)
		h.Min, h.Max = h.First, h.First
		for i := range h.Count {
			x := of(i)
			h.Min, h.Max = min(h.Min, x), max(h.Max, x)
		}
	}
	if v.Domain == codec.Decimals10 && narrow(h.Min, h.Max) {
		h.Flags |= FlagNarrow
	}
	if intExact(h) {
		h.Flags |= FlagIntExact
		h.Sum = sum.Sum
	}
	if v.Special {
		h.Flags |= FlagSpecial
	}
	for _, x := range v.Exceptions {
		h.Flags |= FlagHasExc
		if codec.IsStale(x.Bits) {
			h.Flags |= FlagHasStale
		}
	}
	h.Resets, h.ResetAt = 0, [maxResets]uint16{}
	if v.Domain == codec.Decimals10 && len(v.Exceptions) == 0 && max(h.Max, -h.Min) < distinctDecimals {
		if h.Resets = manyResets; sum.Falls <= maxResets {
			resets(h, v.Ints)
		}
	} else {
		e.needFloats(s)
		resets(h, e.floats)
	}
	if h.Resets == 0 {
		h.Flags |= FlagMonotonic
	}
}

// distinctDecimals bounds mantissas of which no two stand for the same double, so
// that they compare as their values do.
const distinctDecimals = 1 << 51

// resets lists the values below the one before them.
func resets[T int64 | float64](h *Header, v []T) {
	h.Resets = 0
	for i := 1; i < len(v); i++ {
		if !(v[i] < v[i-1]) {
			continue
		}
		if h.Resets == maxResets {
			h.Resets, h.ResetAt = manyResets, [maxResets]uint16{}
			return
		}
		h.ResetAt[h.Resets] = uint16(i)
		h.Resets++
	}
}

// verify decodes the block and compares it with what it was made of. Decimals are
// compared as integers: what those stand for is known already.
func (e *Encoder) verify(h *Header, payload []byte, s *block.Span) error {
	if err := h.Check(); err != nil {
		return fmt.Errorf("encode block: verify: %w", err)
	}
	if err := e.block.Open(h, payload); err != nil {
		return fmt.Errorf("encode block: verify: %w", err)
	}
	if s.Kind != block.KindFloat {
		return e.verifyHistograms(s)
	}
	at, err := 0, error(nil)
	switch {
	case h.Domain != codec.Decimals10:
		e.check = resize(e.check, s.Count)
		err = e.block.Floats(e.check, 0)
		at = differFloats(e.floats, e.check)
	case e.block.Narrow():
		e.narrow = resize(e.narrow, s.Count)
		err = e.block.Ints32(e.narrow, 0)
		at = differ(e.coded.Ints, e.narrow)
	default:
		e.decoded = resize(e.decoded, s.Count)
		err = e.block.Ints64(e.decoded, 0)
		at = differ(e.coded.Ints, e.decoded)
	}
	if err != nil {
		return fmt.Errorf("encode block: verify: %w", err)
	}
	if at < s.Count {
		return fmt.Errorf("encode block: verify: sample %d of %d decodes to another value", at, s.Count)
	}
	if !slices.Equal(e.coded.Exceptions, e.block.Exceptions()) {
		return fmt.Errorf("encode block: verify: %d exceptions decode to others", h.Exceptions)
	}
	return nil
}

// differ returns where got is not want, len(want) if it is.
func differ[T codec.Lane](want []int64, got []T) int {
	got = got[:len(want)]
	bits := int64(0)
	for i, x := range want {
		bits |= x ^ int64(got[i])
	}
	if bits == 0 {
		return len(want)
	}
	i := 0
	for want[i] == int64(got[i]) {
		i++
	}
	return i
}

func differFloats(want, got []float64) int {
	for i, x := range want {
		if math.Float64bits(x) != math.Float64bits(got[i]) {
			return i
		}
	}
	return len(want)
}

// nearOrdered is the double a decimal and a distance make, in the form of
// codec.Ordered.
func nearOrdered(m, ulps int64, scale uint8) int64 {
	return codec.Ordered(math.Float64bits(codec.Decimal(m, scale)) + uint64(ulps))
}
