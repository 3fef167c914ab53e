package write

import (
	"fmt"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"
)

// TestConcurrentSenders: many at once, in both protocols, of the same and of own
// series; each sample arrives once, at its series.
func TestConcurrentSenders(t *testing.T) {
	m := newModel()
	h := newHandler(m.batch, Options{SeriesCacheEntries: 300}) // small: generations change
	const senders, rounds, perSender = 4, 20, 50
	var wg sync.WaitGroup
	for sender := range senders {
		wg.Go(func() {
			for round := range rounds {
				var req prompb.WriteRequest
				b := newV2()
				for i := range perSender {
					name, v := fmt.Sprintf("own_%d_%d", sender, i), float64(round)
					req.Timeseries = append(req.Timeseries, seriesV1(name, v), seriesV1(fmt.Sprintf("shared_%d", i), v))
					b.series(sampleV2(modelNow, v), "__name__", name)
				}
				if w := postV1(t, h, &req); w.Code != 204 {
					t.Error(body(w))
				}
				if w := postV2(t, h, b.build()); w.Code != 204 || writtenHeaders(w)[0] != fmt.Sprint(perSender) {
					t.Error(body(w))
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, m.lines, (senders+1)*perSender)
	for sender := range senders {
		for i := range perSender {
			items := m.lines[fmt.Sprintf(`{__name__="own_%d_%d"}`, sender, i)]
			require.Len(t, items, 2*rounds)
			for n, item := range items {
				require.Equal(t, fmt.Sprintf("%d:%d", modelNow, n/2), item)
			}
		}
	}
	require.Zero(t, h.Stats().InFlightBytes)
	require.EqualValues(t, senders*rounds*perSender*3, h.Stats().Samples)
}
