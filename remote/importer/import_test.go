package importer_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/importer"
)

var staleNaN = math.Float64frombits(value.StaleNaN)

func labelsOf(m map[string]string) labels.Labels { return labels.FromMap(m) }

const jsonPath, textPath = "/api/v1/import", "/api/v1/import/prometheus"

// dump prints what the model holds.
func dump(h *importer.Handler) string {
	return get(h, `/api/v1/export?match[]={__name__!=""}`).Body.String()
}

func TestBadLinesAreNamedAndNeighboursKept(t *testing.T) {
	m := newModel()
	h := importer.New(m, importer.Options{})
	rec := post(h, textPath, "good_a 1 5000000000\nbad{ 1\n# comment\n\ngood_b 2 5000000000\nbad_value x 5000000000\nold 1 -5000000000\n")
	require.Equal(t, http.StatusBadRequest, rec.Code)
	require.Equal(t, `3 bad lines, the others were stored
line 2: label "1" has no value: "bad{ 1"
line 6: value "x" is not a number: "bad_value x 5000000000"
line 7: time is before 1970: "old 1 -5000000000"
`, rec.Body.String())
	require.Equal(t, `{"metric":{"__name__":"good_a"},"values":[1],"timestamps":[5000000000]}
{"metric":{"__name__":"good_b"},"values":[2],"timestamps":[5000000000]}
`, dump(h))

	m = newModel()
	h = importer.New(m, importer.Options{})
	rec = post(h, jsonPath, `{"metric":{"__name__":"a"},"values":[1,2],"timestamps":[-1,2]}`+"\n"+strings.Repeat("{\n", 150))
	require.Equal(t, http.StatusBadRequest, rec.Code)
	require.Contains(t, rec.Body.String(), "151 bad lines")
	require.Contains(t, rec.Body.String(), "line 100: ")
	require.NotContains(t, rec.Body.String(), "line 101: ")
	require.True(t, strings.HasSuffix(rec.Body.String(), "\nand 51 more\n"))
	require.Contains(t, dump(h), `"values":[2],"timestamps":[2]`, "the good sample of a line is kept")
}

func TestReasons(t *testing.T) {
	h := importer.New(newModel(), importer.Options{MaxLineBytes: 2000})
	cases := []struct{ path, line, want string }{
		{jsonPath, `{"metric":{"__name__":"a"},"values":[1],"timestamps":[1]} x`, "something follows the object"},
		{jsonPath, `{"metric":{"__name__":"a"},"values":[1]}`, `member "timestamps" is missing`},
		{jsonPath, `{"metric":{"__name__":"a"},"values":[1,2],"timestamps":[1]}`, "2 values but 1 timestamps"},
		{jsonPath, `{"metric":{"__name__":"a"},"values":[1e400],"timestamps":[1]}`, "beyond the range of a float64"},
		{jsonPath, `{"metric":{"__name__":"a"},"values":[01],"timestamps":[1]}`, `',' expected`},
		{jsonPath, `{"metric":{"__name__":"a"},"values":[1],"timestamps":[9223372036854775808]}`, "not a whole number of milliseconds"},
		{jsonPath, `{"metric":{"__name__":"\ud800"},"values":[1],"timestamps":[1]}`, "half a surrogate pair"},
		{jsonPath, `{"metric":{"__name__":"` + "\xff\xfe" + `"},"values":[1],"timestamps":[1]}`, "not valid UTF-8"},
		{jsonPath, `{"metric":{"__name__":"a","":"x"},"values":[1],"timestamps":[1]}`, "a label has no name"},
		{jsonPath, `{"x":` + strings.Repeat("[", 1000) + `}`, "nested too deeply"},
		{jsonPath, `{"metric":{"__name__":"a` + "\t" + `"},"values":[1],"timestamps":[1]}`, "a control character in a string"},
		{textPath, `a{b="c} 1`, "a quoted text is not closed"},
		{textPath, `a{b="c" d="e"} 1`, "a comma or closing brace is missing"},
		{textPath, `a{="c"} 1`, "a label has no name"},
		{textPath, `a{__name__="c"} 1`, "into label __name__"},
		{textPath, "a{b=\"\xff\"} 1", "not valid UTF-8"},
		{textPath, `a`, "the value is missing"},
		{textPath, `a 1e999`, "beyond the range"},
		{textPath, `a 1_000`, "is not a number"},
		{textPath, `a 1 9e99`, "out of range"},
		{textPath, `a 1 2 3`, `"3" after the time`},
	}
	for _, c := range cases {
		rec := post(h, c.path, c.line+"\n")
		require.Equal(t, http.StatusBadRequest, rec.Code, c.line)
		require.Contains(t, rec.Body.String(), c.want, c.line)
	}
	require.Empty(t, dump(h))
}

