package server

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// PB-40: what Grafana asks before it trusts a datasource.
func TestPitfallDetection(t *testing.T) {
	v := harness.StartVarve(t)
	var build struct{ Version string }
	v.Get(t, "/api/v1/status/buildinfo").Data(t, &build)
	var major, minor int
	_, err := fmt.Sscanf(build.Version, "%d.%d", &major, &minor)
	require.NoError(t, err, build.Version)
	require.True(t, major > 2 || major == 2 && minor >= 24, build.Version)
	v.Get(t, "/api/v1/nope").Require(t, http.StatusNotFound)
	v.Get(t, "/api/v1/write").Require(t, http.StatusMethodNotAllowed)
	v.Do(t, http.MethodOptions, "/api/v1/query", nil).Require(t, http.StatusNoContent)
}

// PB-41: steps and the number of points are checked.
func TestPitfallRangeArguments(t *testing.T) {
	v := harness.StartVarve(t)
	ask := func(start, end, step string) harness.Response {
		return v.Get(t, "/api/v1/query_range", "query", "vector(1)", "start", start, "end", end, "step", step)
	}
	ask("10", "10", "0").Require(t, http.StatusBadRequest)
	ask("10", "10", "-1").Require(t, http.StatusBadRequest)
	ask("10", "9", "1").Require(t, http.StatusBadRequest)
	r := harness.ParseResult(t, ask("0", "11000", "1").Require(t, http.StatusOK))
	require.Len(t, r.Series[0].Points, 11_001)
	require.Contains(t, ask("0", "11001", "1").Require(t, http.StatusBadRequest).Envelope(t).Error, "11,000")
	ask("0", "100", "15s").Require(t, http.StatusOK)
	ask("0", "100", "1h30m").Require(t, http.StatusOK)
}

// PB-43: times at the ends of what can be said.
func TestPitfallExtremeTimes(t *testing.T) {
	v, base := startWithLabels(t)
	const earliest, latest = "-292273086-05-16T16:47:06Z", "292277025-08-18T07:12:54.999999999Z"
	inEveryState(t, v, func(t *testing.T) {
		require.Len(t, v.LabelSets(t, "match[]", "l1_abc", "start", earliest, "end", latest), 1)
		require.Empty(t, v.LabelSets(t, "match[]", "l1_abc", "start", latest))
		v.Get(t, "/api/v1/query_range", "query", "l1_abc", "start", "148966367200.372", "end", "148966367100", "step", "1").Require(t, http.StatusBadRequest)
		for _, form := range []prompb.ReadRequest_ResponseType{harness.Sampled, harness.Streamed} {
			got := v.RemoteRead(t, form, math.MinInt64, math.MaxInt64, harness.Eq("__name__", "l1_abc"))
			require.Len(t, got, 1)
			require.Equal(t, []harness.RemotePoint{{T: base * 1000, V: 1}}, got[0].Points)
			resp := v.PostRead(t, harness.EncodeRead(t, base*1000+5, base*1000-5, []prompb.ReadRequest_ResponseType{form}, harness.Eq("__name__", "l1_abc")))
			require.Less(t, resp.Status, 500)
			if resp.Status == http.StatusOK && form == harness.Sampled {
				require.Empty(t, harness.DecodeSampled(t, resp))
			}
		}
	})
}

// PB-44: milliseconds, and scalars as scalars.
func TestPitfallInstants(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	v.WriteV1(t, one(base*1000+433, 1, "__name__", "ms433")).Require(t, http.StatusNoContent)
	moment := time.Unix(base, 0).UTC().Format("2006-01-02T15:04:05")
	inEveryState(t, v, func(t *testing.T) {
		const expr = "count_over_time(ms433[1ms])"
		require.Equal(t, []string{"{} 1"}, v.Query(t, expr, moment+".433Z").Values())
		require.Equal(t, []string{"{} 1"}, v.Query(t, expr, seconds(base)+".433").Values())
		require.Empty(t, v.Query(t, expr, seconds(base)+".434").Values())
	})
	for _, x := range []struct{ expr, kind, want string }{
		{"1+1", "scalar", "2"},
		{"time()", "scalar", seconds(base)},
		{`"x"`, "string", "x"},
		{"1/0", "scalar", "+Inf"},
		{"-0", "scalar", "-0"},
		{"1e-320", "scalar", strconv.FormatFloat(1e-320, 'f', -1, 64)},
	} {
		r := v.Query(t, x.expr, seconds(base))
		require.Equal(t, x.kind, r.Type, x.expr)
		require.Equal(t, []string{x.want}, r.Values(), x.expr)
		require.Equal(t, seconds(base), r.Series[0].Points[0].Time, x.expr)
	}
}

// PB-45: limits answer with an error, never with a part of the answer.
func TestPitfallQueryLimits(t *testing.T) {
	v := harness.StartVarve(t, "--query.max-samples=1000", "--query.max-concurrency=1")
	base := scriptTime()
	ramp := prompb.TimeSeries{Labels: harness.PB("__name__", "lim")}
	for i := range int64(2000) {
		ramp.Samples = append(ramp.Samples, prompb.Sample{Timestamp: base*1000 + i*1000, Value: 1})
	}
	v.WriteV1(t, ramp, one(base*1000, 1, "__name__", "lim1")).Require(t, http.StatusNoContent)
	for _, expr := range []string{"sum_over_time(lim[40m])", "sum_over_time(vector(1)[60000000s:1s])"} {
		resp := v.Get(t, "/api/v1/query", "query", expr, "time", seconds(base+2000)).Require(t, http.StatusUnprocessableEntity)
		e := resp.Envelope(t)
		require.Equal(t, []string{"error", "execution"}, []string{e.Status, e.ErrorType})
	}
	resp := v.PostV1(t, harness.EncodeV1(t, &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{one(base*1000, 1, "__name__", "big", "v", strings.Repeat("x", 40<<20))}}))
	require.Contains(t, []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge}, resp.Status)
	require.Regexp(t, `(?i)limit|exceed|larger|more than|over`, resp.String())
	var wg sync.WaitGroup
	answers := make([]harness.Response, 200)
	errs := make([]error, len(answers))
	for i := range answers {
		wg.Go(func() {
			answers[i], errs[i] = v.Send(http.MethodGet, "/api/v1/query?"+harness.Form("query", "sum(lim1)", "time", seconds(base)).Encode(), nil)
		})
	}
	wg.Wait()
	for i, a := range answers {
		require.NoError(t, errs[i])
		require.True(t, json.Valid(a.Body))
		if a.Status == http.StatusOK {
			require.Equal(t, []string{"{} 1"}, harness.ParseResult(t, a).Values())
		} else {
			require.Contains(t, []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}, a.Status)
			require.Equal(t, "error", a.Envelope(t).Status)
		}
	}
}
