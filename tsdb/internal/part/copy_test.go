package part

import (
	"math"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// TestStoredBlocksAreNotEncodedAgain adds spans of parts to another part: what
// may be copied or joined is, and reads as before.
func TestStoredBlocksAreNotEncodedAgain(t *testing.T) {
	wave := func(start int64, n int) block.Span {
		s := block.Span{Kind: block.KindFloat, Count: n, Start: start, Step: 1000}
		for i := range n {
			s.Floats = append(s.Floats, float64(i*i%97))
		}
		return s
	}
	f := func(name string, encoded bool, spans ...block.Span) {
		t.Helper()
		fs := vfs.NewMem()
		lset := labels.FromStrings("a", "b")
		var stored, twin []block.Cursor
		for i, s := range spans {
			dir := string(rune('a' + i))
			writePart(t, fs, dir, WriterOptions{}, []testSeries{{lset: lset, spans: []block.Span{s}}})
			p := openPart(t, fs, dir)
			stored = append(stored, p.Spans(0, math.MinInt64, math.MaxInt64))
			twin = append(twin, p.Cursor(0, math.MinInt64, math.MaxInt64))
		}
		w, err := Create(fs, "out", WriterOptions{})
		require.NoError(t, err)
		require.NoError(t, w.Add(lset, block.Merge(stored)))
		_, err = w.Commit(1, 1)
		require.NoError(t, err)
		require.Equal(t, encoded, w.groups.payload != nil, name)
		p := openPart(t, fs, "out")
		require.NoError(t, p.Verify(func(problem Problem) { require.Fail(t, "damage", "%v", problem) }))
		want := samplesOf(t, block.Merge(twin), math.MinInt64, math.MaxInt64)
		require.Equal(t, want, samplesOf(t, p.Cursor(0, math.MinInt64, math.MaxInt64), math.MinInt64, math.MaxInt64), name)
	}
	at := func(samples int) int64 { return dayStart + int64(samples)*1000 }
	jitter := wave(at(0), 5000)
	for i := range jitter.Count {
		jitter.Times = append(jitter.Times, at(i)+int64(i*i%7))
	}
	f("one short block", false, wave(at(0), 30))
	f("long blocks", false, wave(at(0), 4096), wave(at(5000), 8192))
	f("times that are no grid", false, jitter)
	f("a short one alone between long ones", false, wave(at(0), 5000), wave(at(6000), 10), wave(at(7000), 5000))
	f("whole mini-blocks coded alike", false, wave(at(0), 1280), wave(at(1280), 1280), wave(at(2560), 1280))
	f("short blocks", true, wave(at(0), 30), wave(at(30), 40))
	f("a gap", true, wave(at(0), 1280), wave(at(1290), 1280))
	f("an overlap", true, wave(at(0), 5000), wave(at(4000), 5000))
}
