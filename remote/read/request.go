package read

import (
	"fmt"
	"io"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"

	"github.com/varvedb/varve/remote/internal/wire"
)

// request is what is used of a prometheus.ReadRequest.
type request struct {
	responseType prompb.ReadRequest_ResponseType
	queries      []query
}

// query asks for the samples of the matching series in [mint, maxt].
type query struct {
	mint, maxt int64
	matchers   []*labels.Matcher
}

// empty tells whether nothing can be found: the range is empty or, as in
// Prometheus, there is no matcher.
func (q query) empty() bool { return q.mint > q.maxt || len(q.matchers) == 0 }

// readRequest reads a snappy block and decodes it. The claimed size is checked
// before anything of that size is allocated. All errors are the client's.
func readRequest(body io.Reader, limit int) (request, error) {
	maxEncoded := snappy.MaxEncodedLen(limit)
	compressed, err := io.ReadAll(io.LimitReader(body, int64(maxEncoded)+1))
	if err != nil {
		return request{}, fmt.Errorf("read remote read request: %w", err)
	}
	if len(compressed) > maxEncoded {
		return request{}, fmt.Errorf("read remote read request: body exceeds %d bytes, the most that decodes to the limit of %d bytes", maxEncoded, limit)
	}
	raw, err := wire.Decode(wire.Snappy, nil, compressed, limit)
	if err != nil {
		return request{}, fmt.Errorf("decode remote read request of at most %d bytes: %w", limit, err)
	}
	decoded, err := decodeRequest(raw)
	if err != nil {
		return request{}, fmt.Errorf("decode remote read request: %w", err)
	}
	return decoded.resolve()
}

// resolve compiles the matchers and settles the response type.
func (r *wireRequest) resolve() (request, error) {
	out := request{queries: make([]query, len(r.queries))}
	var err error
	if out.responseType, err = negotiate(r.accepted); err != nil {
		return request{}, err
	}
	for i, q := range r.queries {
		out.queries[i] = query{mint: q.mint, maxt: q.maxt, matchers: make([]*labels.Matcher, len(q.matchers))}
		for j, m := range q.matchers {
			if out.queries[i].matchers[j], err = m.compile(); err != nil {
				return request{}, err
			}
		}
	}
	return out, nil
}

// negotiate returns the first accepted type that is known. No type at all means
// SAMPLES, the only one there was before there was a list.
func negotiate(accepted []int32) (prompb.ReadRequest_ResponseType, error) {
	if len(accepted) == 0 {
		return prompb.ReadRequest_SAMPLES, nil
	}
	for _, t := range accepted {
		switch t := prompb.ReadRequest_ResponseType(t); t {
		case prompb.ReadRequest_SAMPLES, prompb.ReadRequest_STREAMED_XOR_CHUNKS:
			return t, nil
		}
	}
	return 0, fmt.Errorf("server does not support any of the requested response types: %v; supported: SAMPLES (0), STREAMED_XOR_CHUNKS (1)", accepted)
}

func (m wireMatcher) compile() (*labels.Matcher, error) {
	var typ labels.MatchType
	switch prompb.LabelMatcher_Type(m.typ) {
	case prompb.LabelMatcher_EQ:
		typ = labels.MatchEqual
	case prompb.LabelMatcher_NEQ:
		typ = labels.MatchNotEqual
	case prompb.LabelMatcher_RE:
		typ = labels.MatchRegexp
	case prompb.LabelMatcher_NRE:
		typ = labels.MatchNotRegexp
	default:
		return nil, fmt.Errorf("invalid matcher type %d for label %q", m.typ, m.name)
	}
	matcher, err := labels.NewMatcher(typ, m.name, m.value)
	if err != nil {
		return nil, fmt.Errorf("compile matcher of label %q: %w", m.name, err)
	}
	return matcher, nil
}
