package server

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// one is a series with one float sample.
func one(ms int64, v float64, pairs ...string) prompb.TimeSeries {
	return prompb.TimeSeries{Labels: harness.PB(pairs...), Samples: []prompb.Sample{{Timestamp: ms, Value: v}}}
}

func seconds(s int64) string { return strconv.FormatInt(s, 10) }

const awkwardURL = "https://x.example/a?b=c&d=é"

func startWithLabels(t *testing.T) (*harness.Varve, int64) {
	v := harness.StartVarve(t)
	base := scriptTime()
	v.WriteV1(t,
		one(base*1000, 1, "__name__", "l1_abc", "my", "v1", "u", awkwardURL),
		one(base*1000, 1, "__name__", "l1_def", "my", "v2", "other", "o"),
	).Require(t, http.StatusNoContent)
	return v, base
}

// PB-34: label calls with and without matchers and ranges.
func TestPitfallLabelCalls(t *testing.T) {
	v, base := startWithLabels(t)
	around := []string{"start", seconds(base - 60), "end", seconds(base + 60)}
	inEveryState(t, v, func(t *testing.T) {
		values := "/api/v1/label/my/values"
		for _, match := range []string{`{__name__="l1_abc"}`, `l1_abc{}`, `l1_abc`} {
			require.Equal(t, []string{"v1"}, v.Strings(t, values, "match[]", match), match)
		}
		require.Equal(t, []string{"v1", "v2"}, v.Strings(t, values))
		require.Equal(t, []string{"v1", "v2"}, v.Strings(t, values, around...))
		require.Equal(t, []string{"v1", "v2"}, v.Strings(t, values, "match[]", `{__name__=~"l1_.+",}`))
		require.Empty(t, v.Strings(t, values, "start", seconds(base-7200), "end", seconds(base-3600)))
		require.Equal(t, []string{awkwardURL}, v.Strings(t, "/api/v1/label/u/values"))
		var posted []string
		v.PostForm(t, "/api/v1/labels", "match[]", "l1_abc").Data(t, &posted)
		require.Equal(t, []string{"__name__", "my", "u"}, posted)
		require.Equal(t, []string{"__name__", "my", "u"}, v.Strings(t, "/api/v1/labels", "match[]", "l1_abc"))
		require.Equal(t, []string{"__name__", "my", "other", "u"}, v.Strings(t, "/api/v1/labels", "match[]", `{__name__=~"l1_.+",}`))
		require.Equal(t, []string{"__name__", "my", "other", "u"}, v.Strings(t, "/api/v1/labels"))
	})
}

// PB-35: selectors that would take everything are refused; no range is all time.
func TestPitfallSeriesCalls(t *testing.T) {
	v, _ := startWithLabels(t)
	inEveryState(t, v, func(t *testing.T) {
		for _, match := range []string{`{foo=""}`, `{}`, `{__name__=~".*"}`} {
			resp := v.Get(t, "/api/v1/series", "match[]", match).Require(t, http.StatusBadRequest)
			require.Contains(t, resp.Envelope(t).Error, "at least one non-empty matcher", match)
		}
		v.Get(t, "/api/v1/series").Require(t, http.StatusBadRequest)
		for _, path := range []string{"/api/v1/labels", "/api/v1/label/my/values"} {
			resp := v.Get(t, path, "match[]", `{foo=""}`).Require(t, http.StatusBadRequest)
			require.Contains(t, resp.Envelope(t).Error, "at least one non-empty matcher")
		}
		require.Len(t, v.LabelSets(t, "match[]", `{my!=""}`), 2)
		require.Len(t, v.LabelSets(t, "match[]", `l1_abc`), 1, "a sample two hours old, without a range")
	})
}

// PB-37: names outside of the old alphabet.
func TestPitfallUTF8(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	at := seconds(base)
	v.WriteV1(t, one(base*1000, 3, "Z", "z", "__name__", "my.métric", "host.name", "h1", "label with space", "s")).Require(t, http.StatusNoContent)
	inEveryState(t, v, func(t *testing.T) {
		require.Len(t, v.Query(t, `{"my.métric"}`, at).Series, 1)
		r := v.Query(t, `{"my.métric"}`, at)
		require.Equal(t, "my.métric", r.Series[0].Labels.Get("__name__"))
		require.Equal(t, []string{`{"label with space"="s"} 3`}, v.Query(t, `sum by("label with space")({"my.métric"})`, at).Values())
		require.Equal(t, []string{`{Z="z", "host.name"="h1"} 3`}, v.Query(t, `sum by("host.name",Z)({"my.métric"})`, at).Values())
		v.Get(t, "/api/v1/query", "query", "my.métric", "time", at).Require(t, http.StatusBadRequest)
		require.Equal(t, []string{"h1"}, v.Strings(t, "/api/v1/label/host.name/values"))
		require.Equal(t, []string{"h1"}, v.Strings(t, "/api/v1/label/U__host_2e_name/values"))
		require.Equal(t, []string{"s"}, v.Strings(t, "/api/v1/label/label%20with%20space/values"))
		require.Len(t, v.LabelSets(t, "match[]", `{"my.métric"}`), 1)
	})
}

// PB-38: what ended is not federated.
func TestPitfallFederate(t *testing.T) {
	v := harness.StartVarve(t)
	now := time.Now().UnixMilli()
	stale := math.Float64frombits(value.StaleNaN)
	y := one(now-30_000, 2, "__name__", "f1", "a", "y")
	y.Samples = append(y.Samples, prompb.Sample{Timestamp: now - 10_000, Value: stale})
	v.WriteV1(t, one(now-30_000, 1, "__name__", "f1", "a", "x"), y,
		one(now-5_000, math.Float64frombits(value.NormalNaN), "__name__", "f1", "a", "n")).Require(t, http.StatusNoContent)
	inEveryState(t, v, func(t *testing.T) {
		text := v.Get(t, "/federate", "match[]", "f1", "match[]", `{a="x"}`).Require(t, http.StatusOK).String()
		var lines []string
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "#") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		require.ElementsMatch(t, []string{
			fmt.Sprintf(`f1{a="n",instance=""} NaN %d`, now-5_000),
			fmt.Sprintf(`f1{a="x",instance=""} 1 %d`, now-30_000),
		}, lines)
	})
}
