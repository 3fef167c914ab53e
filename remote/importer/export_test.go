package importer_test

import (
	"context"
	"errors"
	"math"
	"math/rand"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/importer"
	"github.com/varvedb/varve/tsdb/chunks"
)

// nullStore takes everything and keeps nothing.
type nullStore struct{}

func (nullStore) Batch() importer.Batch { return &nullBatch{} }
func (nullStore) Select(context.Context, int64, int64, ...*labels.Matcher) (importer.View, error) {
	return nil, errors.New("nothing is kept")
}

type nullBatch struct{ n int }

func (b *nullBatch) Add(_ labels.Labels, times []int64, _ []float64) (string, error) {
	b.n += len(times)
	return "", nil
}
func (b *nullBatch) Len() int                     { return b.n }
func (b *nullBatch) Commit(context.Context) error { return nil }
func (b *nullBatch) Discard()                     {}

// What is exported imports again bit for bit.
func TestExportImportsBitForBit(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	from := newModel()
	for _, name := range []string{"m", "é \"x\"\\\n\t", "a.b"} {
		s := from.get(labels.FromStrings("__name__", name, "l", name+"1", "x y", "z"))
		for i := range 3000 {
			v := math.Float64frombits(rnd.Uint64())
			switch {
			case i%7 == 0:
				v = float64(rnd.Intn(1000)) / 8
			case i%11 == 0:
				v = math.Copysign(0, float64(1-i%2*2))
			case i%13 == 0:
				v = math.Inf(1 - i%2*2)
			}
			if v == v {
				s.samples[int64(i)*1000+5_000_000_000] = v
			}
		}
	}
	for _, c := range []struct{ args, path string }{{"", jsonPath}, {"&max_rows_per_line=7", jsonPath}, {"&format=prometheus", textPath}} {
		to := newModel()
		opts := importer.Options{MaxExportLineBytes: 5000}
		rec := get(importer.New(from, opts), `/api/v1/export?match[]={l!=""}`+c.args)
		require.Equal(t, http.StatusOK, rec.Code)
		require.Equal(t, http.StatusNoContent, post(importer.New(to, opts), c.path, rec.Body.String()).Code)
		require.Len(t, to.series, len(from.series))
		for key, s := range from.series {
			require.Len(t, to.series[key].samples, len(s.samples))
			for ts, v := range s.samples {
				if got := to.series[key].samples[ts]; math.Float64bits(got) != math.Float64bits(v) {
					require.Equal(t, math.Float64bits(v), math.Float64bits(got), "%s at %d: %v", key, ts, v)
				}
			}
		}
	}
}

func exportModel() *model {
	m := newModel()
	for _, name := range []string{"a", "b"} {
		s := m.get(labels.FromStrings("__name__", name, "job", "j"))
		for ts := range int64(5) {
			s.samples[ts*1000] = float64(ts)
		}
	}
	return m
}

