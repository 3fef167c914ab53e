package importer_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/importer"
)

// csvPath is where a table of a format is posted.
func csvPath(format string) string { return "/api/v1/import/csv?format=" + url.QueryEscape(format) }

func TestCSVForms(t *testing.T) {
	f := func(format, body string, want ...string) {
		t.Helper()
		h := importer.New(newModel(), importer.Options{Now: func() time.Time { return time.UnixMilli(7_000_000_000) }})
		rec := post(h, csvPath(format)+"&extra_label=zz=f&extra_label=gone=", body)
		require.Equal(t, http.StatusNoContent, rec.Code, rec.Body.String())
		var got []string
		for line := range strings.Lines(dump(h)) {
			line = strings.ReplaceAll(strings.TrimSpace(line), `,"zz":"f"}`, "}")
			got = append(got, strings.TrimPrefix(line, `{"metric":{"__name__":`))
		}
		require.Equal(t, want, got)
	}
	// A header, and only one.
	f("1:label:h,2:metric:m,3:time:unix_ms", "host,val,time\na,1,5\nb,2,6", `"m","h":"a"},"values":[1],"timestamps":[5]}`, `"m","h":"b"},"values":[2],"timestamps":[6]}`)
	f("1:metric:m,2:time:unix_ms", "\n# comment\n1,5\n", `"m"},"values":[1],"timestamps":[5]}`)
	f("1:metric:m,2:time:unix_ms", "x,\"never closed\n1,5\n", `"m"},"values":[1],"timestamps":[5]}`)
	// Quotes of both kinds, doubled ones, and those that are text.
	f("1:label:h,2:metric:m", `'it''s,"x"',1`, `"m","h":"it's,\"x\""},"values":[1],"timestamps":[7000000000]}`)
	f("1:label:h,2:metric:m", `"""a""b""",1`, `"m","h":"\"a\"b\""},"values":[1],"timestamps":[7000000000]}`)
	f("1:label:h,2:label:gone,3:metric:m", `a"b",x,1,"more",`, `"m","h":"a\"b\""},"values":[1],"timestamps":[7000000000]}`)
	f("1:label:h,2:metric:m", `"","1"`, `"m"},"values":[1],"timestamps":[7000000000]}`)
	// Columns in any order and with gaps, of which the first is 1.
	f("5:time:unix_ms,3:metric:m", "a,b,1,c,5\r\n,,2,,6\r\n\r\n", `"m"},"values":[1,2],"timestamps":[5,6]}`)
	f("01:metric:m", "1", `"m"},"values":[1],"timestamps":[7000000000]}`)
	// Several metrics; empty cells are none.
	f("1:metric:m,2:metric:n,3:time:unix_ms", "1,,5\n,2,6\n,,7\nNaN,3,8", `"m"},"values":[1],"timestamps":[5]}`, `"n"},"values":[2,3],"timestamps":[6,8]}`)
	// The later of equal labels counts, __name__ too.
	f("1:label:h,2:label:h,3:metric:m", "a,b,1\na,,2", `"m","h":"a"},"values":[2],"timestamps":[7000000000]}`, `"m","h":"b"},"values":[1],"timestamps":[7000000000]}`)
	f("1:label:__name__,2:metric:m", "n,1\n,2", `"m"},"values":[2],"timestamps":[7000000000]}`, `"n"},"values":[1],"timestamps":[7000000000]}`)
	f("1:metric:m:n", "1", `"m:n"},"values":[1],"timestamps":[7000000000]}`)
	f("1:metric:m,2:time:unix_ms", "inf,5\n-Infinity,6\n-0,7\n.5,8\n1e3,9", `"m"},"values":["Infinity","-Infinity",-0,0.5,1000],"timestamps":[5,6,7,8,9]}`)
	// Times.
	f("1:time:unix_s,2:metric:m", "1749938400,1", `"m"},"values":[1],"timestamps":[1749938400000]}`)
	f("1:time:unix_s,2:metric:m", "0,1\n,2", `"m"},"values":[2],"timestamps":[7000000000]}`)
	f("1:time:unix_ns,2:metric:m", "1749938400123999999,1", `"m"},"values":[1],"timestamps":[1749938400123]}`)
	f("1:time:rfc3339,2:metric:m", "2025-06-14T22:00:00.1239+02:00,1", `"m"},"values":[1],"timestamps":[1749931200123]}`)
	f("1:time:custom:2006-01-02 15:04,2:metric:m", "2025-06-14 22:00,1", `"m"},"values":[1],"timestamps":[1749938400000]}`)
	f("1:time:custom:02/Jan/2006:15:04:05 -0700,2:metric:m", "14/Jun/2025:22:00:00 +0200,1", `"m"},"values":[1],"timestamps":[1749931200000]}`)
}

