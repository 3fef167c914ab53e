package top

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func texts(rows []Row) (out []string) {
	for _, r := range rows {
		out = append(out, fmt.Sprintf("%s/%s*%d", r.Text, r.Range, r.Count))
	}
	return out
}

func TestRanks(t *testing.T) {
	r := NewRecorder(0)
	at := time.Unix(1000, 0)
	add := func(text string, span, took time.Duration, memory int64, age time.Duration) {
		r.Add(Query{Text: text, Range: span, Duration: took, Memory: memory, At: at.Add(-age)})
	}
	add("old", 0, time.Hour, 1<<40, time.Minute)
	add("often", time.Hour, time.Second, 10, 0)
	add("often", time.Hour, 3*time.Second, 20, 0)
	add("often", time.Hour, 5*time.Second, 30, 0)
	add("often", 0, time.Millisecond, 0, 0)
	add("slow", 0, 4*time.Second, 20, 0)
	add("slow", 0, 4*time.Second, 20, 0)
	add("large", 0, time.Second, 1000, 0)
	got := r.Top(2, at.Add(-time.Second))
	require.Equal(t, []string{"often/1h0m0s*3", "slow/0s*2"}, texts(got.ByCount))
	require.Equal(t, []string{"slow/0s*2", "often/1h0m0s*3"}, texts(got.ByAvgDuration))
	require.Equal(t, []string{"often/1h0m0s*3", "slow/0s*2"}, texts(got.BySumDuration))
	require.Equal(t, []string{"large/0s*1", "often/1h0m0s*3"}, texts(got.ByAvgMemory), "equal ranks go by text")
	require.Equal(t, 9*time.Second, got.ByCount[0].Duration)
	require.Equal(t, 3*time.Second, got.ByCount[0].AvgDuration())
	require.EqualValues(t, 20, got.ByCount[0].AvgMemory())
	require.Len(t, r.Top(100, at.Add(-time.Hour)).ByCount, 5)
	require.Empty(t, r.Top(-1, at.Add(-time.Hour)).ByCount)
	require.Empty(t, NewRecorder(3).Top(10, at).ByCount)
}

// TestLastOnes compares with a recorder that keeps a list.
func TestLastOnes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	r := NewRecorder(37)
	var list []Query
	for i := range 1000 {
		q := Query{Text: fmt.Sprint(rng.IntN(20)), Range: time.Duration(rng.IntN(2)), At: time.Unix(int64(i), 0), Duration: 1}
		r.Add(q)
		list = append(list, q)
		want := map[string]int{}
		for _, q := range list[max(0, len(list)-37):] {
			want[fmt.Sprintf("%s/%s", q.Text, q.Range)]++
		}
		got := map[string]int{}
		for _, row := range r.Top(100, time.Time{}).ByCount {
			got[fmt.Sprintf("%s/%s", row.Text, row.Range)] = row.Count
		}
		require.Equal(t, want, got)
	}
	require.LessOrEqual(t, len(r.ring), 37)
}

func TestTextsAreBounded(t *testing.T) {
	r := NewRecorder(1000)
	long := func(i int) string { return fmt.Sprintf("%03d", i) + strings.Repeat("x", maxTextBytes/10) }
	for i := range 100 {
		r.Add(Query{Text: long(i), At: time.Unix(1, 0)})
		r.Add(Query{Text: long(i), At: time.Unix(1, 0)})
		require.LessOrEqual(t, r.bytes, maxTextBytes)
	}
	rows := r.Top(100, time.Time{}).ByCount
	require.GreaterOrEqual(t, len(rows), 8)
	require.Contains(t, r.texts, long(99))
	require.NotContains(t, r.texts, long(1))
}

func TestKnownTextsAllocateNothing(t *testing.T) {
	r := NewRecorder(100)
	for i := range 200 {
		r.Add(Query{Text: fmt.Sprint(i % 7)})
	}
	q := Query{Text: "3", At: time.Unix(1, 0)}
	require.Zero(t, testing.AllocsPerRun(1000, func() { r.Add(q) }))
}

func BenchmarkAdd(b *testing.B) {
	r := NewRecorder(0)
	texts := []string{"up", "sum by (job) (rate(http_requests_total[5m]))", "histogram_quantile(0.9, x)"}
	i := 0
	for b.Loop() {
		r.Add(Query{Text: texts[i%len(texts)], Range: time.Hour, At: time.Unix(int64(i), 0), Duration: time.Millisecond, Memory: 1000})
		i++
	}
}
