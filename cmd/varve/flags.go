package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/alecthomas/units"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	promslogflag "github.com/prometheus/common/promslog/flag"
	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/tsdb"
)

// flags is what the command line and the environment say.
type flags struct {
	path    string
	store   tsdb.Options
	query   promqlx.Options
	web     *web.FlagConfig
	log     *promslog.Config
	slow    time.Duration // queries that take longer are logged; 0 logs none
	dialect string        // of queries that name none
	latency time.Duration // how young samples are that MetricsQL does not see yet
	http    httpFlags
	all     map[string]string // as given or by default, for the API
	feature []string
}

type httpFlags struct {
	admin, lifecycle bool
	cors             string
	maxRequest       int64
	readTimeout      time.Duration
	shutdown         time.Duration
}

// parseFlags reads the command line; every flag also has an environment
// variable, VARVE_STORAGE_PATH for --storage.path.
func parseFlags(args []string) (*flags, error) {
	app := kingpin.New("varve", "Long-term storage for Prometheus.")
	app.Version(version.Print("varve"))
	app.HelpFlag.Short('h')
	app.DefaultEnvars()
	f := &flags{log: &promslog.Config{}}
	promslogflag.AddFlags(app, f.log)
	f.web = kingpinflag.AddFlags(app, ":8428")
	f.addWeb(app)
	finishQuery := f.addQuery(app)
	finishStore := f.addStore(app)
	if _, err := app.Parse(args); err != nil {
		return nil, err
	}
	f.all = map[string]string{}
	for _, m := range app.Model().Flags {
		f.all[m.Name] = strings.TrimPrefix(m.Value.String(), "[]")
	}
	finishQuery()
	return f, finishStore()
}

func (f *flags) addWeb(app *kingpin.Application) {
	app.Flag("web.enable-admin-api", "Enable deleting series, snapshots and cleaning tombstones over HTTP.").BoolVar(&f.http.admin)
	app.Flag("web.enable-lifecycle", "Enable /-/reload, which checks the web configuration anew; certificates and users are read anew all the time.").BoolVar(&f.http.lifecycle)
	app.Flag("web.cors.origin", "Regular expression of the origins that browsers may ask from.").Default(".*").StringVar(&f.http.cors)
	app.Flag("web.max-request-size", "Largest decompressed body of a write.").Default("32MiB").SetValue(&bytesValue{"web.max-request-size", &f.http.maxRequest})
	app.Flag("web.read-timeout", "Longest time a client may take to send a request.").Default("5m").DurationVar(&f.http.readTimeout)
	app.Flag("web.shutdown-timeout", "Longest wait for requests to end at shutdown.").Default("30s").DurationVar(&f.http.shutdown)
}

func (f *flags) addQuery(app *kingpin.Application) (finish func()) {
	var timeout, lookback, slow, latency time.Duration
	app.Flag("query.default-dialect", "Language of queries that name none by a path below /metricsql or the argument dialect: promql or metricsql.").Default("promql").EnumVar(&f.dialect, "promql", "metricsql")
	app.Flag("query.latency-offset", "How young samples are that a query of MetricsQL about now does not see yet, since they may not all be there; VictoriaMetrics has 30s.").Default("0").SetValue(&durationValue{"query.latency-offset", &latency})
	app.Flag("query.timeout", "Longest time a query may be prepared, wait and run.").Default("2m").SetValue(&durationValue{"query.timeout", &timeout})
	app.Flag("query.lookback-delta", "How old a sample an instant selector still takes.").Default("5m").SetValue(&durationValue{"query.lookback-delta", &lookback})
	app.Flag("query.max-concurrency", "Queries that run at once; others wait.").Default("20").IntVar(&f.query.MaxConcurrent)
	app.Flag("query.max-samples", "Samples that one query may hold in memory.").Default("50000000").IntVar(&f.query.MaxSamples)
	app.Flag("query.max-memory", "Memory that all queries may hold; others wait or fail. 0 is a quarter of the machine's or container's memory.").Default("0").SetValue(&bytesValue{"query.max-memory", &f.query.MaxMemory})
	app.Flag("query.max-memory-per-query", "Memory that one query may hold; 0 is half of --query.max-memory.").Default("0").SetValue(&bytesValue{"query.max-memory-per-query", &f.query.MaxQueryMemory})
	app.Flag("query.cache-size", "Memory in which answers of range queries are kept, a sixty-fourth of the machine's or container's memory by default; 0 keeps none.").Default(fmt.Sprintf("%dMiB", memoryLimit()/64>>20)).SetValue(&bytesValue{"query.cache-size", &f.query.CacheBytes})
	app.Flag("query.log-slower-than", "Queries that wait and run longer are logged; 0 logs none.").Default("5s").SetValue(&durationValue{"query.log-slower-than", &slow})
	app.Flag("query.max-length", "Bytes of a query's text, or of all selectors of a request.").Default("65536").IntVar(&f.query.MaxQueryBytes)
	app.Flag("enable-feature", "Comma separated names of features, those of Prometheus.").StringsVar(&f.feature)
	return func() {
		f.query.Timeout, f.query.LookbackDelta, f.slow, f.latency = timeout, lookback, slow, latency
		if f.query.MaxMemory == 0 {
			f.query.MaxMemory = memoryLimit() / 4
		}
		f.query.EnabledFeatures = f.feature
	}
}

