package influx

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

const at = 1700000000 // a time in seconds; N in comments

// A bad line costs itself only, and the answer names it.
func TestBadLines(t *testing.T) {
	d := openDoor(t, Options{})
	f := func(body, want string) {
		t.Helper()
		status, message := d.write("/write", body)
		require.Equal(t, 400, status)
		var answer struct{ Error, Code, Message string }
		require.NoError(t, json.Unmarshal([]byte(message), &answer))
		require.Equal(t, "partial write: "+want, answer.Error)
		require.Equal(t, answer.Error, answer.Message)
		require.Equal(t, "invalid", answer.Code)
	}
	f("m v=1\nm v=x\nm v=2", `line 2: unable to parse 'm v=x': neither a number, a boolean nor a quoted string "x"; dropped=1`)
	f("m\n\n# c\nm,a v=1\r\n", `line 1: unable to parse 'm': no fields; `+
		`line 4: unable to parse 'm,a v=1`+"\r"+`': no equals sign after tag "a"; dropped=2`)
	f("m v=\"1\n2\n3\",w=2\nm v", `line 4: unable to parse 'm v': no equals sign after field "v"; dropped=1`)
	f(",a=b v=1", `line 1: unable to parse ',a=b v=1': no measurement where the line starts with ","; dropped=1`)
	f("m,a=1,a=2 v=1", `line 1: unable to parse 'm,a=1,a=2 v=1': a second value for tag "a"; dropped=1`)
	f("m,\xff=1 v=1", "line 1: unable to parse 'm,\ufffd=1 v=1': invalid UTF-8 \"\\xff\"; dropped=1")
	f("m v= 1", `line 1: unable to parse 'm v= 1': no value for field "v"; dropped=1`)
	f("m v=1 1.5", `line 1: unable to parse 'm v=1 1.5': time is not an integer "1.5"; dropped=1`)
	f("m v=1 1 2", `line 1: unable to parse 'm v=1 1 2': unexpected text after the time; dropped=1`)
	f("m v=1 99999999999999999999\nm v=1", `line 1: unable to parse 'm v=1 99999999999999999999': `+
		`time is not an integer of 64 bits "99999999999999999999"; dropped=1`)
	many := "m"
	for i := range 2 * fewTags {
		many += fmt.Sprintf(",t%d=%d", i, i)
	}
	f(many+",t5=1 v=1", `line 1: unable to parse '`+many[:120]+`...': a second value for tag "t5"; dropped=1`)
	long := strings.Repeat("x", 200)
	f(long+" v", `line 1: unable to parse '`+long[:120]+`...': no equals sign after field "v"; dropped=1`)

	status, message := d.write("/write", strings.Repeat("bad\n", 150)+"b v=1 "+fmt.Sprint(at))
	require.Equal(t, 400, status)
	require.Equal(t, 2*100, strings.Count(message, "unable to parse"), "the message stands there twice")
	require.Contains(t, message, "line 100: unable to parse 'bad': no fields; and 50 more; dropped=150")
	require.Equal(t, "{__name__=\"b_v\"} 1700000000000=1\n", d.text(`{__name__="b_v"}`))
}

// A quote that is never closed costs its own line only.
func TestOpenQuote(t *testing.T) {
	for _, firstBuffer := range []int{0, 8} {
		d := openDoor(t, Options{firstBuffer: firstBuffer})
		body := "q v=1 1700000000\nq s=\"open,v=2 1700000001\nq v=3 1700000002\nq v=4 1700000003"
		status, message := d.write("/write", body)
		require.Equal(t, 400, status)
		require.Contains(t, message, `line 2: unable to parse 'q s=\"open,v=2 1700000001': no closing quote for string field \"s\"; dropped=1`)
		require.Equal(t, "{__name__=\"q_v\"} 1700000000000=1 1700000002000=3 1700000003000=4\n", d.text(`{__name__="q_v"}`))
	}
}

func TestLongLines(t *testing.T) {
	d := openDoor(t, Options{MaxLineBytes: 100_000, firstBuffer: 64})
	tag := strings.Repeat("x", 70_000)
	body := fmt.Sprintf("l,t=%s v=1 %d\nl,t=%s v=2 %d\nl v=3 %d\nl s=\"%s\nl v=4 %d\n\",v=5 %d\nl v=6 %d",
		tag, at, tag+tag, at, at, tag+tag, at+1, at+2, at+3)
	status, message := d.write("/write", body)
	require.Equal(t, 400, status)
	require.Contains(t, message, "line 2: unable to parse 'l,t=xxxx")
	require.Contains(t, message, "line is longer than 100000 bytes; line 4: ")
	require.Equal(t, "{__name__=\"l_v\"} 1700000000000=3 1700000001000=4 1700000003000=6\n", d.text(`{__name__="l_v",t=""}`))
	require.Equal(t, fmt.Sprintf("{__name__=\"l_v\", t=%q} 1700000000000=1\n", tag), d.text(`{__name__="l_v",t!=""}`))
}

