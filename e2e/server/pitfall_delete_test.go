package server

import (
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// PB-66: deletes hide late samples too, and what is gone is gone from the label
// calls.
func TestPitfallDeletes(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	at := func(s int64) int64 { return (base + s) * 1000 }
	for _, name := range []string{"d1", "d2"} {
		order := []int64{0, 60, 120, 180}
		if name == "d2" {
			order = []int64{180, 0, 60, 120}
		}
		for _, s := range order {
			v.WriteV1(t, one(at(s), float64(s/60+1), "__name__", name, "a", "1")).Require(t, http.StatusNoContent)
		}
		v.WriteV1(t, one(at(0), 1, "__name__", name, "a", "2")).Require(t, http.StatusNoContent)
		v.PostForm(t, "/api/v1/admin/tsdb/delete_series", "match[]", name+`{a="1"}`, "start", seconds(base+60), "end", seconds(base+120)).Require(t, http.StatusNoContent)
		v.PostForm(t, "/api/v1/admin/tsdb/delete_series", "match[]", name+`{a="2"}`).Require(t, http.StatusNoContent)
	}
	inEveryState(t, v, func(t *testing.T) {
		for _, name := range []string{"d1", "d2"} {
			require.Equal(t, []string{`{__name__="` + name + `", a="1"} 1@0 4@180`}, v.Query(t, name+`{a="1"}[5m]`, seconds(base+200)).Timed(t, float64(base)))
			require.Equal(t, []string{`{__name__="` + name + `", a="1"} 1`}, v.Query(t, name+`{a="1"}`, seconds(base+100)).Values())
			require.Equal(t, []string{"1"}, v.Strings(t, "/api/v1/label/a/values", "match[]", name))
			require.Len(t, v.LabelSets(t, "match[]", name), 1)
		}
	})
	// What is written after a delete is there.
	v.WriteV1(t, one(at(60), 22, "__name__", "d1", "a", "1"), one(at(0), 33, "__name__", "d2", "a", "2")).Require(t, http.StatusNoContent)
	v.PostForm(t, "/api/v1/admin/tsdb/clean_tombstones").Require(t, http.StatusNoContent)
	inEveryState(t, v, func(t *testing.T) {
		require.Equal(t, []string{`{__name__="d1", a="1"} 1@0 22@60 4@180`}, v.Query(t, `d1[5m]`, seconds(base+200)).Timed(t, float64(base)))
		require.Equal(t, []string{"1", "2"}, v.Strings(t, "/api/v1/label/a/values", "match[]", "d2"))
	})
}

// PB-66: windows around midnight of a month's last day find their samples.
func TestPitfallMonthEnd(t *testing.T) {
	v := harness.StartVarve(t)
	for _, day := range []time.Time{
		time.Date(2026, 10, 31, 23, 30, 0, 0, time.UTC),
		time.Date(2024, 2, 29, 23, 30, 0, 0, time.UTC),
	} {
		name := "me" + day.Format("200601")
		v.WriteV1(t, one(day.UnixMilli(), 1, "__name__", name), one(day.Add(time.Hour).UnixMilli(), 2, "__name__", name)).Require(t, http.StatusNoContent)
	}
	inEveryState(t, v, func(t *testing.T) {
		for _, day := range []time.Time{
			time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC),
			time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
		} {
			name := "me" + day.Format("200601")
			month := time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
			for _, x := range []struct {
				from, to time.Time
				want     int
			}{
				{day.Add(23 * time.Hour), day.Add(23*time.Hour + 59*time.Minute), 1},
				{day.Add(23*time.Hour + 20*time.Minute), day.Add(23*time.Hour + 40*time.Minute), 1},
				{day.Add(23 * time.Hour), day.Add(25 * time.Hour), 2},
				{month, month.AddDate(0, 1, 0).Add(-time.Millisecond), 1},
				{month, month.AddDate(0, 2, 0), 2},
				{day.Add(24 * time.Hour), day.Add(25 * time.Hour), 1},
			} {
				got := v.RemoteRead(t, harness.Sampled, x.from.UnixMilli(), x.to.UnixMilli(), harness.Eq("__name__", name))
				require.Len(t, got, 1, "%s..%s", x.from, x.to)
				require.Len(t, got[0].Points, x.want, "%s..%s", x.from, x.to)
				sets := v.LabelSets(t, "match[]", name, "start", x.from.Format(time.RFC3339), "end", x.to.Format(time.RFC3339))
				require.Len(t, sets, 1, "%s..%s", x.from, x.to)
			}
		}
	})
}

// PB-66: data older than the retention is refused or visibly dropped, never
// acknowledged and gone.
func TestPitfallRetention(t *testing.T) {
	v := harness.StartVarve(t, "--storage.retention=2d")
	now := time.Now()
	old := now.Add(-5 * 24 * time.Hour).UnixMilli()
	before := v.Get(t, "/metrics").String()
	resp := v.WriteV1(t, one(old, 1, "__name__", "ancient"), one(now.UnixMilli(), 1, "__name__", "fresh"))
	if resp.Status == http.StatusNoContent {
		require.NotEqual(t, before, v.Get(t, "/metrics").String(), "the drop is counted")
		require.Regexp(t, `(?m)^varve_\S*(old|retention|dropped)\S* [1-9]`, v.Get(t, "/metrics").String())
	} else {
		resp.Require(t, http.StatusBadRequest)
		require.Contains(t, resp.String(), "ancient")
	}
	require.Len(t, v.Query(t, "fresh", seconds(now.Unix()+1)).Series, 1)
	got := v.RemoteRead(t, harness.Sampled, 0, now.UnixMilli(), harness.Re("__name__", "ancient|fresh"))
	require.Len(t, got, 1)
	require.Equal(t, prompb.Sample{Timestamp: now.UnixMilli(), Value: 1}, prompb.Sample{Timestamp: got[0].Points[0].T, Value: got[0].Points[0].V})
}
