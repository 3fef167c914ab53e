package api

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/prometheus/prometheus/util/features"
)

// BuildInfo answers status/buildinfo.
type BuildInfo struct {
	Version   string `json:"version"`
	Revision  string `json:"revision"`
	Branch    string `json:"branch"`
	BuildUser string `json:"buildUser"`
	BuildDate string `json:"buildDate"`
	GoVersion string `json:"goVersion"`
}

// RuntimeInfo answers status/runtimeinfo.
type RuntimeInfo struct {
	StartTime           time.Time `json:"startTime"`
	CWD                 string    `json:"CWD"`
	Hostname            string    `json:"hostname"`
	ServerTime          time.Time `json:"serverTime"`
	ReloadConfigSuccess bool      `json:"reloadConfigSuccess"`
	LastConfigTime      time.Time `json:"lastConfigTime"`
	CorruptionCount     int64     `json:"corruptionCount"`
	GoroutineCount      int       `json:"goroutineCount"`
	GOMAXPROCS          int       `json:"GOMAXPROCS"`
	GOMEMLIMIT          int64     `json:"GOMEMLIMIT"`
	GOGC                string    `json:"GOGC"`
	GODEBUG             string    `json:"GODEBUG"`
	StorageRetention    string    `json:"storageRetention"`
}

// HeadStats are the figures of what is in memory. Times are milliseconds.
type HeadStats struct {
	NumSeries     uint64 `json:"numSeries"`
	NumLabelPairs int    `json:"numLabelPairs"`
	ChunkCount    int64  `json:"chunkCount"`
	MinTime       int64  `json:"minTime"`
	MaxTime       int64  `json:"maxTime"`
}

// Stat is one row of a cardinality table.
type Stat struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

// TSDBStatus answers status/tsdb; each table begins with its biggest row.
type TSDBStatus struct {
	HeadStats                   HeadStats `json:"headStats"`
	SeriesCountByMetricName     []Stat    `json:"seriesCountByMetricName"`
	LabelValueCountByLabelName  []Stat    `json:"labelValueCountByLabelName"`
	MemoryInBytesByLabelName    []Stat    `json:"memoryInBytesByLabelName"`
	SeriesCountByLabelValuePair []Stat    `json:"seriesCountByLabelValuePair"`
}

// BlockStats are the counts of one immutable part.
type BlockStats struct {
	NumSamples          uint64 `json:"numSamples,omitempty"`
	NumFloatSamples     uint64 `json:"numFloatSamples,omitempty"`
	NumHistogramSamples uint64 `json:"numHistogramSamples,omitempty"`
	NumSeries           uint64 `json:"numSeries,omitempty"`
	NumChunks           uint64 `json:"numChunks,omitempty"`
	NumTombstones       uint64 `json:"numTombstones,omitempty"`
}

// BlockCompaction tells where a part came from: 1 is a flush, more are merges.
type BlockCompaction struct {
	Level   int      `json:"level"`
	Sources []string `json:"sources,omitempty"`
}

// Block is one immutable part in status/tsdb/blocks. The ULID is the part's
// name; times are milliseconds.
type Block struct {
	ULID       string          `json:"ulid"`
	MinTime    int64           `json:"minTime"`
	MaxTime    int64           `json:"maxTime"`
	Stats      BlockStats      `json:"stats"`
	Compaction BlockCompaction `json:"compaction"`
	Version    int             `json:"version"`
}

// WALReplay counts log segments: the first, the last and the one being replayed.
type WALReplay struct {
	Min     int `json:"min"`
	Max     int `json:"max"`
	Current int `json:"current"`
}

func (a *API) statusConfig(*http.Request) result {
	return answer(map[string]string{"yaml": a.opts.Config()})
}

func (a *API) statusFlags(*http.Request) result { return answer(a.opts.Flags) }

func (a *API) statusBuild(*http.Request) result { return answer(a.opts.BuildInfo) }