func TestTextForms(t *testing.T) {
	h := importer.New(newModel(), importer.Options{Now: func() time.Time { return time.UnixMilli(7_000_000_000) }})
	rec := post(h, textPath+`?extra_label=e=f&extra_label=gone=`, `
{"utf.8 name","a.b"="c",plain="d",gone="x"} 1 5000000000
  led_by_blanks	-0 5000000001 # comment
braced{} 3 5000000001# {trace="x"} 1 2
esc{p="C:\\dir\q\"x\"\n"} 1.5e-3 5000000.25
no_time +inf # comment
no_time_either 2 0
nan NaN 5000000000`+"\r\n")
	require.Equal(t, http.StatusNoContent, rec.Code, rec.Body.String())
	require.Equal(t, `{"metric":{"__name__":"braced","e":"f"},"values":[3],"timestamps":[5000000001]}
{"metric":{"__name__":"esc","e":"f","p":"C:\\dir\\q\"x\"\n"},"values":[0.0015],"timestamps":[5000000250]}
{"metric":{"__name__":"led_by_blanks","e":"f"},"values":[-0],"timestamps":[5000000001]}
{"metric":{"__name__":"no_time","e":"f"},"values":["Infinity"],"timestamps":[7000000000]}
{"metric":{"__name__":"no_time_either","e":"f"},"values":[2],"timestamps":[7000000000]}
{"metric":{"__name__":"utf.8 name","a.b":"c","e":"f","plain":"d"},"values":[1],"timestamps":[5000000000]}
`, dump(h))
}

func TestPushgatewayPaths(t *testing.T) {
	cases := []struct{ path, want string }{
		{"/metrics/job/j", `{__name__="m", job="j"}`},
		{"/metrics/job/j%2F1/instance/a%20b/", `{__name__="m", instance="a b", job="j/1"}`},
		{"/metrics/job/j/path@base64/L3Zhci90bXA", `{__name__="m", job="j", path="/var/tmp"}`},
		{"/metrics/job@base64/ag==/x@base64/=", `{__name__="m", job="j"}`},
		{"/metrics/job", ""}, {"/metrics/instance/i/job/j", ""}, {"/metrics/job/j/x", ""}, {"/metrics/job@base64/*", ""},
	}
	for _, c := range cases {
		m := newModel()
		rec := post(importer.New(m, importer.Options{}), textPath+c.path, "m 1 5\n")
		if c.want == "" {
			require.Equal(t, http.StatusBadRequest, rec.Code, c.path)
			require.Contains(t, rec.Body.String(), "path of labels", c.path)
			continue
		}
		require.Contains(t, []int{http.StatusOK, http.StatusNoContent}, rec.Code, c.path)
		require.Len(t, m.series, 1)
		require.Contains(t, m.series, c.want)
	}
	require.Equal(t, http.StatusBadRequest, post(importer.New(newModel(), importer.Options{}), textPath+"?extra_label=x", "m 1 5").Code)
	require.Equal(t, http.StatusBadRequest, post(importer.New(newModel(), importer.Options{}), textPath+"?timestamp=x", "m 1 5").Code)
}

