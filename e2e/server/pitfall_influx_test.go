package server

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

const influxTime = 1_700_000_000 // seconds

// influx sends lines in which N*1e9 stands for the time above in nanoseconds.
func influx(t *testing.T, v *harness.Varve, path, lines string, headers ...string) harness.Response {
	t.Helper()
	return v.Do(t, http.MethodPost, path, []byte(strings.ReplaceAll(lines, "N*1e9", strconv.Itoa(influxTime*1e9))), headers...)
}

// PB-62: strings over lines, comments and empty lines.
func TestPitfallInfluxLines(t *testing.T) {
	v := harness.StartVarve(t)
	influx(t, v, "/write", "i1,h=a v=1,s=\"x\ny\",w=2 N*1e9\ni1,h=b v=3 N*1e9\n").Require(t, http.StatusNoContent)
	influx(t, v, "/write", "# first\ni2 v=1 N*1e9\n#x\n\n  \ni2 w=2 N*1e9\n").Require(t, http.StatusNoContent)
	at := seconds(influxTime)
	require.Equal(t, []string{`{__name__="i1_v", h="a"} 1`, `{__name__="i1_v", h="b"} 3`, `{__name__="i1_w", h="a"} 2`},
		v.Query(t, `{__name__=~"i1_.+"}`, at).Values())
	require.Equal(t, []string{`{__name__="i2_v"} 1`, `{__name__="i2_w"} 2`}, v.Query(t, `{__name__=~"i2_.+"}`, at).Values())
}

// PB-63: numbers become the nearest float64.
func TestPitfallInfluxNumbers(t *testing.T) {
	v := harness.StartVarve(t)
	influx(t, v, "/write", "i5 f=1702878157125929618i,g=9007199254740993,h=18446744073709551615u,k=1e-320,m=-0 N*1e9").Require(t, http.StatusNoContent)
	want := map[string]float64{
		"i5_f": 1702878157125929728, "i5_g": 9007199254740992, "i5_h": 18446744073709551616,
		"i5_k": 1e-320, "i5_m": math.Copysign(0, -1),
	}
	inEveryState(t, v, func(t *testing.T) {
		got := v.RemoteRead(t, harness.Sampled, influxTime*1000, influxTime*1000, harness.Re("__name__", "i5_.+"))
		require.Len(t, got, len(want))
		for _, s := range got {
			require.Equal(t, math.Float64bits(want[s.Labels.Get("__name__")]), math.Float64bits(s.Points[0].V), s.Labels.String())
		}
	})
	long := strings.Repeat("x", 70_000)
	resp := influx(t, v, "/write", "i6,tag="+long+" v=1 N*1e9")
	if resp.Status == http.StatusNoContent {
		require.Equal(t, []string{long}, v.Strings(t, "/api/v1/label/tag/values"))
	} else {
		resp.Require(t, http.StatusBadRequest)
		require.Contains(t, resp.String(), "tag")
	}
}

// PB-65: precisions, bodies without anything, lines without an end.
func TestPitfallInfluxRequests(t *testing.T) {
	v := harness.StartVarve(t)
	influx(t, v, "/write?precision=s", "bad v=1 N*1e9").Require(t, http.StatusBadRequest)
	units := map[string]int64{"n": 1, "ns": 1, "u": 1e3, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}
	for unit, ns := range units {
		for _, path := range []string{"/write", "/api/v2/write"} {
			name := fmt.Sprintf("p_%s_%s", strings.Trim(strings.ReplaceAll(path, "/", "_"), "_"), unit)
			v.Do(t, http.MethodPost, path+"?precision="+unit, fmt.Appendf(nil, "%s v=1 %d", name, influxTime*int64(1e9)/ns)).Require(t, http.StatusNoContent)
			floor := influxTime * int64(1e9) / ns * ns / 1e6
			got := v.RemoteRead(t, harness.Sampled, 0, influxTime*1000, harness.Eq("__name__", name+"_v"))
			require.Len(t, got, 1, name)
			require.Equal(t, []harness.RemotePoint{{T: floor, V: 1}}, got[0].Points, name)
		}
	}
	influx(t, v, "/write?precision=bogus", "bad v=1 1").Require(t, http.StatusBadRequest)
	// The unit of a time without a precision is guessed by its size.
	v.Do(t, http.MethodPost, "/write", fmt.Appendf(nil, "guessed v=1 %d", influxTime*1000)).Require(t, http.StatusNoContent)
	require.Len(t, v.Query(t, "guessed_v", seconds(influxTime)).Series, 1)
	v.Do(t, http.MethodPost, "/write", harness.Gzip(t, fmt.Appendf(nil, "zipped v=1 %d", influxTime*int64(1e9))), "Content-Encoding", "gzip").Require(t, http.StatusNoContent)
	require.Len(t, v.Query(t, "zipped_v", seconds(influxTime)).Series, 1)
	v.Do(t, http.MethodPost, "/write", []byte{}).Require(t, http.StatusNoContent)
	v.Do(t, http.MethodPost, "/write", harness.Gzip(t, nil), "Content-Encoding", "gzip").Require(t, http.StatusNoContent)
	influx(t, v, "/write", "i3 v=1 N*1e9").Require(t, http.StatusNoContent)
	influx(t, v, "/write", "i4,h=a v=1 N*1e9\r\ni4,h=b v=2 N*1e9\r\n").Require(t, http.StatusNoContent)
	require.Len(t, v.Query(t, "i3_v", seconds(influxTime)).Series, 1)
	require.Equal(t, []string{`{__name__="i4_v", h="a"} 1`, `{__name__="i4_v", h="b"} 2`}, v.Query(t, "i4_v", seconds(influxTime)).Values())
}
