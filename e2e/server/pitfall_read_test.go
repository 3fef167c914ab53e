package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// PB-59: a series is answered once, in order, cut to the range, however many
// parts it lies in.
func TestPitfallReadOneSeries(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	at := func(s int64) int64 { return (base + s) * 1000 }
	v.WriteV1(t, prompb.TimeSeries{Labels: harness.PB("__name__", "rrs"), Samples: []prompb.Sample{{Timestamp: at(10), Value: 1}, {Timestamp: at(30), Value: 3}}}).Require(t, http.StatusNoContent)
	v.Flush(t)
	v.WriteV1(t, one(at(20), 2, "__name__", "rrs")).Require(t, http.StatusNoContent)
	v.Flush(t)
	v.WriteV1(t, one(at(40), 4, "__name__", "rrs")).Require(t, http.StatusNoContent)
	inEveryState(t, v, func(t *testing.T) {
		for _, form := range []prompb.ReadRequest_ResponseType{harness.Sampled, harness.Streamed} {
			got := v.RemoteRead(t, form, at(0), at(100), harness.Eq("__name__", "rrs"))
			require.Len(t, got, 1)
			require.Equal(t, []harness.RemotePoint{{T: at(10), V: 1}, {T: at(20), V: 2}, {T: at(30), V: 3}, {T: at(40), V: 4}}, got[0].Points)
			got = v.RemoteRead(t, form, at(11), at(39), harness.Eq("__name__", "rrs"))
			require.Len(t, got, 1)
			require.Equal(t, []harness.RemotePoint{{T: at(20), V: 2}, {T: at(30), V: 3}}, got[0].Points)
		}
	})
}

// PB-60: accepted response types, matchers, and a range of one point.
func TestPitfallReadRequests(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	at := func(s int64) int64 { return (base + s) * 1000 }
	v.WriteV1(t,
		prompb.TimeSeries{Labels: harness.PB("__name__", "rr", "a", "1"), Samples: []prompb.Sample{{Timestamp: at(0), Value: 1}, {Timestamp: at(10), Value: 2}, {Timestamp: at(20), Value: 3}}},
		one(at(10), 5, "__name__", "rr", "a", "2", "b", "x"),
	).Require(t, http.StatusNoContent)
	name := harness.Eq("__name__", "rr")
	inEveryState(t, v, func(t *testing.T) {
		for _, x := range []struct {
			accepted []prompb.ReadRequest_ResponseType
			status   int
			streamed bool
		}{
			{[]prompb.ReadRequest_ResponseType{1}, http.StatusOK, true},
			{[]prompb.ReadRequest_ResponseType{1, 0}, http.StatusOK, true},
			{[]prompb.ReadRequest_ResponseType{7, 0}, http.StatusOK, false},
			{[]prompb.ReadRequest_ResponseType{7}, http.StatusBadRequest, false},
			{nil, http.StatusOK, false},
		} {
			resp := v.PostRead(t, harness.EncodeRead(t, at(0), at(100), x.accepted, name)).Require(t, x.status)
			if x.status == http.StatusOK {
				require.Equal(t, x.streamed, strings.Contains(resp.Header.Get("Content-Type"), "streamed"), "%v", x.accepted)
			}
		}
		for _, x := range []struct {
			m    *prompb.LabelMatcher
			want []string
		}{
			{harness.Re("b", ".*"), []string{"1", "2"}},
			{harness.Neq("b", "x"), []string{"1"}},
			{harness.Re("a", "^1$"), []string{"1"}},
			{harness.Re("b", "x|"), []string{"1", "2"}},
		} {
			var got []string
			for _, s := range v.RemoteRead(t, harness.Sampled, at(0), at(100), name, x.m) {
				got = append(got, s.Labels.Get("a"))
			}
			require.Equal(t, x.want, got, x.m.String())
		}
		v.PostRead(t, harness.EncodeRead(t, at(0), at(100), nil, name, harness.Re("b", "("))).Require(t, http.StatusBadRequest)
		for _, form := range []prompb.ReadRequest_ResponseType{harness.Sampled, harness.Streamed} {
			got := v.RemoteRead(t, form, at(10), at(10), name)
			require.Len(t, got, 2)
			require.Equal(t, []harness.RemotePoint{{T: at(10), V: 2}}, got[0].Points)
			require.Equal(t, []harness.RemotePoint{{T: at(10), V: 5}}, got[1].Points)
		}
	})
}

// The labels of PB-09 by remote read: byte order on the wire.
func TestPitfallReadLabelOrder(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	v.WriteV1(t, one(base*1000, 3, "Ab", "1", "__name__", "u_two", "zz", "q")).Require(t, http.StatusNoContent)
	inEveryState(t, v, func(t *testing.T) {
		for _, form := range []prompb.ReadRequest_ResponseType{harness.Sampled, harness.Streamed} {
			got := v.RemoteRead(t, form, base*1000, base*1000, harness.Eq("__name__", "u_two"))
			require.Len(t, got, 1)
			require.Equal(t, []string{"Ab", "__name__", "zz"}, got[0].Names)
		}
	})
}
