package b1

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// Options are the choices of an Encoder; the zero value is the usual one.
type Options struct {
	// MiniSamples is the length of mini-blocks, a power of two from 64 to
	// 1024; 0 means MiniSamples. Longer ones are smaller and cost more to cut.
	MiniSamples int
}

// ErrInput is what every error about samples that no block can hold wraps.
var ErrInput = errors.New("samples do not fit a block")

// Encoder encodes blocks. It is for one goroutine and keeps scratch of some
// hundred KiB.
type Encoder struct {
	miniLog  uint8
	analyzer codec.Analyzer
	planner  codec.Planner
	coder    codec.Coder
	columns  codec.Columns
	times    codec.TimesCoder

	floats, check []float64
	q, part       []int64
	stream        []byte
	dir           directory
	block         Block
	hist          histogramCoder
}

// NewEncoder returns an Encoder. It panics on Options that are out of range.
func NewEncoder(o Options) *Encoder {
	if o.MiniSamples == 0 {
		o.MiniSamples = MiniSamples
	}
	log := bits.Len(uint(o.MiniSamples)) - 1
	if o.MiniSamples != 1<<log || log < minMiniLog || log > maxMiniLog {
		panic(fmt.Sprintf("b1: mini-blocks of %d samples", o.MiniSamples))
	}
	return &Encoder{miniLog: uint8(log)}
}

// Encode appends the payload of a block of the samples of s, 1 to MaxSamples of
// them, to dst and fills h. Times that are no grid are appended to times, which
// is for the caller to store: many series have the same. After an error dst and
// times are returned as they were.
func (e *Encoder) Encode(dst, times []byte, h *Header, s *block.Span) (payload, timesPayload []byte, err error) {
	if err := checkSpan(s); err != nil {
		return dst, times, fmt.Errorf("encode block: %w: %w", ErrInput, err)
	}
	*h = Header{Kind: s.Kind, Count: s.Count, MinT: s.MinT(), MaxT: s.MaxT(), MiniLog: e.miniLog, Divisor: 1}
	from, timesFrom := len(dst), len(times)
	if s.Times == nil {
		h.Step = s.Step
		if s.Count == 1 {
			h.Step = 0
		}
	} else {
		times, h.Times, h.Step = e.times.Append(times, s.Times)
	}
	if s.StartTimes != nil {
		h.Flags |= FlagStartTimes
		e.stream = e.columns.Append(e.stream[:0], s.StartTimes)
		dst = binary.AppendUvarint(dst, uint64(len(e.stream)))
		dst = append(dst, e.stream...)
	}
	if s.Kind == block.KindFloat {
		dst = e.appendFloats(dst, h, s)
	} else {
		dst = e.appendHistograms(dst, h, s)
	}
	h.Length = uint32(len(dst) - from)
	h.CRC = crc32.Checksum(dst[from:], castagnoli)
	if err := e.verify(h, dst[from:], s); err != nil {
		return dst[:from], times[:timesFrom], err
	}
	return dst, times, nil
}

// verify decodes the block and compares it with what it was made of.
func (e *Encoder) verify(h *Header, payload []byte, s *block.Span) error {
	if err := h.Check(); err != nil {
		return fmt.Errorf("encode block: verify: %w", err)
	}
	if err := e.block.OpenPayload(h, payload); err != nil {
		return fmt.Errorf("encode block: verify: %w", err)
	}
	if s.Kind != block.KindFloat {
		return e.verifyHistograms(s)
	}
	e.check = resize(e.check, s.Count)
	if err := e.block.Floats(e.check, 0); err != nil {
		return fmt.Errorf("encode block: verify: %w", err)
	}
	for i, x := range e.floats {
		if math.Float64bits(x) != math.Float64bits(e.check[i]) {
			return fmt.Errorf("encode block: verify: sample %d: got %x, want %x", i, math.Float64bits(e.check[i]), math.Float64bits(x))
		}
	}
	return nil
}