func TestStrings(t *testing.T) {
	d := openDoor(t, Options{})
	status, message := d.write("/write", "# first\n#x\n\n  \ni1,h=a v=1,s=\"x\ny\",w=2 1700000000000000000\n#x\ni1,h=b v=3 1700000000000000000")
	require.Equal(t, 204, status, message)
	require.Empty(t, message)
	require.Equal(t, `{__name__="i1_v", h="a"} 1700000000000=1
{__name__="i1_v", h="b"} 1700000000000=3
{__name__="i1_w", h="a"} 1700000000000=2
`, d.text(`{__name__=~"i1.*"}`))

	// A field may turn from text into numbers and back.
	for i, v := range []string{`"a"`, "1", `"b"`, "2", "t"} {
		status, message = d.write("/write", fmt.Sprintf("i2 v=%s %d\ni2 v=%s %d", v, at+10*i, v, at+10*i+1))
		require.Equal(t, 204, status, message)
	}
	require.Equal(t, `{__name__="i2_v"} 1700000010000=1 1700000011000=1 1700000030000=2 1700000031000=2 1700000040000=1 1700000041000=1
`, d.text(`{__name__="i2_v"}`))
}

// Numbers read back as the nearest float64, bit for bit.
func TestExactNumbers(t *testing.T) {
	d := openDoor(t, Options{})
	status, message := d.write("/write", "i5 f=1702878157125929618i,g=9007199254740993,h=18446744073709551615u,k=1e-320,m=-0 1700000000000000000")
	require.Equal(t, 204, status, message)
	want := map[string]float64{
		"i5_f": 1702878157125929728, "i5_g": 9007199254740992, "i5_h": 18446744073709551616, "i5_k": 1e-320, "i5_m": math.Copysign(0, -1),
	}
	got := d.all(`{__name__=~"i5_."}`)
	require.Len(t, got, len(want))
	for _, s := range got {
		name := s.lset.Get("__name__")
		require.Equal(t, math.Float64bits(want[name]), math.Float64bits(s.samples[0].v), name)
	}
}

func TestTimesWithoutTime(t *testing.T) {
	d := openDoor(t, Options{})
	before := time.Now().UnixMilli()
	status, _ := d.write("/write", "n1 v=1\nn2 v=1 0")
	require.Equal(t, 204, status)
	after := time.Now().UnixMilli()
	got := d.all(`{__name__=~"n._v"}`)
	require.Len(t, got, 2)
	for _, s := range got {
		require.GreaterOrEqual(t, s.samples[0].t, before)
		require.LessOrEqual(t, s.samples[0].t, after)
	}
	status, _ = d.write("/write?precision=ms", "n3 v=1 0")
	require.Equal(t, 204, status)
	require.Equal(t, "{__name__=\"n3_v\"} 0=1\n", d.text(`{__name__="n3_v"}`))
}

// Every unit on every write path means the same instant.
func TestPrecisions(t *testing.T) {
	d := openDoor(t, Options{})
	paths := []string{"/write", "/api/v2/write", "/influx/write", "/influx/api/v2/write"}
	units := map[string]int64{"n": 1e9, "ns": 1e9, "u": 1e6, "us": 1e6, "ms": 1e3, "s": 1}
	for i, path := range paths {
		for unit, factor := range units {
			status, message := d.write(path+"?precision="+unit, fmt.Sprintf("p%d%s v=1 %d", i, unit, at*factor))
			require.Equal(t, 204, status, message)
		}
		for unit, seconds := range map[string]int64{"m": 60, "h": 3600} {
			status, message := d.write(path+"?precision="+unit, fmt.Sprintf("q%d%s v=1 %d", i, unit, at/seconds))
			require.Equal(t, 204, status, message)
		}
	}
	got := d.all(`{__name__=~"p.*"}`)
	require.Len(t, got, len(paths)*len(units))
	for _, s := range got {
		require.Equal(t, []storedSample{{at * 1000, 1}}, s.samples, s.lset.String())
	}
	require.Len(t, d.all(`{__name__=~"q.*"}`), 2*len(paths))

	status, message := d.write("/write?precision=s", "p v=1 1700000000000000000")
	require.Equal(t, 400, status)
	require.Contains(t, message, "time is out of range")
	status, message = d.write("/write?precision=bogus", "p v=1")
	require.Equal(t, 400, status)
	require.Contains(t, message, `unknown precision \"bogus\"`)
}

