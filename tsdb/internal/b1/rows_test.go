package b1

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// somePages are pages of headers of every shape and kind.
func somePages(t testing.TB) (pages [][]byte) {
	r := rand.New(rand.NewPCG(4, 4))
	e := NewEncoder(Options{})
	var headers []Header
	offset, series := uint64(0), uint32(0)
	add := func(s *block.Span) {
		var h Header
		payload, _, err := e.Encode(nil, nil, &h, s)
		require.NoError(t, err)
		h.Offset, h.Series = offset, series
		offset += uint64(len(payload) + len(pages)%3/2)
		series += uint32(r.IntN(3))
		if !h.IsGrid() {
			h.TimesRef = r.Uint64N(1 << 30)
		}
		headers = append(headers, h)
		if len(headers) == 1+r.IntN(PageBlocks) {
			pages = append(pages, AppendPage(nil, headers), appendUnsummed(nil, headers))
			headers = headers[:0]
		}
	}
	for range 3 {
		eachShape(r, func(_ string, v []float64) {
			if len(v) < 300 {
				add(gridSpan(v))
			}
		})
		for _, s := range histogramSpans(r, 20) {
			add(s)
		}
	}
	return pages
}

// TestRowsEqualHeaders holds reading in place to appendHeaders.
func TestRowsEqualHeaders(t *testing.T) {
	pages := somePages(t)
	require.Greater(t, len(pages), 5)
	for _, page := range pages {
		requireRows(t, page)
	}
}

func requireRows(t *testing.T, page []byte) {
	want, err := appendHeaders(nil, page)
	require.NoError(t, err)
	rows, err := OpenRows(page, new(RowsScratch))
	require.NoError(t, err)
	require.Equal(t, len(want), rows.Len())
	for k := range want {
		var h Header
		require.NoError(t, rows.Header(k, &h))
		require.Equal(t, want[k], h)
		mint, maxt := rows.Times(k)
		offset, length := rows.Place(k)
		require.Equal(t, []any{h.Series, h.Count, h.MinT, h.MaxT, h.Offset, h.Length}, []any{rows.Series(k), rows.Count(k), mint, maxt, offset, length})
		begin, end := rows.Find(h.Series)
		require.True(t, begin <= k && k < end)
	}
}

// FuzzRows opens any page: what appendHeaders takes is read the same in place,
// what it refuses is refused when it is opened or asked for.
func FuzzRows(f *testing.F) {
	for _, page := range somePages(f)[:8] {
		f.Add(page[:len(page)-4])
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		tally.Input()
		page := binary.LittleEndian.AppendUint32(append([]byte(nil), body...), crc32.Checksum(body, castagnoli))
		want, err := appendHeaders(nil, page)
		if err == nil {
			tally.Accepted()
			rows, err := OpenRows(page, new(RowsScratch))
			require.NoError(t, err)
			for k := range want {
				var h Header
				require.NoError(t, rows.Header(k, &h))
				require.Equal(t, want[k], h)
			}
			return
		}
		rows, err := OpenRows(page, new(RowsScratch))
		refused := err != nil
		for k := 0; err == nil && k < rows.Len(); k++ {
			refused = rows.Header(k, new(Header)) != nil || refused
		}
		require.True(t, refused)
	})
}