func (f *flags) addStore(app *kingpin.Application) (finish func() error) {
	var retention, future, interval, scrub time.Duration
	var sync string
	app.Flag("storage.path", "Folder of the data.").Default("./data").StringVar(&f.path)
	app.Flag("storage.retention", "Age after which data is dropped; 0 keeps it.").Default("0").SetValue(&durationValue{"storage.retention", &retention})
	app.Flag("storage.retention-size", "Size of the data past which the oldest days are dropped; 0 keeps them.").Default("0").SetValue(&bytesValue{"storage.retention-size", &f.store.RetentionBytes})
	app.Flag("storage.wal-sync", "When the log reaches the disk: always, off or an interval.").Default("100ms").StringVar(&sync)
	app.Flag("storage.max-future", "How far ahead of the clock a sample may lie.").Default("2d").SetValue(&durationValue{"storage.max-future", &future})
	app.Flag("storage.flush-size", "Memory of samples at which they are written out; 0 is 256 MiB or a sixteenth of the machine's or container's memory if that is less.").Default("0").SetValue(&bytesValue{"storage.flush-size", &f.store.FlushBytes})
	app.Flag("storage.flush-interval", "Age of samples at which they are written out.").Default("2h").SetValue(&durationValue{"storage.flush-interval", &interval})
	app.Flag("storage.memory-budget", "Memory of samples past which writes are refused; 0 is a quarter of the machine's or container's memory.").Default("0").SetValue(&bytesValue{"storage.memory-budget", &f.store.MemoryBudget})
	app.Flag("storage.max-series", "Active series past which new ones are refused; 0 is what a quarter of the machine's or container's memory holds, negative sets no limit.").Default("0").IntVar(&f.store.MaxSeries)
	app.Flag("storage.min-free", "Free disk below which writes are refused; 0 sets no limit.").Default("256MiB").SetValue(&bytesValue{"storage.min-free", &f.store.MinFree})
	app.Flag("storage.scrub-interval", "How often stored data is compared with its checksums; 0 switches that off.").Default("7d").SetValue(&durationValue{"storage.scrub-interval", &scrub})
	app.Flag("storage.scrub-rate", "Bytes a second that are read for it.").Default("8MiB").SetValue(&bytesValue{"storage.scrub-rate", &f.store.ScrubRate})
	caches := f.addCaches(app)
	damage := app.Flag("storage.corruption", "What queries do that touch a damaged block: warn leaves it out and says so, fail fails.").Default("warn").Enum("warn", "fail")
	return func() (err error) {
		f.store.FailOnDamage = *damage == "fail"
		caches()
		if f.store.ScrubInterval = scrub; scrub == 0 {
			f.store.ScrubInterval = -1
		}
		f.store.Retention, f.store.MaxFuture, f.store.FlushInterval = retention, future, interval
		if f.store.FlushBytes == 0 {
			f.store.FlushBytes = min(256<<20, memoryLimit()/16)
		}
		if f.store.MemoryBudget == 0 {
			f.store.MemoryBudget = max(4*f.store.FlushBytes, memoryLimit()/4)
		}
		if f.store.MaxSeries == 0 {
			f.store.MaxSeries = int(memoryLimit() / 4 / seriesBytes)
		}
		f.store.MaxSeries = max(0, f.store.MaxSeries)
		if f.store.MinFree == 0 {
			f.store.MinFree = -1
		}
		if f.store.Sync, err = tsdb.ParseSyncPolicy(sync); err != nil {
			return fmt.Errorf("--storage.wal-sync: %w", err)
		}
		return nil
	}
}

// addCaches adds what queries keep of the store between each other.
func (f *flags) addCaches(app *kingpin.Application) (finish func()) {
	sizes := []*int64{&f.store.IndexCacheBytes, &f.store.LabelCacheBytes, &f.store.BlockCacheBytes, &f.store.SampleCacheBytes}
	for i, c := range []struct{ name, help, size string }{
		{"storage.index-cache-size", "Memory in which look-ups in the indexes of parts are kept; 0 keeps none.", "64MiB"},
		{"storage.label-cache-size", "Memory in which label sets that queries asked for are kept; 0 keeps none.", "32MiB"},
		{"storage.block-cache-size", "Memory in which stored blocks, compressed, that queries read again and again are kept; 0 keeps none.", "16MiB"},
		{"storage.sample-cache-size", "Memory in which samples are kept decoded for queries, whole blocks of them for long reads or while there is room; those that are asked for once only while there is room. 0 keeps none.", "16MiB"},
	} {
		app.Flag(c.name, c.help).Default(c.size).SetValue(&bytesValue{c.name, sizes[i]})
	}
	return func() {
		for _, n := range sizes {
			if *n == 0 { // which means the default to the store
				*n = -1
			}
		}
	}
}

// seriesBytes is what a registered series takes at most, but for very long labels:
// its share of the index and of the caches of the doors.
const seriesBytes = 512

// durationValue reads durations as Prometheus writes them, days and weeks too.
type durationValue struct {
	flag string
	d    *time.Duration
}

func (v *durationValue) Set(s string) error {
	d, err := model.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("--%s: %q is no duration such as 90s, 2h or 30d", v.flag, s)
	}
	*v.d = time.Duration(d)
	return nil
}

func (v *durationValue) String() string {
	if v.d == nil {
		return "0"
	}
	return model.Duration(*v.d).String()
}

// bytesValue reads sizes: plain bytes, or with a unit as in 512MB or 1GiB, both
// of 1024.
type bytesValue struct {
	flag string
	n    *int64
}

func (b *bytesValue) Set(s string) error {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
		*b.n = n
		return nil
	}
	v, err := units.ParseBase2Bytes(s)
	if err != nil || v < 0 {
		return fmt.Errorf("--%s: %q is no size such as 1048576, 512MB or 1GiB", b.flag, s)
	}
	*b.n = int64(v)
	return nil
}

func (b *bytesValue) String() string {
	if b.n == nil || *b.n == 0 {
		return "0"
	}
	return units.Base2Bytes(*b.n).String()
}
