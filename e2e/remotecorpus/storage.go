package remotecorpus

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"time"

	"github.com/golang/snappy"
	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/client_golang/prometheus"
	config_util "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/storage/remote"
	upstream "github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/varvedb/varve/e2e/harness"
	"github.com/varvedb/varve/remote/read"
	"github.com/varvedb/varve/remote/write"
	"github.com/varvedb/varve/tsdb"
)

// Storage is a store behind its own HTTP doors.
type Storage struct {
	storage.SampleAndChunkQueryable
	url      string
	external labels.Labels // added to what is written, taken off what is read
	close    func() error
}

const chunkedReadLimit = 50 << 20

// Open opens a varve store in a folder and serves it.
func Open(dir string, form prompb.ReadRequest_ResponseType) (*Storage, error) {
	db, err := tsdb.Open(dir, tsdb.Options{Sync: tsdb.SyncOff()})
	if err != nil {
		return nil, err
	}
	return serve(db, write.New(db, write.Options{}), read.New(read.FromDB(db), read.Options{}), form)
}

// OpenUpstream opens a store of Prometheus behind Prometheus' doors.
func OpenUpstream(form prompb.ReadRequest_ResponseType) (*Storage, error) {
	db, err := teststorage.NewWithError(func(o *upstream.Options) {
		o.EnableSTStorage = true
		o.FloatChunkEncoding = chunkenc.EncXOR2
		o.EnableHistogramSTEncoding = true
	})
	if err != nil {
		return nil, err
	}
	logger, reg := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	conf := func() config.Config { return config.Config{} }
	messages := remoteapi.MessageTypes{remoteapi.WriteV1MessageType, remoteapi.WriteV2MessageType}
	return serve(db,
		remote.NewWriteHandler(logger, reg, db, messages, false, false),
		remote.NewReadHandler(logger, reg, db, conf, 50_000_000, 10, 1<<20), form)
}

// OpenServer is a store of its own within a running server: all its series have
// a label with its number, which Prometheus' client adds and takes away as it
// does for external labels. The name of the label sorts before any other, so
// that it does not change the order of series.
func OpenServer(url string, number int64, form prompb.ReadRequest_ResponseType) (*Storage, error) {
	s := &Storage{url: url, external: labels.FromStrings("!store", strconv.FormatInt(number, 10)), close: func() error { return nil }}
	return s, s.connect(form)
}

// serve puts doors before a store and a client of Prometheus before these.
func serve(store io.Closer, write, read http.Handler, form prompb.ReadRequest_ResponseType) (*Storage, error) {
	mux := http.NewServeMux()
	mux.Handle("/api/v1/write", write)
	mux.Handle("/api/v1/read", read)
	server := httptest.NewServer(mux)
	s := &Storage{url: server.URL, close: func() error {
		server.Close()
		return store.Close()
	}}
	return s, s.connect(form)
}

func (s *Storage) connect(form prompb.ReadRequest_ResponseType) error {
	base, err := url.Parse(s.url + "/api/v1/read")
	if err != nil {
		return err
	}
	client, err := remote.NewReadClient("corpus", &remote.ClientConfig{
		URL:                   &config_util.URL{URL: base},
		Timeout:               model.Duration(time.Minute),
		ChunkedReadLimit:      chunkedReadLimit,
		AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{form},
	})
	if err != nil {
		return err
	}
	noStart := func() (int64, error) { return math.MaxInt64, nil }
	s.SampleAndChunkQueryable = remote.NewSampleAndChunkQueryableClient(client, s.external, nil, true, noStart)
	return nil
}

// AppenderV2 returns an appender that sends its samples at Commit.
func (s *Storage) AppenderV2(ctx context.Context) storage.AppenderV2 {
	return NewAppender(ctx, s.url, s.external)
}

// Appender of the old interface is not there.
func (s *Storage) Appender(context.Context) storage.Appender {
	panic("BUG: the corpus uses AppenderV2")
}

// StartTime is unknown.
func (s *Storage) StartTime() (int64, error) { return 0, nil }

// Close ends the server and closes the store, unless they are others'.
func (s *Storage) Close() error { return s.close() }

type appender struct {
	ctx      context.Context
	url      string
	external labels.Labels
	symbols  writev2.SymbolsTable
	series   []writev2.TimeSeries
	index    map[string]int
	samples  int
}

// NewAppender returns an appender that sends its samples at Commit to the
// server at url by remote write 2.0, each series with the external labels.
func NewAppender(ctx context.Context, url string, external labels.Labels) storage.AppenderV2 {
	return &appender{ctx: ctx, url: url, external: external, symbols: writev2.NewSymbolTable(), index: map[string]int{}}
}

func (a *appender) Append(_ storage.SeriesRef, ls labels.Labels, st, t int64, v float64,
	h *histogram.Histogram, fh *histogram.FloatHistogram, _ storage.AppendV2Options,
) (storage.SeriesRef, error) {
	b := labels.NewBuilder(ls)
	a.external.Range(func(l labels.Label) { b.Set(l.Name, l.Value) })
	ls = b.Labels()
	key := ls.String()
	i, ok := a.index[key]
	if !ok {
		i = len(a.series)
		a.index[key] = i
		a.series = append(a.series, writev2.TimeSeries{LabelsRefs: a.symbols.SymbolizeLabels(ls, nil)})
	}
	s := &a.series[i]
	a.samples++
	switch {
	case fh != nil:
		s.Histograms = append(s.Histograms, writev2.FromFloatHistogram(st, t, fh.Copy()))
	case h != nil:
		s.Histograms = append(s.Histograms, writev2.FromIntHistogram(st, t, h.Copy()))
	default:
		s.Samples = append(s.Samples, writev2.Sample{Value: v, Timestamp: t, StartTimestamp: st})
	}
	return 0, nil
}

func (a *appender) Commit() error {
	if a.samples == 0 {
		return nil
	}
	raw, err := harness.MarshalV2(&writev2.Request{Symbols: a.symbols.Symbols(), Timeseries: a.series})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(a.ctx, http.MethodPost, a.url+"/api/v1/write", bytes.NewReader(snappy.Encode(nil, raw)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-protobuf;proto=io.prometheus.write.v2.Request")
	req.Header.Set("Content-Encoding", "snappy")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("write: got %s: %s", resp.Status, text)
	}
	return nil
}

func (a *appender) Rollback() error { return nil }
