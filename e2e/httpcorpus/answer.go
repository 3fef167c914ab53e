package httpcorpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/varvedb/varve/e2e/harness"
)

// answer is what a server says: a status and JSON.
type answer struct {
	status int
	body   []byte
}

// sameness is how alike two answers are.
type sameness int

const (
	different sameness = iota
	equal              // byte by byte, up to the order of warnings and infos
	permuted           // the same samples of a vector in another order
)

// queryData is the payload of an answer.
type queryData struct {
	ResultType parser.ValueType `json:"resultType"`
	Result     json.RawMessage  `json:"result"`
}

// compare says how alike an answer of varve is to one of Prometheus, and why it
// is not; theirs was made of res, whose vector it puts in the order of ours.
func compare(ours, theirs answer, res *promql.Result) (sameness, error) {
	if ours.status != theirs.status {
		return different, fmt.Errorf("got status %d: %s, want %d: %s", ours.status, ours.body, theirs.status, theirs.body)
	}
	if bytes.Equal(ours.body, theirs.body) {
		return equal, nil
	}
	our, ourData, err := unmarshal(ours.body)
	if err != nil {
		return different, fmt.Errorf("varve's answer: %w", err)
	}
	their, theirData, err := unmarshal(theirs.body)
	if err != nil {
		return different, fmt.Errorf("the answer of Prometheus: %w", err)
	}
	mismatch := fmt.Errorf("got %s, want %s", ours.body, theirs.body)
	// The order of these is a Go map's in Prometheus.
	if our.Status != their.Status || our.ErrorType != their.ErrorType || our.Error != their.Error ||
		!sameTexts(our.Warnings, their.Warnings) || !sameTexts(our.Infos, their.Infos) {
		return different, mismatch
	}
	if bytes.Equal(our.Data, their.Data) {
		return equal, nil
	}
	v, ok := res.Value.(promql.Vector)
	if !ok || ourData.ResultType != theirData.ResultType {
		return different, mismatch
	}
	if !permute(v, ourData.Result, theirData.Result) {
		return different, mismatch
	}
	return permuted, nil
}

func unmarshal(body []byte) (e harness.Envelope, d queryData, err error) {
	if err = json.Unmarshal(body, &e); err != nil || len(e.Data) == 0 {
		return e, d, err
	}
	return e, d, json.Unmarshal(e.Data, &d)
}

func sameTexts(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// permute puts a vector, of which theirs is the JSON, in the order of ours. It
// tells whether that is possible, so that both are the same.
func permute(v promql.Vector, ours, theirs []byte) bool {
	var our, their []json.RawMessage
	if json.Unmarshal(ours, &our) != nil || json.Unmarshal(theirs, &their) != nil || len(our) != len(their) || len(v) != len(their) {
		return false
	}
	for i, text := range our {
		j := i
		for ; j < len(their) && !bytes.Equal(text, their[j]); j++ {
		}
		if j == len(their) {
			return false
		}
		their[i], their[j] = their[j], their[i]
		v[i], v[j] = v[j], v[i]
	}
	return true
}
