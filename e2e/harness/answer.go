package harness

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Answer is the answer to a query, made to be compared: two servers that answer
// the same differ in no field, however they space and order their JSON.
type Answer struct {
	Status    int
	ErrorType string
	Error     string
	Type      string // vector, matrix, scalar or string
	// Series holds a line for each series, sorted: its labels, then time and
	// value of each point as they were spelled. A histogram is its JSON.
	Series   []string
	Warnings []string
	Infos    []string
}

// ParseAnswer decodes the answer to a query, also one that says why it failed.
func ParseAnswer(status int, body []byte) (Answer, error) {
	var e Envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return Answer{}, fmt.Errorf("answer with status %d, %.200q: %w", status, body, err)
	}
	a := Answer{Status: status, ErrorType: e.ErrorType, Error: e.Error, Warnings: e.Warnings, Infos: e.Infos}
	slices.Sort(a.Warnings)
	slices.Sort(a.Infos)
	if len(e.Data) == 0 || string(e.Data) == "null" {
		return a, nil
	}
	var data struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return Answer{}, fmt.Errorf("data %.200q: %w", e.Data, err)
	}
	a.Type = data.ResultType
	if a.Type == "scalar" || a.Type == "string" {
		point, err := compactJSON(data.Result)
		a.Series = []string{point}
		return a, err
	}
	var series []map[string]json.RawMessage
	if err := json.Unmarshal(data.Result, &series); err != nil {
		return Answer{}, fmt.Errorf("result %.200q: %w", data.Result, err)
	}
	for _, s := range series {
		line, err := compactJSON(s["metric"])
		if err != nil {
			return Answer{}, err
		}
		for _, name := range []string{"value", "values", "histogram", "histograms"} {
			if raw, ok := s[name]; ok {
				points, err := compactJSON(raw)
				if err != nil {
					return Answer{}, err
				}
				line += " " + name + " " + points
			}
		}
		a.Series = append(a.Series, line)
	}
	slices.Sort(a.Series)
	return a, nil
}

// compactJSON spells a value in one way: object keys sorted, no spaces, numbers
// as they were.
func compactJSON(raw json.RawMessage) (string, error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", fmt.Errorf("value %.200q: %w", raw, err)
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// Diff says in what got differs from a, "" if in nothing. The texts of errors
// count.
func (a Answer) Diff(got Answer) string {
	switch {
	case a.Status != got.Status:
		return fmt.Sprintf("status %d (%.300s), want %d (%.300s)", got.Status, got.Error, a.Status, a.Error)
	case a.ErrorType != got.ErrorType:
		return fmt.Sprintf("error type %q, want %q", got.ErrorType, a.ErrorType)
	case a.Error != got.Error:
		return fmt.Sprintf("error %q, want %q", got.Error, a.Error)
	case a.Type != got.Type:
		return fmt.Sprintf("result type %q, want %q", got.Type, a.Type)
	}
	for _, part := range []struct {
		what      string
		want, got []string
	}{{"series", a.Series, got.Series}, {"warnings", a.Warnings, got.Warnings}, {"infos", a.Infos, got.Infos}} {
		for i := range max(len(part.want), len(part.got)) {
			switch {
			case i >= len(part.want):
				return fmt.Sprintf("%s: %.300s, which is too much", part.what, part.got[i])
			case i >= len(part.got):
				return fmt.Sprintf("%s: %.300s is missing", part.what, part.want[i])
			case part.want[i] != part.got[i]:
				return part.what + ": " + firstDifference(part.want[i], part.got[i])
			}
		}
	}
	return ""
}

// firstDifference shows two texts from shortly before they part.
func firstDifference(want, got string) string {
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	from := max(0, at-60)
	return fmt.Sprintf("%.100s: got ...%.160s, want ...%.160s", want, got[from:], want[from:])
}