func TestAddedLabels(t *testing.T) {
	d := openDoor(t, Options{})
	f := func(query, line, want string) {
		t.Helper()
		status, message := d.write("/write?"+query, line+" 1700000000")
		require.Equal(t, 204, status, message)
		name := line[:2]
		require.Equal(t, want+" 1700000000000=1\n", d.text(fmt.Sprintf("{__name__=%q}", name+"_v")))
	}
	f("db=x", "a1 v=1", `{__name__="a1_v", db="x"}`)
	f("db=x", "a2,db=y v=1", `{__name__="a2_v", db="y"}`)
	f("db=x&extra_label=db=z", "a3,db=y v=1", `{__name__="a3_v", db="z"}`)
	f("extra_label=h=1&extra_label=h=2", "a4,h=0 v=1", `{__name__="a4_v", h="2"}`)
	f("extra_label=h=", "a5,h=0,i=1 v=1", `{__name__="a5_v", i="1"}`)
	f("extra_label=e=a=b", "a6,__name__=z v=1", `{__name__="a6_v", e="a=b"}`)
	f("db=&bucket=b&org=o", "a7,Z=1,a=2 v=1", `{Z="1", __name__="a7_v", a="2"}`)
	// The same line under other labels is another series.
	f("db=x", "a8,k=1 v=1", `{__name__="a8_v", db="x", k="1"}`)
	status, _ := d.write("/write?db=y", "a8,k=1 v=1 1700000000")
	require.Equal(t, 204, status)
	require.Len(t, d.all(`{__name__="a8_v"}`), 2)

	for _, query := range []string{"extra_label=bad", "extra_label==x", "extra_label=__name__=x", "db=%ff", "extra_label=a=%ff"} {
		status, message := d.write("/write?"+query, "a9 v=1")
		require.Equal(t, 400, status)
		require.Contains(t, message, `"error":"argument `)
	}
	require.Empty(t, d.all(`{__name__="a9_v"}`))
}

// What the store refuses is a bad line, all of it.
func TestLinesTheStoreRefuses(t *testing.T) {
	d := openDoorOn(t, tsdb.Options{MaxLabels: 4}, Options{})
	body := "r,a=1 v=1 1700000000\nr,a=1,b=2,c=3,d=4 v=1 1700000000\nr,a=2 v=1,w=2 4000000000\nr,a=3 s=\"x\" 4000000000\nr,a=1 v=2 1700000001"
	for range 2 { // the second time the cache knows the lines
		status, message := d.write("/write?precision=s", body)
		require.Equal(t, 400, status)
		require.Contains(t, message, "line 2: ")
		require.Contains(t, message, "line 3: ")
		require.Contains(t, message, "dropped=2")
		require.Equal(t, "{__name__=\"r_v\", a=\"1\"} 1700000000000=1 1700000001000=2\n", d.text(`{__name__=~"r_.*"}`))
	}
}

// At the limit of series the request is to be sent again.
func TestOverload(t *testing.T) {
	d := openDoorOn(t, tsdb.Options{MaxSeries: 2}, Options{})
	status, _ := d.write("/write", "o v=1,w=2 1700000000")
	require.Equal(t, 204, status)
	w := d.send(httptest.NewRequest("POST", "/write", strings.NewReader("o v=3 1700000001\no x=1 1700000001\n")))
	require.Equal(t, 429, w.Code)
	require.NotEmpty(t, w.Header().Get("Retry-After"))
	require.Equal(t, "{__name__=\"o_v\"} 1700000000000=1\n", d.text(`{__name__="o_v"}`))
	status, _ = d.write("/write", "o v=4,w=5 1700000002")
	require.Equal(t, 204, status)
}

func TestStoreErrors(t *testing.T) {
	var seen error
	d := openDoor(t, Options{WriteError: func(w http.ResponseWriter, err error) { seen = err; w.WriteHeader(555) }})
	require.NoError(t, d.db.Close())
	status, _ := d.write("/write", "m v=1")
	require.Equal(t, 555, status)
	require.ErrorIs(t, seen, tsdb.ErrClosed)

	d = openDoor(t, Options{})
	require.NoError(t, d.db.Close())
	status, message := d.write("/write", "m v=1")
	require.Equal(t, 503, status)
	require.Contains(t, message, tsdb.ErrClosed.Error())
}

// Batches below the size of a request add up to it.
func TestManyBatches(t *testing.T) {
	d := openDoor(t, Options{BatchSamples: 7, firstBuffer: 100})
	lines := cpuLines(10, 50)
	status, message := d.write("/write", lines)
	require.Equal(t, 204, status, message)
	got := d.all(`{__name__=~"cpu_usage_.+"}`)
	require.Len(t, got, 100)
	for _, s := range got {
		require.Len(t, s.samples, 50)
	}
	stats := d.h.Stats()
	require.Equal(t, uint64(5000), stats.Samples)
	require.Equal(t, uint64(500), stats.Lines)
	require.Equal(t, 10, stats.CacheRows)
}

// Many senders at once, with a cache that turns over all the time.
func TestConcurrentWrites(t *testing.T) {
	d := openDoor(t, Options{CacheBytes: 20_000})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 20 {
				body := strings.ReplaceAll(cpuLines(20, 1), "1451606400000000000", fmt.Sprint(at+i))
				req := httptest.NewRequest("POST", fmt.Sprintf("/write?db=%d", g%2), strings.NewReader(body))
				w := httptest.NewRecorder()
				d.mux.ServeHTTP(w, req.WithContext(context.Background()))
				if w.Code != 204 {
					t.Errorf("got status %d: %s", w.Code, w.Body)
				}
			}
		})
	}
	wg.Wait()
	got := d.all(`{__name__=~"cpu_usage_.+"}`)
	require.Len(t, got, 2*20*10)
	for _, s := range got {
		require.Len(t, s.samples, 20)
	}
	require.LessOrEqual(t, d.h.Stats().CacheBytes, int64(20_000))
}