func TestJSONForms(t *testing.T) {
	h := importer.New(newModel(), importer.Options{})
	rec := post(h, jsonPath, ` { "timestamps" : [ 1 , 2,3,4 ] , "other":{"a":[1,true,false,null,"x",{}]}, "values":["+Inf",null,-0,1e3], "metric":{"__name__":"\u00e9\ud83d\ude00\/\b","a":"1","a":"2"}}`+"\n")
	require.Equal(t, http.StatusNoContent, rec.Code, rec.Body.String())
	require.Equal(t, `{"metric":{"__name__":"é😀/\u0008","a":"2"},"values":["Infinity",-0,1000],"timestamps":[1,3,4]}`+"\n", dump(h))
}

func TestBatches(t *testing.T) {
	m := newModel()
	h := importer.New(m, importer.Options{BatchSamples: 10})
	var body strings.Builder
	for i := range 23 {
		fmt.Fprintf(&body, "m 1 %d\n", 5_000_000_000+i)
	}
	require.Equal(t, http.StatusNoContent, post(h, textPath, body.String()).Code)
	require.Equal(t, []int{10, 10, 3}, m.commits)

	m.commits = nil
	line := `{"metric":{"__name__":"j"},"values":[` + strings.Repeat("1,", 24) + `1],"timestamps":[` + strings.Repeat("1,", 24) + "1]}\n"
	require.Equal(t, http.StatusNoContent, post(h, jsonPath, line).Code)
	require.Equal(t, []int{10, 10, 5}, m.commits)
	require.Zero(t, m.discards)
}

func TestStoreErrors(t *testing.T) {
	m := newModel()
	m.failWith, m.failFrom = errors.New("too many series"), 2
	var seen error
	h := importer.New(m, importer.Options{WriteError: func(w http.ResponseWriter, err error) {
		seen = err
		w.WriteHeader(http.StatusTooManyRequests)
	}})
	rec := post(h, textPath, "a 1 5\nb 1 5\nc 1 5\n")
	require.Equal(t, http.StatusTooManyRequests, rec.Code)
	require.ErrorIs(t, seen, m.failWith)
	require.Equal(t, 1, m.discards)
	require.Empty(t, m.commits)
	require.Equal(t, http.StatusInternalServerError, post(importer.New(m, importer.Options{}), textPath, "a 1 5\nb 1 5\nc 1 5\n").Code)
}

func encoders() map[string]func([]byte) []byte {
	through := func(w io.WriteCloser, out *bytes.Buffer, b []byte) []byte {
		_, _ = w.Write(b)
		_ = w.Close()
		return out.Bytes()
	}
	return map[string]func([]byte) []byte{
		"":         func(b []byte) []byte { return b },
		"identity": func(b []byte) []byte { return b },
		"gzip":     func(b []byte) []byte { var out bytes.Buffer; return through(gzip.NewWriter(&out), &out, b) },
		"deflate":  func(b []byte) []byte { var out bytes.Buffer; return through(zlib.NewWriter(&out), &out, b) },
		"zstd": func(b []byte) []byte {
			var out bytes.Buffer
			w, _ := zstd.NewWriter(&out)
			return through(w, &out, b)
		},
		"snappy": func(b []byte) []byte { return snappy.Encode(nil, b) },
	}
}