func (a *API) statusRuntime(*http.Request) result {
	info := a.opts.Runtime()
	if info.StartTime.IsZero() {
		info.StartTime = a.start
	}
	if info.CWD == "" {
		cwd, err := os.Getwd()
		if err != nil {
			cwd = "<error retrieving current working directory>"
		}
		info.CWD = cwd
	}
	if info.Hostname == "" {
		host, err := os.Hostname()
		if err != nil {
			return internal(fmt.Errorf("error getting hostname: %w", err))
		}
		info.Hostname = host
	}
	info.ServerTime = a.now().UTC()
	info.GoroutineCount = runtime.NumGoroutine()
	info.GOMAXPROCS = runtime.GOMAXPROCS(0)
	info.GOMEMLIMIT = debug.SetMemoryLimit(-1)
	info.GOGC = os.Getenv("GOGC")
	info.GODEBUG = os.Getenv("GODEBUG")
	return answer(info)
}

func (a *API) statusTSDB(r *http.Request) result {
	const maxLimit = 10000
	limit := 10
	if s := r.Form.Get("limit"); s != "" {
		var err error
		if limit, err = strconv.Atoi(s); err != nil || limit < 1 {
			return badData(errors.New("limit must be a positive number"))
		}
		if limit > maxLimit {
			return badData(fmt.Errorf("limit must not exceed %d", maxLimit))
		}
	}
	status, err := a.opts.Status.TSDB(r.Context(), limit)
	if err != nil {
		return internal(err)
	}
	for _, table := range []*[]Stat{
		&status.SeriesCountByMetricName, &status.LabelValueCountByLabelName,
		&status.MemoryInBytesByLabelName, &status.SeriesCountByLabelValuePair,
	} {
		*table = append([]Stat{}, (*table)[:min(limit, len(*table))]...) // [], never null
	}
	return answer(status)
}

func (a *API) statusBlocks(r *http.Request) result {
	blocks, err := a.opts.Status.Blocks(r.Context())
	if err != nil {
		return internal(fmt.Errorf("error getting block metadata: %w", err))
	}
	return answer(map[string][]Block{"blocks": append([]Block{}, blocks...)})
}

func (a *API) statusWALReplay(*http.Request) result {
	status, err := a.opts.Status.WALReplay()
	if err != nil {
		return internal(err)
	}
	return answer(status)
}

// statusSelfMetrics returns the server's own metrics as protobuf JSON.
func (a *API) statusSelfMetrics(r *http.Request) result {
	var filter *regexp.Regexp
	if pattern := r.Form.Get("metric_name_pattern"); pattern != "" {
		var err error
		if filter, err = regexp.Compile("^(?:" + pattern + ")$"); err != nil {
			return badData(fmt.Errorf("invalid metric_name_pattern: %w", err))
		}
	}
	families, err := a.opts.Gatherer.Gather()
	if err != nil {
		return internal(fmt.Errorf("error gathering self metrics: %w", err))
	}
	body := []byte("[")
	for _, f := range families {
		if filter != nil && !filter.MatchString(f.GetName()) {
			continue
		}
		if len(body) > 1 {
			body = append(body, ',')
		}
		if body, err = (protojson.MarshalOptions{}).MarshalAppend(body, f); err != nil {
			return internal(fmt.Errorf("error marshaling metric family %q: %w", f.GetName(), err))
		}
	}
	return result{data: rawJSON(append(body, ']'))}
}

// features lists what the server can do, by category and name.
func (a *API) features(*http.Request) result {
	reg := features.NewRegistry()
	for category, names := range a.opts.Features {
		for name, on := range names {
			reg.Set(category, name, on)
		}
	}
	for _, name := range []string{
		"label_values_match", "query_warnings", "query_stats",
		"time_range_series", "time_range_labels", "exclude_alerts",
	} {
		reg.Enable(features.API, name)
	}
	reg.Set(features.API, "lifecycle", a.opts.Reload != nil)
	reg.Set(features.API, "admin", a.opts.EnableAdminAPI)
	b, err := marshalPlain(reg.Get())
	if err != nil {
		return internal(fmt.Errorf("marshal features: %w", err))
	}
	return result{data: rawJSON(b)}
}
