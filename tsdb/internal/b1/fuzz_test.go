package b1

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// fuzzSpans are the seeds: spans of every kind, layout and domain.
func fuzzSpans() (out []*block.Span) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, values := range shapes {
		out = append(out, gridSpan(values(r, 20)), gridSpan(sprinkled(r, values(r, 300))))
	}
	out = append(out, histogramSpans(r, 12)...)
	s := gridSpan([]float64{1, 2})
	s.StartTimes = []int64{5, 5}
	return append(out, s, gridSpan([]float64{7}))
}

// requireSound reads all of a block whose header and payload come from anywhere.
// What it hands out must encode again and decode to the same.
func requireSound(t *testing.T, h *Header, payload []byte) (accepted bool) {
	h.Length = uint32(len(payload))
	if h.Check() != nil {
		return false
	}
	var b Block
	if err := b.Open(h, payload); err != nil {
		require.ErrorIs(t, err, block.ErrCorrupt)
		return false
	}
	s := &block.Span{Kind: h.Kind, Count: h.Count, Start: 1, Step: 1}
	var err error
	switch h.Kind {
	case block.KindFloat:
		for op := block.StatCount; op <= block.StatLast; op++ {
			b.Stat(op, 0, h.Count)
			b.Stat(op, h.Count/3, h.Count/2+1)
		}
		b.Increase(0, h.Count)
		if scale, ok := b.Decimal(); ok {
			_ = scale
			require.NotPanics(t, func() { _ = b.Ints64(make([]int64, h.Count), 0) })
		}
		s.Floats = make([]float64, h.Count)
		err = b.Floats(s.Floats, 0)
	case block.KindHistogram:
		s.Histograms, err = b.Histograms(0, h.Count)
	default:
		s.FloatHistograms, err = b.FloatHistograms(0, h.Count)
	}
	if err != nil {
		require.ErrorIs(t, err, block.ErrCorrupt)
		return false
	}
	start := make([]int64, h.Count)
	if ok, err := b.StartTimes(start); err != nil {
		require.ErrorIs(t, err, block.ErrCorrupt)
	} else if ok {
		s.StartTimes = start
	}
	var again Header
	if _, _, err := NewEncoder(Options{}).Encode(nil, nil, &again, s); err != nil {
		require.ErrorIs(t, err, ErrInput)
	}
	return true
}

// FuzzPayload reads any payload under the header of a seed or under one put
// together from fuzzed numbers.
func FuzzPayload(f *testing.F) {
	e := NewEncoder(Options{MiniSamples: 64})
	for _, s := range fuzzSpans() {
		var h Header
		payload, _, err := e.Encode(nil, nil, &h, s)
		require.NoError(f, err)
		page := AppendPage(nil, []Header{h})
		f.Add(page[:len(page)-4], payload)
		require.True(f, requireSound(&testing.T{}, &h, payload))
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, page, payload []byte) {
		tally.Input()
		page = binary.LittleEndian.AppendUint32(append([]byte(nil), page...), crc32.Checksum(page, castagnoli))
		headers, err := appendHeaders(nil, page)
		if err != nil {
			return
		}
		if requireSound(t, &headers[0], payload) {
			tally.Accepted()
		}
	})
}

// FuzzPage parses any page of headers; what is accepted comes back the same when
// written again.
func FuzzPage(f *testing.F) {
	e := NewEncoder(Options{})
	var all []Header
	for _, s := range fuzzSpans() {
		var h Header
		_, _, err := e.Encode(nil, nil, &h, s)
		require.NoError(f, err)
		all = append(all, h)
		page := AppendPage(nil, all)
		f.Add(page[:len(page)-4])
	}
	page := AppendPage(nil, all[:3])
	page[1] |= PageBlocks
	f.Add(page[:len(page)-4])
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, page []byte) {
		tally.Input()
		headers, err := appendHeaders(nil, binary.LittleEndian.AppendUint32(append([]byte(nil), page...), crc32.Checksum(page, castagnoli)))
		if err != nil {
			return
		}
		tally.Accepted()
		again, err := appendHeaders(nil, AppendPage(nil, headers))
		require.NoError(t, err)
		require.Equal(t, headers, again)
	})
}

// FuzzFloats encodes any values; they come back, and do not take more than 1 %
// over their own size.
func FuzzFloats(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\xf0?"), byte(1), byte(0))
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\xf0?abcdefghijklmnopqrstuvwxyz"), byte(200), byte(1))
	tally := fuzztally.New(f)
	e := NewEncoder(Options{})
	f.Fuzz(func(t *testing.T, b []byte, repeat, form byte) {
		tally.Input()
		var values []float64
		for range 1 + int(repeat) {
			for p := b; len(p) >= 8 && len(values) < MaxSamples; p = p[8:] {
				u := binary.LittleEndian.Uint64(p)
				switch form % 3 {
				case 0:
					values = append(values, math.Float64frombits(u))
				case 1:
					values = append(values, codec.Decimal(int64(int32(u)), uint8(u>>32)%(codec.MaxScale+1)))
				default:
					values = append(values, codec.Decimal(int64(int8(u)), 2)+float64(len(values)))
				}
			}
		}
		if len(values) == 0 {
			return
		}
		tally.Accepted()
		block, size := encoded(t, e, gridSpan(values))
		require.LessOrEqual(t, size, len(values)*8+len(values)*8/100+60)
		got := make([]float64, len(values))
		require.NoError(t, block.Floats(got, 0))
		requireBits(t, values, got)
	})
}
