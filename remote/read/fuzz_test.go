package read_test

import (
	"net/http"
	"testing"

	"github.com/gogo/protobuf/proto"
	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/read"
	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// FuzzReadRequest: any body is answered, and what is accepted gets the results
// that a request decoded by gogo would ask for.
func FuzzReadRequest(f *testing.F) {
	name := eq("__name__", "rr")
	for _, req := range []*prompb.ReadRequest{
		{Queries: []*prompb.Query{ask(0, 100, name)}},
		{Queries: []*prompb.Query{ask(-5, 1<<62, name, &prompb.LabelMatcher{Type: prompb.LabelMatcher_RE, Name: "a", Value: "1|2"})}, AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{streamed, sampled}},
		{Queries: []*prompb.Query{ask(0, 10, name), {Hints: &prompb.ReadHints{StepMs: 5, Func: "rate", Grouping: []string{"a"}}}}, AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{7, sampled}},
		{},
	} {
		raw, err := proto.Marshal(req)
		require.NoError(f, err)
		f.Add(raw, true)
		f.Add(snappy.Encode(nil, raw), false)
	}
	h := read.New(twoSeries(), read.Options{})
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, body []byte, compress bool) {
		tally.Input()
		raw := body
		if compress {
			body = snappy.Encode(nil, raw)
		} else if n, err := snappy.DecodedLen(body); err == nil && n < 1<<20 {
			raw, _ = snappy.Decode(nil, body)
		}
		rec := post(h, body)
		require.Contains(t, []int{http.StatusOK, http.StatusBadRequest}, rec.Code)
		if rec.Code != http.StatusOK {
			return
		}
		tally.Accepted()
		var want prompb.ReadRequest
		if proto.Unmarshal(raw, &want) != nil {
			return // gogo refuses what this decoder skips: fields it does not know
		}
		if rec.Header().Get("Content-Encoding") == "snappy" {
			require.Len(t, readSampled(t, rec), len(want.Queries))
		} else {
			readStreamed(t, rec, len(want.Queries))
		}
	})
}