func TestExportArguments(t *testing.T) {
	h := importer.New(exportModel(), importer.Options{})
	a := func(values, times string) string {
		return `{"metric":{"__name__":"a","job":"j"},"values":[` + values + `],"timestamps":[` + times + "]}\n"
	}
	all := a("0,1,2,3,4", "0,1000,2000,3000,4000")
	b := strings.ReplaceAll(all, `"a"`, `"b"`)
	cases := []struct{ query, want string }{
		{"match[]=a", all},
		{"match[]=a&match[]={job=\"j\"}&match[]=b", all + b},
		{"match[]=a&start=1&end=2", a("1,2", "1000,2000")},
		{"match[]=a&end=1970-01-01T00:00:02.5Z", a("0,1,2", "0,1000,2000")},
		{"match[]=a&start=1970-01-01T00:00:03Z", a("3,4", "3000,4000")},
		{"match[]=a&start=1970-01-01T00:00:04", a("4", "4000")},
		{"match[]=a&start=5&end=4", ""},
		{"match[]=a&max_rows_per_line=3&reduce_mem_usage=1", a("0,1,2", "0,1000,2000") + a("3,4", "3000,4000")},
		{"match[]={job=\"j\"}&extra_filters[]={__name__=\"b\"}", b},
		{"match[]=a&extra_label=job=x", ""},
		{"match[]=a&end=0&format=prometheus", "a{job=\"j\"} 0 0\n"},
		{"match[]=nothing&format=promapi", `{"status":"success","data":{"resultType":"matrix","result":[]}}`},
		{"match[]={job=\"j\"}&end=1&max_rows_per_line=1&format=promapi", `{"status":"success","data":{"resultType":"matrix","result":[` +
			`{"metric":{"__name__":"a","job":"j"},"values":[[0,"0"]]},{"metric":{"__name__":"a","job":"j"},"values":[[1,"1"]]},` +
			`{"metric":{"__name__":"b","job":"j"},"values":[[0,"0"]]},{"metric":{"__name__":"b","job":"j"},"values":[[1,"1"]]}]}}`},
	}
	for _, c := range cases {
		rec := get(h, "/api/v1/export?"+strings.ReplaceAll(c.query, `"`, "%22"))
		require.Equal(t, http.StatusOK, rec.Code, rec.Body.String())
		require.Equal(t, c.want, rec.Body.String(), c.query)
		form := serve(h, http.MethodPost, "/api/v1/export", strings.NewReader(c.query), map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
		require.Equal(t, c.want, form.Body.String(), c.query)
	}
	for _, bad := range []string{"", "match[]=a{", "match[]=a&start=x", "match[]=a&end=1e300", "match[]=a&max_rows_per_line=-1", "match[]=a&format=csv", "match[]=a&extra_label=x", "match[]=a&extra_filters=("} {
		require.Equal(t, http.StatusBadRequest, get(h, "/api/v1/export?"+bad).Code, bad)
	}
	require.Equal(t, "application/stream+json; charset=utf-8", get(h, "/api/v1/export?match[]=a").Header().Get("Content-Type"))
}

func TestExportCSV(t *testing.T) {
	m := newModel()
	s := m.get(labels.FromStrings("__name__", "m", "l", `a"b,c`))
	s.samples = map[int64]float64{1500: -0.25, 2000: math.Copysign(0, -1)}
	h := importer.New(m, importer.Options{})
	f := func(format, want string) {
		t.Helper()
		rec := get(h, "/api/v1/export/csv?match[]=m&format="+url.QueryEscape(format))
		require.Equal(t, http.StatusOK, rec.Code, rec.Body.String())
		require.Equal(t, "text/csv; charset=utf-8", rec.Header().Get("Content-Type"))
		require.Equal(t, format+"\n"+want, rec.Body.String())
	}
	f("__name__,__value__,__timestamp__", "m,-0.25,1500\nm,0,2000\n")
	f("l,nope,__timestamp__:unix_s", `"a\"b,c",,1`+"\n"+`"a\"b,c",,2`+"\n")
	f("__timestamp__:unix_ms", "1500\n2000\n")
	f("__timestamp__:unix_ns,__timestamp__:rfc3339", "1500000000,1970-01-01T00:00:01.5Z\n2000000000,1970-01-01T00:00:02Z\n")
	f("__timestamp__:custom:15:04:05", "00:00:01\n00:00:02\n")

	for _, bad := range []string{"match[]=m", "format=l", "match[]=m&format=__timestamp__:weeks", "match[]=m{&format=l"} {
		require.Equal(t, http.StatusBadRequest, get(h, "/api/v1/export/csv?"+bad).Code, bad)
	}
}

func TestExportOfNaNAndHistograms(t *testing.T) {
	m := newModel()
	s := m.get(labels.FromStrings("__name__", "mixed"))
	s.samples = map[int64]float64{1: 1, 2: math.NaN(), 3: staleNaN}
	s.more = []chunks.Span{{Kind: 2, Count: 2, Start: 10, Step: 1, Histograms: tsdbutil.GenerateTestHistograms(2)}}
	m.get(labels.FromStrings("__name__", "pure")).more = s.more
	rec := get(importer.New(m, importer.Options{}), "/api/v1/export?match[]="+url.QueryEscape(`{__name__=~".+"}`))
	require.Equal(t, `{"metric":{"__name__":"mixed"},"values":[1,null,null],"timestamps":[1,2,3]}`+"\n", rec.Body.String())
	require.Equal(t, "4", rec.Result().Trailer.Get("X-Varve-Skipped-Histograms"))
}

func TestExportErrors(t *testing.T) {
	m := exportModel()
	m.endWith = errors.New("torn page")
	rec := get(importer.New(m, importer.Options{}), "/api/v1/export?match[]=a")
	require.Equal(t, http.StatusInternalServerError, rec.Code)
	require.Equal(t, "torn page\n", rec.Body.String())
	require.Empty(t, rec.Header().Get("Trailer"))

	// After the first bytes only a broken connection tells that more was to come.
	for ts := range int64(20_000) {
		m.get(labels.FromStrings("__name__", "big")).samples[ts] = 0.123456789
	}
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		get(importer.New(m, importer.Options{MaxExportLineBytes: 1000}), "/api/v1/export?match[]=big")
	})
}