func TestEncodings(t *testing.T) {
	body := []byte(strings.Repeat("m 1 5000000000\n", 1000) + "last 2 5000000000")
	for encoding, encode := range encoders() {
		t.Run("encoding "+encoding, func(t *testing.T) {
			h := importer.New(newModel(), importer.Options{})
			header := map[string]string{"Content-Encoding": encoding}
			packed := encode(body)
			rec := serve(h, http.MethodPost, textPath, bytes.NewReader(packed), header)
			require.Equal(t, http.StatusNoContent, rec.Code, rec.Body.String())
			require.Contains(t, dump(h), `"last"`)
			if encoding == "" || encoding == "identity" {
				return
			}
			h = importer.New(newModel(), importer.Options{})
			rec = serve(h, http.MethodPost, textPath, bytes.NewReader(packed[:len(packed)-7]), header)
			require.Equal(t, http.StatusBadRequest, rec.Code)
			require.NotContains(t, dump(h), `"last"`)
			rec = serve(h, http.MethodPost, textPath, strings.NewReader("garbage"), header)
			require.Equal(t, http.StatusBadRequest, rec.Code)
		})
	}
	rec := serve(importer.New(newModel(), importer.Options{}), http.MethodPost, textPath, bytes.NewReader(body), map[string]string{"Content-Encoding": "br"})
	require.Equal(t, http.StatusUnsupportedMediaType, rec.Code)
	require.Contains(t, rec.Body.String(), `"br"`)
}

// A body that breaks off keeps its whole lines; the cut one could be anything.
func TestHalfSentBody(t *testing.T) {
	h := importer.New(newModel(), importer.Options{})
	cut := io.MultiReader(strings.NewReader("a 1 5000000000\nbad\nb 12"), iotest.ErrReader(io.ErrUnexpectedEOF))
	rec := serve(h, http.MethodPost, textPath, cut, nil)
	require.Equal(t, http.StatusBadRequest, rec.Code)
	require.Contains(t, rec.Body.String(), "read line 3: unexpected EOF; the lines before it were stored\n1 bad line")
	require.Equal(t, `{"metric":{"__name__":"a"},"values":[1],"timestamps":[5000000000]}`+"\n", dump(h))
}

func TestLongLines(t *testing.T) {
	h := importer.New(newModel(), importer.Options{MaxLineBytes: 100})
	fits := `fits{l="` + strings.Repeat("x", 100-12-11) + `"} 1 5000000000`
	require.Len(t, fits, 100)
	require.Equal(t, http.StatusNoContent, post(h, textPath, fits+"\n"+fits).Code)
	rec := post(h, textPath, "before 1 5000000000\n"+fits+"0\nafter 1 5000000000\n")
	require.Equal(t, http.StatusBadRequest, rec.Code)
	require.Contains(t, rec.Body.String(), "line 2 exceeds the limit of 100 bytes; the lines before it were stored")
	require.Contains(t, dump(h), "before")
	require.NotContains(t, dump(h), "after")

	// A gigabyte of zeros costs neither memory nor, beyond the limit, time.
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, err := io.CopyN(w, zeros{}, 64<<20)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	allocated := testing.AllocsPerRun(1, func() {
		rec := serve(h, http.MethodPost, textPath, bytes.NewReader(bomb.Bytes()), map[string]string{"Content-Encoding": "gzip"})
		require.Equal(t, http.StatusBadRequest, rec.Code)
	})
	require.Less(t, allocated, 1000.0)
	rec = serve(importer.New(newModel(), importer.Options{MaxSnappyBytes: 1000}), http.MethodPost, textPath,
		bytes.NewReader([]byte{0xff, 0xff, 0xff, 0x7f, 0, 0}), map[string]string{"Content-Encoding": "snappy"})
	require.Equal(t, http.StatusBadRequest, rec.Code)
	require.Contains(t, rec.Body.String(), "1000")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func BenchmarkImportText(b *testing.B) {
	body := []byte(strings.Repeat(`http_requests_total{method="GET",path="/api/v1/query",instance="10.0.0.1:9090"} 123456 1749938400000`+"\n", 1000))
	h := importer.New(nullStore{}, importer.Options{})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		serve(h, http.MethodPost, textPath, bytes.NewReader(body), nil)
	}
}

func BenchmarkImportJSON(b *testing.B) {
	line := `{"metric":{"__name__":"m","job":"a"},"values":[` + strings.Repeat("1.25,", 999) + `1],"timestamps":[` + strings.Repeat("1749938400000,", 999) + "1]}\n"
	h := importer.New(nullStore{}, importer.Options{})
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		serve(h, http.MethodPost, jsonPath, strings.NewReader(line), nil)
	}
}