func (e *Encoder) appendFloats(dst []byte, h *Header, s *block.Span) []byte {
	e.floats = resize(e.floats, s.Count)
	if s.Floats != nil {
		copy(e.floats, s.Floats)
	} else {
		for i := range e.floats {
			e.floats[i] = s.Float(i)
		}
	}
	v := e.analyzer.Analyze(e.floats)
	h.Domain, h.Scale, h.Exceptions = v.Domain, v.Scale, len(v.Exceptions)
	h.Divisor, h.Base = codec.Divisor(v.Ints)
	e.statistics(h, v)
	dst = codec.AppendExceptions(dst, v.Exceptions)
	e.q = codec.Divide(e.q[:0], v.Ints, h.Divisor, h.Base)
	var estimate int
	e.planner.Short = h.Count < fewSamples
	h.Params, estimate = e.planner.Plan(e.q, h.mini(), h.maxOrder())
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

// From how many bits a value on mini-blocks are made longer, for directories to
// cost less than 1 %.
const (
	compressible   = 40
	incompressible = 60
)

// runs returns the runs of equal numbers as two columns, if there are few.
func (e *Encoder) runs(v []int64) ([]byte, bool) {
	values, lengths := e.part[:0], []int64(nil)
	for i, x := range v {
		if i > 0 && x == v[i-1] {
			lengths[len(lengths)-1]++
			continue
		}
		if len(values) == len(v)/runRatio {
			e.part = values
			return nil, false
		}
		values, lengths = append(values, x), append(lengths, 1)
	}
	e.part = values
	if len(values) < 2 {
		return nil, false
	}
	e.stream = binary.AppendUvarint(e.stream[:0], uint64(len(values)))
	e.stream = e.columns.Append(e.stream, values)
	e.stream = e.columns.Append(e.stream, lengths[:len(lengths)-1])
	return e.stream, true
}

// statistics fills those of h.
func (e *Encoder) statistics(h *Header, v *codec.Values) {
	of := func(i int) int64 { return v.Ints[i] }
	if v.Domain == codec.NearTens {
		of = func(i int) int64 { return nearOrdered(v.Ints[i], v.Ulps[i], v.Scale) }
	}
	h.First, h.Last = of(0), of(h.Count-1)
	h.Min, h.Max = h.First, h.First
	for i := range h.Count {
		x := of(i)
		h.Min, h.Max = min(h.Min, x), max(h.Max, x)
	}
	if v.Domain == codec.Decimals10 && narrow(h.Min, h.Max) {
		h.Flags |= FlagNarrow
	}
	if intExact(h) {
		h.Flags |= FlagIntExact
		for _, x := range v.Ints {
			h.Sum += x
		}
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
	e.resets(h)
}

// resets lists the values below the one before them.
func (e *Encoder) resets(h *Header) {
	for i := 1; i < h.Count; i++ {
		if !(e.floats[i] < e.floats[i-1]) {
			continue
		}
		if h.Resets == maxResets {
			h.Resets, h.ResetAt = manyResets, [maxResets]uint16{}
			return
		}
		h.ResetAt[h.Resets] = uint16(i)
		h.Resets++
	}
	if h.Resets == 0 {
		h.Flags |= FlagMonotonic
	}
}

// nearOrdered is the double a decimal and a distance make, in the form of
// codec.Ordered.
func nearOrdered(m, ulps int64, scale uint8) int64 {
	return codec.Ordered(math.Float64bits(codec.Decimal(m, scale)) + uint64(ulps))
}

var (
	errNotAscending = errors.New("times do not ascend")
	errMissing      = errors.New("a column is missing or has another length")
)

// checkSpan refuses spans that cannot be decoded to what they are.
func checkSpan(s *block.Span) error {
	switch {
	case s.Count < 1 || s.Count > MaxSamples:
		return fmt.Errorf("got %d samples, want 1 to %d", s.Count, MaxSamples)
	case s.Times != nil && len(s.Times) != s.Count, s.StartTimes != nil && len(s.StartTimes) != s.Count:
		return errMissing
	case s.Times != nil && !codec.Ascending(s.Times), s.Times == nil && !gridAscends(s.Start, s.Step, s.Count):
		return errNotAscending
	}
	n := -1
	switch s.Kind {
	case block.KindHistogram:
		n = len(s.Histograms)
	case block.KindFloatHistogram:
		n = len(s.FloatHistograms)
	case block.KindFloat:
		n = len(s.Floats) + len(s.Ints32) + len(s.Ints64)
	default:
		return fmt.Errorf("kind %d is unknown", s.Kind)
	}
	if n != s.Count {
		return errMissing
	}
	if buckets := bucketCount(s); buckets > MaxBuckets {
		return fmt.Errorf("got %d buckets, want %d at most", buckets, MaxBuckets)
	}
	return nil
}

func gridAscends(start, step int64, count int) bool {
	if count == 1 {
		return true
	}
	steps := int64(count - 1)
	return step > 0 && step <= math.MaxInt64/steps && (start <= 0 || step*steps <= math.MaxInt64-start)
}

// resize returns a slice of n elements, s where it is large enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
