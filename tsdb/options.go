package tsdb

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/varvedb/varve/tsdb/internal/index"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// Options says how a store behaves. The zero value works.
type Options struct {
	// Retention is the age after which samples are dropped, by whole days where
	// that is possible; queries never see older ones. 0 keeps everything.
	Retention time.Duration
	// RetentionBytes bounds the size of all parts; the oldest days go first. 0
	// sets no bound.
	RetentionBytes int64
	// MaxFuture is how far ahead of the clock a sample may lie, 2 days if 0.
	MaxFuture time.Duration

	// Sync says when the log reaches the disk, every 100 ms if zero.
	Sync SyncPolicy
	// FlushBytes is the size of the samples in memory at which they are written
	// out as parts, 256 MiB if 0.
	FlushBytes int64
	// FlushInterval is the age at which they are, 2 h if 0.
	FlushInterval time.Duration

	// MemoryBudget bounds the memory of the samples not written out yet; past it
	// writes are refused. Four times FlushBytes if 0.
	MemoryBudget int64
	// MaxSeries bounds the registered series; past it new ones are refused. 0
	// sets no bound.
	MaxSeries int
	// MinFree is the disk space kept free: below it writes are refused, so that
	// what was acknowledged can still be flushed. 64 MiB if 0; negative switches
	// the check off.
	MinFree int64

	// MaxLabelBytes bounds the names and values of one series, 2 MiB if 0;
	// MaxLabels their number, 512 if 0.
	MaxLabelBytes int
	MaxLabels     int

	// ScrubInterval is how often all stored bytes are compared with their
	// checksums, once a week if 0; negative switches that off. ScrubRate is how
	// many bytes per second are read for it, 8 MiB if 0.
	ScrubInterval time.Duration
	ScrubRate     int64

	// IndexCacheBytes bounds the memory of look-ups in the indexes of parts that
	// are remembered, 64 MiB if 0; negative switches that off.
	IndexCacheBytes int64

	// LabelCacheBytes bounds the memory of label sets that queries asked for, 32 MiB
	// if 0; negative switches that off.
	LabelCacheBytes int64

	// BlockCacheBytes bounds the memory of stored blocks, compressed, that queries
	// read again and again, 16 MiB if 0; negative switches that off. Of mapped data
	// files, of which statistics use little, up to twice as much is in memory.
	BlockCacheBytes int64

	// SampleCacheBytes bounds the memory of samples that are kept decoded, 16 MiB if 0;
	// negative switches that off: stretches of blocks for short reads, whole blocks for
	// long ones and while there is room. What is asked for once is kept while there is
	// room, too (see View.AppendNarrow).
	SampleCacheBytes int64

	// FailOnDamage makes every read fail that meets a damaged block. Otherwise
	// only the first does; later ones leave the block out and say so, see
	// View.Damage.
	FailOnDamage bool

	// Events is told what the store does; nil is silence.
	Events *Events

	// FS is the file system, the operating system's if nil. Packages outside
	// tsdb leave it alone.
	FS vfs.FS
}

func (o Options) withDefaults() Options {
	if o.MaxFuture == 0 {
		o.MaxFuture = 48 * time.Hour
	}
	if o.Sync == (SyncPolicy{}) {
		o.Sync = SyncEvery(100 * time.Millisecond)
	}
	if o.FlushBytes == 0 {
		o.FlushBytes = 256 << 20
	}
	if o.FlushInterval == 0 {
		o.FlushInterval = 2 * time.Hour
	}
	if o.MemoryBudget == 0 {
		o.MemoryBudget = 4 * o.FlushBytes
	}
	if o.MinFree == 0 {
		o.MinFree = 64 << 20
	}
	if o.MaxLabelBytes == 0 {
		o.MaxLabelBytes = 2 << 20
	}
	if o.MaxLabels == 0 {
		o.MaxLabels = 512
	}
	if o.ScrubInterval == 0 {
		o.ScrubInterval = 7 * 24 * time.Hour
	}
	if o.ScrubRate == 0 {
		o.ScrubRate = 8 << 20
	}
	if o.IndexCacheBytes == 0 {
		o.IndexCacheBytes = 64 << 20
	}
	if o.LabelCacheBytes == 0 {
		o.LabelCacheBytes = 32 << 20
	}
	if o.BlockCacheBytes == 0 {
		o.BlockCacheBytes = 16 << 20
	}
	if o.SampleCacheBytes == 0 {
		o.SampleCacheBytes = 16 << 20
	}
	if o.Events == nil {
		o.Events = &Events{}
	}
	if o.FS == nil {
		o.FS = vfs.OS{}
	}
	return o
}

// Validate reports every mistake in o at once.
func (o Options) Validate() error {
	var errs []error
	bad := func(cond bool, text string) {
		if cond {
			errs = append(errs, errors.New(text))
		}
	}
	bad(o.Retention < 0, "retention is negative")
	bad(o.Retention > 0 && o.Retention < time.Hour, "retention is shorter than an hour")
	bad(o.RetentionBytes < 0, "retention size is negative")
	bad(o.MaxFuture < 0, "max future is negative")
	bad(o.FlushBytes < 0, "flush size is negative")
	bad(o.FlushInterval < 0, "flush interval is negative")
	bad(o.MemoryBudget < 0, "memory budget is negative")
	bad(o.ScrubRate < 0, "scrub rate is negative")
	bad(o.MaxSeries < 0, "series limit is negative")
	return errors.Join(errs...)
}

// SyncPolicy says when the log reaches the disk. The zero value stands for the
// default.
type SyncPolicy struct {
	mode     syncMode
	interval time.Duration
}

type syncMode uint8

const (
	syncDefault syncMode = iota
	syncAlways
	syncInterval
	syncOff
)

// SyncAlways makes every request wait until it is on disk.
func SyncAlways() SyncPolicy { return SyncPolicy{mode: syncAlways} }

// SyncEvery syncs at an interval: a power loss costs at most that much.
func SyncEvery(d time.Duration) SyncPolicy { return SyncPolicy{mode: syncInterval, interval: d} }

// SyncOff leaves it to the operating system.
func SyncOff() SyncPolicy { return SyncPolicy{mode: syncOff} }

// ParseSyncPolicy reads "always", "off" or a duration such as "100ms".
func ParseSyncPolicy(s string) (SyncPolicy, error) {
	switch s {
	case "always":
		return SyncAlways(), nil
	case "off":
		return SyncOff(), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return SyncPolicy{}, fmt.Errorf("sync policy %q is not always, off or a positive duration", s)
	}
	return SyncEvery(d), nil
}

func (p SyncPolicy) String() string {
	switch p.mode {
	case syncAlways:
		return "always"
	case syncOff:
		return "off"
	case syncInterval:
		return p.interval.String()
	}
	return "default"
}

// indexCaches returns the caches that the indexes of all parts share: of
// IndexCacheBytes a quarter for the values that regular expressions accept, the rest
// for the series that lists of matchers select; and that of label sets.
func (o Options) indexCaches() (c index.Caches) {
	if o.IndexCacheBytes > 0 {
		n := int(min(o.IndexCacheBytes, math.MaxInt))
		c.Values, c.Results = index.NewCache(n/4), index.NewCache(n-n/4)
	}
	if o.LabelCacheBytes > 0 {
		c.Sets = index.NewLabelSets(int(min(o.LabelCacheBytes, math.MaxInt)))
	}
	return c
}
