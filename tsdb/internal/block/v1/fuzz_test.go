package v1

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// sealed appends the checksum of a page, so that what lies behind it is met.
func sealed(body []byte) []byte {
	b := append([]byte(nil), body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// rawPage is a page of one block whose streams are stored as they are.
func rawPage(head, tokens, bits []byte) []byte {
	b := []byte{Version, 1}
	for _, s := range [][]byte{head, tokens, bits} {
		b = append(b, storeRaw)
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = binary.AppendUvarint(b, uint64(len(s)))
	}
	for _, s := range [][]byte{head, tokens, bits} {
		b = append(b, s...)
	}
	return sealed(b)
}

// fuzzSpans are the seeds: a span of every kind and form.
func fuzzSpans() []*block.Span {
	r := rand.New(rand.NewPCG(1, 1))
	var out []*block.Span
	for _, values := range shapes {
		out = append(out, &block.Span{Kind: block.KindFloat, Count: 20, Times: timeShapes["jitter"](r, 20), Floats: values(r, 20), StartTimes: times(20, func(i int) int64 { return int64(i / 7) })})
	}
	out = append(out, histogramSpan(r, 12), floatHistogramSpan(r, 12, 0), floatHistogramSpan(r, 12, 0.25))
	return append(out, &block.Span{Kind: block.KindFloat, Count: 1, Start: 5, Floats: []float64{1}})
}

// requireSound decodes every block of a page. What is accepted must encode
// again and decode to the same.
func requireSound(t *testing.T, page []byte) (accepted int) {
	var p Page
	if err := p.Open(page); err != nil {
		return 0
	}
	column := make([]int64, 3)
	shared := func(TimesRef) ([]int64, error) { return column, nil }
	for i := range min(p.Len(), 50) {
		var s block.Span
		var buf Buffer
		if err := p.Decode(i, &s, &buf, shared); err != nil {
			require.ErrorIs(t, err, block.ErrCorrupt)
			if times, err := p.Times(i); err == nil {
				require.NoError(t, (&block.Span{Count: len(times), Times: times}).CheckTimes())
				accepted++
			}
			continue
		}
		if len(s.Times) == len(column) && s.Times[0] == s.Times[1] {
			continue // the column that stands in for a shared one
		}
		accepted++
		requireRoundTrip(t, &s)
	}
	return accepted
}

// FuzzPage opens any page whose checksum is right.
func FuzzPage(f *testing.F) {
	e := NewEncoder()
	for _, s := range fuzzSpans() {
		_, err := e.AddSpan(s)
		require.NoError(f, err)
		page := e.AppendPage(nil)
		f.Add(page[:len(page)-4])
	}
	for _, s := range fuzzSpans() {
		_, err := e.AddSpanShared(s, 1)
		require.NoError(f, err)
		_, err = e.AddTimes([]int64{1, 2, 4, 9})
		require.NoError(f, err)
	}
	page := e.AppendPage(nil)
	f.Add(page[:len(page)-4])
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		tally.Input()
		if requireSound(t, sealed(body)) > 0 {
			tally.Accepted()
		}
	})
}

// FuzzStreams decodes any streams of a block.
func FuzzStreams(f *testing.F) {
	e := NewEncoder()
	for _, s := range fuzzSpans() {
		_, err := e.AddSpan(s)
		require.NoError(f, err)
		f.Add(bytes.Clone(e.page.head), bytes.Clone(e.page.tokens), bytes.Clone(e.page.bits)) // the encoder uses them again
		require.Positive(f, requireSound(&testing.T{}, rawPage(e.page.head, e.page.tokens, e.page.bits)))
		e.Reset()
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, head, tokens, bits []byte) {
		tally.Input()
		if requireSound(t, rawPage(head, tokens, bits)) > 0 {
			tally.Accepted()
		}
	})
}

// FuzzFloats encodes any values.
func FuzzFloats(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\xf0?"), int64(10), false)
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, b []byte, step int64, decimals bool) {
		tally.Input()
		var values []float64
		for len(b) >= 8 && len(values) < block.MaxSamples {
			u := binary.LittleEndian.Uint64(b)
			if decimals {
				values = append(values, float64(int32(u))/float64(uint64(1)<<(u>>59)))
			} else {
				values = append(values, math.Float64frombits(u))
			}
			b = b[8:]
		}
		s := &block.Span{Kind: block.KindFloat, Count: len(values), Start: 1, Step: step, Floats: values}
		if s.Check() != nil {
			return
		}
		tally.Accepted()
		requireRoundTrip(t, s)
	})
}
