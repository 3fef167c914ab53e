package b1

import (
	"math"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// Limits of a block.
const (
	MaxSamples  = block.MaxSamples
	MiniSamples = 256 // samples of a mini-block, unless Options say otherwise
	minMiniLog  = 6
	maxMiniLog  = 10
	maxMinis    = MaxSamples >> minMiniLog
	maxResets   = 4
	manyResets  = maxResets + 1
)

// Layout says what the payload of a float block holds. Numbers are part of the
// format.
type Layout uint8

// The layouts.
const (
	LayoutMinis      Layout = 0 // a directory and mini-blocks
	LayoutLinear     Layout = 1 // First and Centre say all: constants and lines
	LayoutRuns       Layout = 2 // runs of equal values
	LayoutHistograms Layout = 3 // of kinds other than float
)

// Flags say what statistics may be used for.
type Flags uint8

// The flags. Numbers are part of the format.
const (
	FlagIntExact   Flags = 1 << 0 // integers, and count * max|m| < 2^53: sums in any order are exact
	FlagHasStale   Flags = 1 << 1 // an exception is a staleness marker
	FlagHasExc     Flags = 1 << 2 // there are exceptions
	FlagMonotonic  Flags = 1 << 3 // no value is below the one before it
	FlagNarrow     Flags = 1 << 4 // mantissas fit int32
	FlagSpecial    Flags = 1 << 5 // doubles with NaN or -0 among them
	FlagStartTimes Flags = 1 << 6 // there is a column of start timestamps
	knownFlags     Flags = 1<<7 - 1
)

// Header is all about a block but its samples. Encoder.Encode fills it except
// for the fields that say where the block went, which are the caller's.
//
// First, Last, Min, Max and Sum are mantissas where the domain is decimal (an
// exception counts as its stand-in), and doubles in the form of codec.Ordered
// otherwise; Sum is set only with FlagIntExact.
type Header struct {
	Series   uint32 // the caller's
	Offset   uint64 // the caller's: where the payload is
	TimesRef uint64 // the caller's: where times that are no grid are

	Kind       block.Kind
	Count      int
	MinT, MaxT int64
	Step       int64
	Times      codec.TimesForm

	Layout                     Layout
	Flags                      Flags
	MiniLog                    uint8 // mini-blocks have 1 << MiniLog samples
	Domain                     codec.Domain
	Scale                      uint8
	Params                     codec.Params
	Divisor, Base              int64 // mantissa = Base + Divisor * q; q is what is coded
	First, Last, Min, Max, Sum int64

	Exceptions int
	Resets     uint8             // values below the one before; manyResets or more: that many
	ResetAt    [maxResets]uint16 // their indexes, if they are not more
	Length     uint32            // of the payload
	CRC        uint32            // CRC-32C of the payload
}

// mini returns the samples of a mini-block.
func (h *Header) mini() int { return 1 << h.MiniLog }

// minis returns the number of mini-blocks.
func (h *Header) minis() int { return (h.Count + h.mini() - 1) >> h.MiniLog }

// Check refuses headers that no Encoder made.
func (h *Header) Check() error {
	switch {
	case h.Count < 1 || h.Count > MaxSamples:
		return block.Corruptf("block of %d samples", h.Count)
	case h.Kind < block.KindFloat || h.Kind > block.KindFloatHistogram:
		return block.Corruptf("block of kind %d", h.Kind)
	case (h.Kind != block.KindFloat) != (h.Layout == LayoutHistograms) || h.Layout > LayoutHistograms:
		return block.Corruptf("block of kind %s in layout %d", h.Kind, h.Layout)
	case h.MiniLog < minMiniLog || h.MiniLog > maxMiniLog:
		return block.Corruptf("mini-blocks of 2^%d samples", h.MiniLog)
	case h.Flags&^knownFlags != 0, h.Domain > codec.Doubles, h.Scale > codec.MaxScale, h.Times > codec.TimesBoth, !h.Params.Valid():
		return block.Corruptf("block parameters")
	case h.Layout == LayoutLinear && (h.Params.Codec != codec.Zero || h.Params.Order > 1 || h.Domain == codec.NearTens):
		return block.Corruptf("linear block with residuals")
	case h.Exceptions < 0 || h.Exceptions > codec.Limit(h.Count), (h.Exceptions > 0) != (h.Flags&FlagHasExc != 0):
		return block.Corruptf("%d exceptions in %d samples", h.Exceptions, h.Count)
	case h.Divisor < 1:
		return block.Corruptf("divisor %d", h.Divisor)
	case h.Resets > manyResets:
		return block.Corruptf("%d resets", h.Resets)
	case h.Times == codec.TimesGrid && (!block.GridAscends(h.MinT, h.Step, h.Count) || h.MaxT != h.gridEnd()):
		return block.Corruptf("grid from %d to %d by %d", h.MinT, h.MaxT, h.Step)
	}
	return h.checkRange()
}

// checkRange holds the statistics to what readers rely on.
func (h *Header) checkRange() error {
	switch {
	case h.Kind != block.KindFloat:
		return nil
	case h.Min > h.Max || h.First < h.Min || h.First > h.Max || h.Last < h.Min || h.Last > h.Max:
		return block.Corruptf("statistics %d to %d, first %d, last %d", h.Min, h.Max, h.First, h.Last)
	case h.Flags&FlagNarrow != 0 && (h.Domain != codec.Decimals10 || !narrow(h.Min, h.Max)):
		return block.Corruptf("mantissas %d to %d do not fit 32 bits", h.Min, h.Max)
	case h.Flags&FlagIntExact != 0 && !intExact(h):
		return block.Corruptf("sum of mantissas %d to %d is not exact", h.Min, h.Max)
	case h.Domain == codec.Decimals10 && (h.Min <= -maxMantissa || h.Max >= maxMantissa):
		return block.Corruptf("mantissas %d to %d", h.Min, h.Max)
	}
	last := -1
	for _, at := range h.ResetAt[:h.Resets%manyResets] {
		if int(at) <= max(last, 0) || int(at) >= h.Count {
			return block.Corruptf("reset at %d of %d", at, h.Count)
		}
		last = int(at)
	}
	return nil
}

const maxMantissa = 1 << 53

func narrow(low, high int64) bool { return low >= math.MinInt32 && high <= math.MaxInt32 }

// intExact tells whether sums of the mantissas, in any order, are exact.
func intExact(h *Header) bool {
	return h.Domain == codec.Decimals10 && h.Scale == 0 && max(h.Max, -h.Min) <= (maxMantissa-1)/int64(h.Count)
}

// DecodeTimes fills dst, one for each sample, with the times of the block.
// payload is that of its times, empty for a grid.
func (h *Header) DecodeTimes(dst []int64, payload []byte, s *codec.Scratch) error {
	if len(dst) != h.Count {
		return errRange
	}
	if !codec.DecodeTimes(dst, h.Times, h.MinT, h.Step, payload, s) || dst[len(dst)-1] != h.MaxT {
		return block.Corruptf("times of %d samples from %d to %d do not decode", h.Count, h.MinT, h.MaxT)
	}
	return nil
}
