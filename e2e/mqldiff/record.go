package mqldiff

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
)

// record is a question and its answer, as it is kept.
type record struct {
	question
	Status int
	// Sum is that of a body that is compared as bytes, Body one that is not, or that
	// is an error.
	Sum  string `json:",omitempty"`
	Body string `json:",omitempty"`
}

func sumOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return base64.RawStdEncoding.EncodeToString(sum[:12])
}

// longestBody is how long bodies may be that are kept as they are.
const longestBody = 3000

// newRecord makes what is kept of an answer; ok is false if it is too long.
func newRecord(q question, a answer) (r record, ok bool) {
	r = record{question: q, Status: a.Status}
	if q.Loose == 0 && a.Status == 200 {
		r.Sum = sumOf(a.Body)
		return r, true
	}
	r.Body = a.Body
	return r, len(a.Body) <= longestBody
}

// differs says in what an answer is not the recorded one.
func (r *record) differs(got answer) string {
	if r.Sum == "" {
		return differs(r.Loose, got, answer{Status: r.Status, Body: r.Body})
	}
	if got.Status != r.Status || sumOf(got.Body) != r.Sum {
		return "another body than that with the sum " + r.Sum
	}
	return ""
}

func encodeRecords(all []record) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	lines := json.NewEncoder(z)
	lines.SetEscapeHTML(false)
	for _, r := range all {
		if err := lines.Encode(r); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func decodeRecords(file []byte) (all []record, err error) {
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	lines := json.NewDecoder(bufio.NewReader(z))
	for {
		var r record
		if err := lines.Decode(&r); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
}