func TestCSVFormatsThatAreNone(t *testing.T) {
	f := func(format, want string) {
		t.Helper()
		m := newModel()
		rec := post(importer.New(m, importer.Options{}), csvPath(format), "1,2")
		require.Equal(t, http.StatusBadRequest, rec.Code)
		require.Contains(t, rec.Body.String(), "argument format: "+want)
		require.Empty(t, m.series)
	}
	f("", `column "": want POSITION:metric:NAME, POSITION:label:NAME or POSITION:time:FORMAT`)
	f("1:foo:bar", `column "1:foo:bar": want metric, label or time, got "foo"`)
	f("1:metric:m,", `column "": want POSITION`)
	f(" 1:metric:m", `column " 1:metric:m": the position must be a number from 1 to 65536, got " 1"`)
	f("0:metric:m", `column "0:metric:m": the position must be`)
	f("65537:metric:m", `column "65537:metric:m": the position must be`)
	f("1:metric:", `column "1:metric:": the metric has no name`)
	f("1:label:,2:metric:m", `column "1:label:": the label has no name`)
	f("1:time:unix,2:metric:m", `column "1:time:unix": want the time as unix_s, unix_ms, unix_ns, rfc3339 or custom:LAYOUT, got "unix"`)
	f("1:metric:m,1:label:x", "column 1 comes twice")
	f("1:time:unix_s,2:time:unix_s,3:metric:m", "2 columns are the time, want at most one")
	f("1:label:x", `no column is a metric, got "1:label:x"`)
	rec := post(importer.New(newModel(), importer.Options{}), csvPath("1:metric:m")+"&extra_label=x", "1")
	require.Equal(t, http.StatusBadRequest, rec.Code)
}

func TestCSVBadLines(t *testing.T) {
	m := newModel()
	h := importer.New(m, importer.Options{MaxLineBytes: 60})
	format := "1:label:h,2:metric:m,3:metric:n,4:time:unix_s"
	rec := post(h, csvPath(format), `host,m,n,time
a,1,2,5
a,1,x,5
b,1,2,5.5
c,1,2
d,1,2,9223372036854775807
"e,1,2,5
"f"g,1,2,5
h,1e999,2,5
i,1,2,-5
jjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjj,1,2,5
k,3,4,5
`+"\xff,3,4,5\n")
	require.Equal(t, http.StatusBadRequest, rec.Code)
	require.Equal(t, `10 bad lines, the others were stored
line 3: column 3: value "x" is not a number: "a,1,x,5"
line 4: column 4: time "5.5" is not a whole number: "b,1,2,5.5"
line 5: it has 3 columns, the format needs 4: "c,1,2"
line 6: column 4: time "9223372036854775807" is out of range: "d,1,2,9223372036854775807"
line 7: column 1: a quoted text is not closed on its line: "\"e,1,2,5"
line 8: column 1: "g" after a closing quote, want a comma: "\"f\"g,1,2,5"
line 9: column 2: value "1e999" is beyond the range of a float64: "h,1e999,2,5"
line 10: time is before 1970: "i,1,2,-5"
line 11: its labels, once for each of 2 metrics, have 84 bytes (limit: 60 bytes): "jjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjj,1,2,5"
line 13: label "h" is not valid UTF-8: "\xff,3,4,5"
`, rec.Body.String())
	require.Equal(t, `{"metric":{"__name__":"m","h":"a"},"values":[1],"timestamps":[5000]}
{"metric":{"__name__":"m","h":"k"},"values":[3],"timestamps":[5000]}
{"metric":{"__name__":"n","h":"a"},"values":[2],"timestamps":[5000]}
{"metric":{"__name__":"n","h":"k"},"values":[4],"timestamps":[5000]}
`, dump(h))

	rec = post(h, csvPath("1:metric:m"), "1\n"+strings.Repeat("x", 61)+"\n2\n")
	require.Equal(t, http.StatusBadRequest, rec.Code)
	require.Contains(t, rec.Body.String(), "line 2 exceeds the limit of 60 bytes; the lines before it were stored")

	m.failWith = fmt.Errorf("short of memory")
	require.Equal(t, http.StatusInternalServerError, post(h, csvPath("1:metric:m"), "1\n").Code)
}

// A table is stored batch by batch while it comes in.
func TestCSVIsStreamed(t *testing.T) {
	m := newModel()
	h := importer.New(m, importer.Options{BatchSamples: 10})
	body, send := io.Pipe()
	go func() {
		for i := range 1000 {
			fmt.Fprintf(send, "%d,%d\n", i, 5000+i)
			if i == 999 {
				m.mu.Lock()
				stored := len(m.commits)
				m.mu.Unlock()
				if stored == 0 {
					send.CloseWithError(fmt.Errorf("nothing is stored yet"))
				}
			}
		}
		send.Close()
	}()
	rec := serve(h, http.MethodPost, csvPath("1:metric:m,2:time:unix_ms"), body, nil)
	require.Equal(t, http.StatusNoContent, rec.Code, rec.Body.String())
	require.Len(t, m.commits, 100)
}

func TestCSVEncodings(t *testing.T) {
	for encoding, encode := range encoders() {
		h := importer.New(newModel(), importer.Options{})
		packed := encode([]byte(strings.Repeat("1,5000\n", 1000) + "2,6000"))
		rec := serve(h, http.MethodPost, csvPath("1:metric:m,2:time:unix_ms"), strings.NewReader(string(packed)), map[string]string{"Content-Encoding": encoding})
		require.Equal(t, http.StatusNoContent, rec.Code, rec.Body.String())
		require.Equal(t, `{"metric":{"__name__":"m"},"values":[1,2],"timestamps":[5000,6000]}`+"\n", dump(h), encoding)
	}
}

func BenchmarkImportCSV(b *testing.B) {
	body := strings.Repeat(`GET,/api/v1/query,"10.0.0.1:9090",123456,1749938400000`+"\n", 1000)
	h := importer.New(nullStore{}, importer.Options{})
	path := csvPath("1:label:method,2:label:path,3:label:instance,4:metric:http_requests_total,5:time:unix_ms")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		serve(h, http.MethodPost, path, strings.NewReader(body), nil)
	}
}
