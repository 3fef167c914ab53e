package tsbs

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

//go:embed testdata/answers.tsv.gz
var recorded []byte

// Answer is what VictoriaMetrics answered to a question.
type Answer struct {
	Type string
	Path string
	// Sum is [Sum] of the body, "" where nobody knows it.
	Sum string
}

// Answers returns the recorded answers to the first 1,000 questions of each of
// TSBS' eleven types, over the data of the zero [Options].
func Answers() ([]Answer, error) {
	z, err := gzip.NewReader(bytes.NewReader(recorded))
	if err != nil {
		return nil, err
	}
	return ReadAnswers(z)
}

// ReadAnswers reads lines of type, number, sum of the body, its length and path, or of
// type and path alone, separated by tabs.
func ReadAnswers(r io.Reader) ([]Answer, error) {
	var out []Answer
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		switch fields := strings.Split(lines.Text(), "\t"); len(fields) {
		case 2:
			out = append(out, Answer{Type: fields[0], Path: fields[1]})
		case 5:
			out = append(out, Answer{Type: fields[0], Sum: fields[2], Path: fields[4]})
		default:
			return nil, fmt.Errorf("line %d has %d fields, want 2 or 5", len(out)+1, len(fields))
		}
	}
	return out, lines.Err()
}

// Sum returns the SHA-256 of an answer's body without its statistics, which tell of
// the time that it took.
func Sum(body []byte) string {
	h := sha256.New()
	if i := bytes.LastIndex(body, []byte(`,"stats":{`)); i >= 0 {
		if n := bytes.IndexByte(body[i:], '}'); n >= 0 {
			h.Write(body[:i])
			body = body[i+n+1:]
		}
	}
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}
