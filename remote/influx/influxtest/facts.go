// Package influxtest replays recorded facts about writing line protocol: what
// was sent, what was answered and which samples could be read afterwards. It
// knows no server: a caller says how to send a request and how to export
// samples.
//
// A fact whose deviation is not empty is one where varve differs by design; it
// is held to what the fact says of ours.
package influxtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Fact is one recorded exchange.
type Fact struct {
	ID       string    `json:"id"`
	Group    string    `json:"group"`
	Note     string    `json:"note"`
	Requests []Request `json:"requests"`
	Match    string    `json:"match"` // selects what the requests wrote
	Times    string    `json:"times"` // "ignore" where the server set them
	Series   []Series  `json:"series"`

	Deviation string   `json:"deviation"`  // why ours differ, empty if they do not
	OurStatus int      `json:"our_status"` // of the one request, 0 if as recorded
	OurSeries []Series `json:"our_series"` // nil if as recorded
}

// Request is one request of a fact and the answer to it.
type Request struct {
	Method     string            `json:"method"`
	Path       string            `json:"path"` // with its query
	Headers    map[string]string `json:"headers"`
	Body       string            `json:"body"`
	BodyBytes  []byte            `json:"body_b64"` // instead of Body
	Status     int               `json:"status"`
	CheckReply bool              `json:"check_reply"`
	Reply      string            `json:"reply"`
}

// Series is the samples of one series, or of a block of one.
type Series struct {
	Metric     map[string]string `json:"metric"`
	Values     []Value           `json:"values"`
	Timestamps []int64           `json:"timestamps"` // ms
}

// Value is a float64 which may be spelled as a text, "Infinity" say.
type Value float64

// UnmarshalJSON reads a number or the text of one.
func (v *Value) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*v = Value(f)
	return err
}

// Target is a server under test. Send returns status and body of the answer to
// a request whose URL has neither scheme nor host. Export returns all samples
// of the series which match a selector, in any order and in any number of
// blocks.
type Target struct {
	Send   func(*http.Request) (status int, body string, err error)
	Export func(match string) ([]Series, error)
}

// ReadFacts reads a file with one fact a line.
func ReadFacts(path string) ([]Fact, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var facts []Fact
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var f Fact
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return nil, fmt.Errorf("read fact %d of %s: %w", len(facts)+1, path, err)
		}
		facts = append(facts, f)
	}
	return facts, lines.Err()
}

// Send sends the fact's requests and checks the answers.
func (f *Fact) Send(to Target) error {
	for i, r := range f.Requests {
		var body io.Reader = strings.NewReader(r.Body)
		if r.BodyBytes != nil {
			body = bytes.NewReader(r.BodyBytes)
		}
		req, err := http.NewRequest(r.Method, r.Path, body)
		if err != nil {
			return err
		}
		for name, value := range r.Headers {
			req.Header.Set(name, value)
		}
		status, reply, err := to.Send(req)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		want := r.Status
		if f.OurStatus != 0 {
			want = f.OurStatus
		}
		if status != want {
			return fmt.Errorf("request %d: got status %d, want %d; it says %q", i, status, want, reply)
		}
		if r.CheckReply && f.OurStatus == 0 && reply != r.Reply {
			return fmt.Errorf("request %d: got reply %q, want %q", i, reply, r.Reply)
		}
	}
	return nil
}

// CheckStored checks which samples the requests left. All facts may be sent
// before the first is checked: they have names of their own.
func (f *Fact) CheckStored(in Target) error {
	if f.Match == "" {
		return nil
	}
	got, err := in.Export(f.Match)
	if err != nil {
		return fmt.Errorf("export %s: %w", f.Match, err)
	}
	want := f.Series
	if f.OurSeries != nil {
		want = f.OurSeries
	}
	ignoreTimes := f.Times == "ignore"
	if g, w := canonical(got, ignoreTimes), canonical(want, ignoreTimes); !slices.Equal(g, w) {
		return fmt.Errorf("got series\n\t%s\nwant\n\t%s", strings.Join(g, "\n\t"), strings.Join(w, "\n\t"))
	}
	return nil
}

// canonical spells out series, one a line: blocks joined, samples by time. Zeros
// of both signs are the same, as in the records.
func canonical(blocks []Series, ignoreTimes bool) []string {
	type sample struct {
		t int64
		v Value
	}
	samples := map[string][]sample{}
	for _, b := range blocks {
		name := spell(b.Metric)
		for i, v := range b.Values {
			s := sample{v: v + 0}
			if !ignoreTimes {
				s.t = b.Timestamps[i]
			}
			samples[name] = append(samples[name], s)
		}
	}
	var lines []string
	for name, ss := range samples {
		sort.SliceStable(ss, func(i, j int) bool { return ss[i].t < ss[j].t })
		lines = append(lines, fmt.Sprintf("%s %v", name, ss))
	}
	slices.Sort(lines)
	return lines
}

func spell(metric map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(metric)) {
		fmt.Fprintf(&b, "%q=%q ", name, metric[name])
	}
	return b.String()
}
