package influx

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/influx/influxtest"
	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// lineSeeds are bodies of all kinds.
var lineSeeds = []string{
	"",
	"\n \n\r\n# x\n#\x01\n",
	"cpu,host=h1 a=1,b=2i,c=3u,d=t,e=\"x\" 1700000000000000000\ncpu,host=h1 a=2,b=3i,c=4u,d=f,e=\"y\" 1700000001000000000\n",
	"m v=1\r\nm v=2 \r\nm v=3 17\r\n m v=4 18 \n",
	"i1,h=a v=1,s=\"x\ny\",w=2 1700000000000000000\ni1,h=b v=3 1700000000000000000",
	"m,t=a\\ b\\,c\\=d\\\\e\\f f\\ g=1,h\\=i=2\nm,t=a\\\\ b v=1",
	"m s=\"open 1\nm v=2 2\nm s=\"closed\" 3\n",
	"m s=\"a\\\"b\\\\\",v=1\nm s=\"\xff\" 1\n\xffm v=1\nm,t=\x01 v=1",
	"m,a=1,a=2 v=1\nm,=1 v=1\nm,a= v=1\n,a=b v=1\nm\nm,a=b\nm v\nm v=\nm v=1,\nm v=1 x\nm v=1 1 2\nm v=1 99999999999999999999\n",
	"m v=1,v=2,v=3\nm w=1,v=2\nm v=\"s\"\nm v=1e5,w=-1.5E-3,x=.5,y=-0,z=1e400",
}

func seed(f *testing.F) {
	for _, s := range lineSeeds {
		f.Add([]byte(s))
	}
	facts, err := influxtest.ReadFacts("testdata/influx_facts.jsonl")
	require.NoError(f, err)
	for _, fact := range facts {
		for _, r := range fact.Requests {
			f.Add([]byte(r.Body))
		}
	}
}

// FuzzParse holds the fast way to the plain grammar, line by line, and the
// reading in pieces to the reading at once.
func FuzzParse(f *testing.F) {
	seed(f)
	tally := fuzztally.New(f)
	const renew = 5_000
	var whole, pieces *door
	runs := 0
	f.Cleanup(func() {
		whole.discard()
		pieces.discard()
	})
	f.Fuzz(func(t *testing.T, body []byte) {
		tally.Input()
		if runs++; runs%renew == 1 {
			whole.discard()
			pieces.discard()
			whole = openScratchDoor(t, Options{})
			pieces = openScratchDoor(t, Options{firstBuffer: 8, BatchSamples: 3})
		}
		whole.t, pieces.t = t, t
		path := fmt.Sprintf("/write?precision=s&extra_label=run=%d", runs)
		cold := whole.send(httptest.NewRequest("POST", path, bytes.NewReader(body)))
		warm := whole.send(httptest.NewRequest("POST", path, bytes.NewReader(body)))
		inPieces := pieces.send(httptest.NewRequest("POST", path, iotest.HalfReader(bytes.NewReader(body))))
		require.Contains(t, []int{204, 400}, cold.Code)
		require.Equal(t, cold.Code, warm.Code)
		require.Equal(t, cold.Body.String(), warm.Body.String())
		require.Equal(t, cold.Code, inPieces.Code)
		require.Equal(t, cold.Body.String(), inPieces.Body.String())
		if checkTwins(t, whole, path, body) > 0 {
			tally.Accepted()
		}
	})
}

// openScratchDoor is openDoor for a door that outlives t; it ends with discard.
func openScratchDoor(t testing.TB, opts Options) *door {
	dir, err := os.MkdirTemp("", "influx-fuzz")
	require.NoError(t, err)
	return openDoorAt(t, dir, tsdb.Options{}, opts)
}

func (d *door) discard() {
	if d != nil {
		_ = d.db.Close()
		_ = os.RemoveAll(d.dir)
	}
}

// checkTwins takes each line of body both ways and returns how many the plain
// grammar accepts.
func checkTwins(t *testing.T, d *door, path string, body []byte) (accepted int) {
	s := d.h.session()
	require.NoError(t, s.setArguments(httptest.NewRequest("POST", path, nil)))
	s.batch = d.db.Batch()
	defer s.batch.Discard()
	sc := &s.scanner
	sc.b, sc.pos = append(bytes.Clone(body), '\n'), 0
	for sc.pos < len(sc.b) {
		start := sc.pos
		next := start + bytes.IndexByte(sc.b[start:], '\n') + 1
		r := sc.next()
		end := sc.pos
		if r == resultPoint {
			accepted++
			s.samples = s.samples[:0]
			require.NoError(t, s.takePoint(sc.b[start:end]))
		}
		want, wantMillis := append([]sample(nil), s.samples...), s.millis
		if s.fastLine(sc.b[start : next-1]) {
			require.Equal(t, resultPoint, r, "%q", sc.b[start:next])
			require.Equal(t, end, next, "%q", sc.b[start:next])
			require.Equal(t, wantMillis, s.millis)
			require.Equal(t, fmt.Sprint(want), fmt.Sprint(s.samples), "%q", sc.b[start:next])
		}
		switch r {
		case resultOpen:
			sc.pos = next
		case resultBad:
			sc.pos += bytes.IndexByte(sc.b[sc.pos:], '\n') + 1
		}
	}
	return accepted
}

// FuzzBody sends any bytes in any encoding: they are taken or refused, never
// worse.
func FuzzBody(f *testing.F) {
	for _, s := range lineSeeds {
		f.Add(uint8(0), []byte(s))
		for i := range encodings {
			f.Add(uint8(i+1), encode(f, encodings[i], []byte(s)))
		}
	}
	tally := fuzztally.New(f)
	d := openDoor(f, Options{MaxBodyBytes: 1 << 16, MaxLineBytes: 1 << 10})
	f.Fuzz(func(t *testing.T, encoding uint8, body []byte) {
		tally.Input()
		req := httptest.NewRequest("POST", "/write", bytes.NewReader(body))
		if encoding > 0 {
			req.Header.Set("Content-Encoding", encodings[int(encoding-1)%len(encodings)])
		}
		w := d.send(req)
		require.Contains(t, []int{204, 400, 413}, w.Code)
		if w.Code == 204 {
			tally.Accepted()
		}
	})
}

// The seeds of the fuzz targets hold lines of both kinds.
func TestTwinsOnSeeds(t *testing.T) {
	d := openDoor(t, Options{})
	accepted := 0
	for _, s := range lineSeeds {
		for range 2 { // the second time the cache knows them
			accepted += checkTwins(t, d, "/write?precision=s", []byte(s))
		}
	}
	require.Equal(t, 2*15, accepted)
	_, rows := d.h.cache.size()
	require.Equal(t, 4, rows)
}

func gzipped(body string) io.Reader {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.Copy(z, strings.NewReader(body))
	_ = z.Close()
	return &b
}
