package influx

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const corpusPath = "../../../shared/influx/corpus.json.gz"

// corpusCase is one case of InfluxData's line protocol corpus.
type corpusCase struct {
	Input struct {
		Text        corpusText
		Precision   string
		DefaultTime int64 // of lines without a time
	}
	Output struct {
		Error  string
		Result []struct {
			Name string
			Tags []struct{ Key, Value corpusText }
			// A field's value is {"float": 1}, {"int": "2"} and so on.
			Fields []struct {
				Key   corpusText
				Value map[string]any
			}
			Time json.Number
		}
	}
}

// corpusText is a text, or bytes as base64 in an object.
type corpusText string

func (c *corpusText) UnmarshalJSON(b []byte) error {
	if b[0] != '{' {
		return json.Unmarshal(b, (*string)(c))
	}
	var o struct{ Binary []byte }
	err := json.Unmarshal(b, &o)
	*c = corpusText(o.Binary)
	return err
}

func readCorpus(t testing.TB) map[string]corpusCase {
	f, err := os.Open(corpusPath)
	if err != nil {
		t.Skipf("the line protocol corpus is not here: %v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	d := json.NewDecoder(z)
	d.UseNumber()
	var corpus struct{ Decode map[string]corpusCase }
	require.NoError(t, d.Decode(&corpus))
	return corpus.Decode
}

// A valid text of the corpus is taken and reads back; an invalid one is a 400
// naming a line; the same text has the same answer twice.
func TestCorpus(t *testing.T) {
	valid, invalid, outside := 0, 0, 0
	d := openDoor(t, Options{})
	for key, c := range readCorpus(t) {
		unit := strings.TrimPrefix(c.Input.Precision, "1")
		path := "/write?precision=" + url.QueryEscape(unit) + "&extra_label=" + caseLabel + "=" + key
		status, message := d.write(path, string(c.Input.Text))
		got := gotOfCorpus(d, key)
		status2, message2 := d.write(path, string(c.Input.Text))
		require.Equal(t, status, status2, key)
		require.Equal(t, message, message2, key)
		switch {
		case c.Output.Error != "":
			require.Equal(t, 400, status, "%s: %q is invalid: %s", key, c.Input.Text, c.Output.Error)
			require.Contains(t, message, "partial write: line ", key)
			invalid++
		case status == 400 && strings.Contains(message, "time is "):
			require.True(t, hasTimeOutside(c), "%s: %q: %s", key, c.Input.Text, message)
			outside++
		default:
			require.Equal(t, 204, status, "%s: %q: %s", key, c.Input.Text, message)
			require.Equal(t, wantOfCorpus(t, c), got, "%s: %q", key, c.Input.Text)
			valid++
		}
	}
	t.Logf("%d valid texts, %d invalid ones, %d with a time out of range", valid, invalid, outside)
	require.Equal(t, 268, valid+outside)
	require.Equal(t, 4, outside)
}

func hasTimeOutside(c corpusCase) bool {
	for _, p := range c.Output.Result {
		if ns, err := p.Time.Int64(); err == nil && (ns < 0 || ns/1e6 > endOfTests) {
			return true
		}
	}
	return false
}

// wantOfCorpus spells out the samples of a case, sorted. Where the text has no
// time, the server's takes the place of the corpus' default. The corpus writes
// zeros without a sign.
func wantOfCorpus(t *testing.T, c corpusCase) []string {
	type key struct{ series, time string }
	last := map[key]float64{}
	for _, p := range c.Output.Result {
		ns, err := p.Time.Int64()
		require.NoError(t, err)
		at := fmt.Sprint(floorDiv(ns, 1e6))
		unit, err := parsePrecision(strings.TrimPrefix(c.Input.Precision, "1"))
		require.NoError(t, err)
		asWritten := fmt.Sprintf(" %d", ns/int64(unit))
		if ns == c.Input.DefaultTime-c.Input.DefaultTime%int64(unit) && !strings.Contains(string(c.Input.Text), asWritten) {
			at = "now"
		}
		tags := map[string]string{}
		for _, tag := range p.Tags {
			tags[string(tag.Key)] = string(tag.Value)
		}
		delete(tags, "__name__")
		for _, f := range p.Fields {
			if v, ok := corpusValue(t, f.Value); ok {
				last[key{fmt.Sprintf("%q %q", p.Name+"_"+string(f.Key), tags), at}] = v
			}
		}
	}
	out := []string{}
	for k, v := range last {
		out = append(out, fmt.Sprintf("%s %s %x", plain(k.series), k.time, math.Float64bits(v+0)))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// plain drops all backslashes: the corpus unescapes by rules of its own, ours are
// the recorded facts'.
func plain(s string) string { return strings.ReplaceAll(s, `\`, "") }

func corpusValue(t *testing.T, v map[string]any) (float64, bool) {
	for kind, x := range v {
		switch kind {
		case "string":
			return 0, false
		case "bool":
			if x.(bool) {
				return 1, true
			}
			return 0, true
		case "uint":
			u, err := strconv.ParseUint(fmt.Sprint(x), 10, 64)
			require.NoError(t, err)
			return float64(u), true
		case "int":
			i, err := strconv.ParseInt(fmt.Sprint(x), 10, 64)
			require.NoError(t, err)
			return float64(i), true
		case "float":
			f, err := strconv.ParseFloat(fmt.Sprint(x), 64)
			require.NoError(t, err)
			return f, true
		}
	}
	t.Fatalf("unknown value %v", v)
	return 0, false
}

// caseLabel keeps the cases apart.
const caseLabel = "corpus_case"

func gotOfCorpus(d *door, key string) []string {
	out := []string{}
	for _, s := range d.all(fmt.Sprintf("{%s=%q}", caseLabel, key)) {
		tags := map[string]string{}
		for name, value := range s.lset.Map() {
			if name != "__name__" && name != caseLabel {
				tags[name] = value
			}
		}
		for _, p := range s.samples {
			at := fmt.Sprint(p.t)
			if p.t > startOfTests && p.t < endOfTests {
				at = "now"
			}
			series := plain(fmt.Sprintf("%q %q", s.lset.Get("__name__"), tags))
			out = append(out, fmt.Sprintf("%s %s %x", series, at, math.Float64bits(p.v+0)))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Between these times, 2024 and 2124 in milliseconds, all tests run and no time
// of the corpus lies.
const (
	startOfTests = 1_704_067_200_000
	endOfTests   = 4_859_740_800_000
)
