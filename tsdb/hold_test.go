package tsdb_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// gateFS stops whoever opens or creates a file that stop names, until open is
// closed.
type gateFS struct {
	vfs.FS
	stop    func(name string) bool
	armed   atomic.Bool
	stopped chan struct{}
	open    chan struct{}
}

func newGate(fs vfs.FS, stop func(name string) bool) *gateFS {
	return &gateFS{FS: fs, stop: stop, stopped: make(chan struct{}, 100), open: make(chan struct{})}
}

func (g *gateFS) pass(name string) {
	if g.armed.Load() && g.stop(name) {
		g.stopped <- struct{}{}
		<-g.open
	}
}

func (g *gateFS) Open(name string) (vfs.File, error) {
	g.pass(name)
	return g.FS.Open(name)
}

func (g *gateFS) Create(name string) (vfs.File, error) {
	g.pass(name)
	return g.FS.Create(name)
}

// A job that reads parts for long, as a scrub at its rate or a large merge, does
// not keep samples in memory that were flushed meanwhile.
func TestLongJobsLetTheHeadGo(t *testing.T) {
	ctx := context.Background()
	f := func(name string, job func(db *tsdb.DB) error, stop func(name string) bool) {
		t.Helper()
		gate := newGate(vfs.NewMem(), stop)
		opts := quiet()
		opts.FS = gate
		db, err := tsdb.Open("store", opts)
		require.NoError(t, err)
		for i := range int64(2) {
			require.NoError(t, put(db, "a", 0, someTime+i, 1))
			require.NoError(t, db.ForceFlush(ctx))
		}
		require.NoError(t, db.Delete(ctx, someTime, someTime, matchID("a")))
		gate.armed.Store(true)
		done := make(chan error, 1)
		go func() { done <- job(db) }()
		<-gate.stopped
		gate.armed.Store(false)
		require.NoError(t, put(db, "a", 0, someTime+2, 1))
		require.NoError(t, db.ForceFlush(ctx), name)
		require.Eventually(t, func() bool { return db.Stats().HeadBytes == 0 }, time.Minute, time.Millisecond, "%s holds flushed samples", name)
		close(gate.open)
		require.NoError(t, <-done)
		require.NoError(t, db.Close())
	}
	inTmp := func(name string) bool { return strings.Contains(name, "/tmp-") }
	f("scrub", func(db *tsdb.DB) error { return db.Scrub(ctx) }, func(name string) bool { return strings.HasSuffix(name, "/data") })
	f("clean", func(db *tsdb.DB) error { return db.CleanTombstones(ctx) }, inTmp)
	f("merge", func(db *tsdb.DB) error { return db.ForceMerge(ctx) }, inTmp)
}
