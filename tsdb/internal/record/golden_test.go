package record

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
)

// goldenItems are in the order of a Columns frame.
func goldenItems() []Item {
	up := labels.FromStrings("__name__", "up", "instance", "10.0.0.1:9100", "job", "node")
	items := []Item{
		{Kind: KindSeries, Ref: 9, Labels: up},
		{Kind: KindSeries, Ref: 10, Labels: labels.NewBuilder(up).Set("instance", "10.0.0.2:9100").Labels()},
		{Kind: KindSeries, Ref: 4000000000, Labels: labels.FromStrings("__name__", "latency", "job", "node", "le", "+Inf")},
	}
	for i, v := range awkward {
		items = append(items, Item{Ref: 9, T: 1700000000000 + int64(i), Value: v}, Item{Ref: uint64(i), ST: 5, T: 1700000000000, Value: v})
	}
	for i, v := range []float64{1, 2, 2, 5000, 0.25, 0.75, -3, 12345.678} {
		items = append(items, Item{Ref: 10, T: 1700000000000 + 15000*int64(i), Value: v})
	}
	return append(items,
		Item{Kind: KindHistogram, Ref: 10, T: -5, Histogram: sampleHistogram()},
		Item{Kind: KindFloatHistogram, Ref: 4000000000, ST: math.MinInt64, T: math.MaxInt64, FloatHistogram: sampleFloatHistogram()},
		Item{Kind: KindExemplar, Ref: 10, T: 7, Exemplar: exemplar.Exemplar{Labels: labels.FromStrings("trace", "1"), Value: 0.5, Ts: 7, HasTs: true}},
		Item{Kind: KindMetadata, Family: "up", Metadata: metadata.Metadata{Type: "gauge", Help: "a\nb", Unit: "bytes"}})
}

// TestGolden holds what is written and read today to what was written when each
// type of frame was new. With RECORD_GOLDEN set it writes files that are missing;
// files that are there never change.
func TestGolden(t *testing.T) {
	items := goldenItems()
	var e Encoder
	var c ColumnEncoder
	for i := range items {
		encodeItem(&e, &items[i])
		encodeColumnItem(&c, &items[i])
	}
	stored := func(name string, today []byte) []byte {
		t.Helper()
		file := filepath.Join("testdata", name)
		old, err := os.ReadFile(file)
		if os.IsNotExist(err) && os.Getenv("RECORD_GOLDEN") != "" {
			require.NoError(t, os.WriteFile(file, today, 0o644))
			old, err = today, nil
		}
		require.NoError(t, err)
		return old
	}

	old := stored("batch", e.Bytes())
	require.Equal(t, old, e.Bytes())
	d := NewDecoder(old)
	var got []Item
	for d.Next() {
		got = append(got, *d.Item())
	}
	require.NoError(t, d.Err())
	requireSameItems(t, items, got)

	// The encoder may find a shorter form one day; what is stored stays readable.
	got, err := itemsOf(t, stored("columns", c.Bytes()))
	require.NoError(t, err)
	requireSameItems(t, items, got)

	want := Tombstone{MinT: -5, MaxT: 5, Matchers: []Matcher{{Type: labels.MatchRegexp, Name: "a", Value: ".*"}}}
	tombstone, err := DecodeTombstone(stored("tombstone", AppendTombstone(nil, want)))
	require.NoError(t, err)
	require.Equal(t, want, tombstone)
}
