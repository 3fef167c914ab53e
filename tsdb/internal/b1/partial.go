package b1

import (
	"slices"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// Plain tells whether the samples [i, j) are all mantissas: none is an exception.
func (b *Block) Plain(i, j int) bool { return len(b.exceptionsIn(i, j)) == 0 }

// HasStale tells whether one of the exceptions of the samples [i, j) is a staleness
// marker. With FlagSpecial there may be others.
func (b *Block) HasStale(i, j int) bool {
	return slices.ContainsFunc(b.exceptionsIn(i, j), func(e codec.Exception) bool { return codec.IsStale(e.Bits) })
}

// Increase is Block.Increase over all samples of a block whose payload is not at
// hand.
func (h *Header) Increase() (value float64, exact bool) {
	if h.Flags&FlagMonotonic == 0 || h.Exceptions > 0 || h.Flags&FlagSpecial != 0 {
		return 0, false
	}
	first, ok := h.Stat(block.StatFirst)
	last, ok2 := h.Stat(block.StatLast)
	return last - first, ok && ok2
}

// IsGrid tells whether the times of the block have no payload.
func (h *Header) IsGrid() bool { return h.Times == codec.TimesGrid }

// Trim forgets statistics that cost more to store than to compute: the sum and the
// places of resets of a block of one mini-block. What is left is as good as
// before.
func (h *Header) Trim() {
	if h.Kind != block.KindFloat || h.Layout != LayoutMinis || !h.oneMini() {
		return
	}
	h.Flags &^= FlagIntExact
	h.Sum = 0
	if h.Resets > 0 {
		h.Resets, h.ResetAt = manyResets, [maxResets]uint16{}
	}
}
