package inspect

import (
	"io"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// TestRunningStore looks at a store that writes, flushes and merges meanwhile:
// nothing it does may look like damage.
func TestRunningStore(t *testing.T) {
	mem := vfs.NewMem()
	db := buildStore(t, mem, "db")
	store, err := open(mem, "db")
	require.NoError(t, err)
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() { stopped <- churn(t, db, stop) }()
	for range 40 {
		for _, look := range []func(io.Writer) error{
			store.Check, store.ListParts, store.ListLog, store.VerifyLog, store.Space, store.ReplayLog,
			func(w io.Writer) error {
				return store.Find(w, true, labels.MustNewMatcher(labels.MatchEqual, "__name__", "churn"))
			},
			func(w io.Writer) error { return store.ListBlocks(w, 0, nil) },
			func(w io.Writer) error { return store.BlockStats(w, "job", 2) },
			func(w io.Writer) error { return store.DumpParts(w, true) },
			func(w io.Writer) error { return store.IndexStats(w, 10) },
			func(w io.Writer) error { return store.DumpLog(w, true, 0) },
			func(w io.Writer) error { return store.ShowManifest(w, true) },
		} {
			var out strings.Builder
			require.NoError(t, look(&out), "%s", &out)
		}
	}
	close(stop)
	require.NoError(t, <-stopped)
	require.NoError(t, db.Close())
	require.NoError(t, store.Check(io.Discard))
}

func churn(t *testing.T, db *tsdb.DB, stop chan struct{}) error {
	lset := labels.FromStrings("__name__", "churn")
	for i := int64(0); ; i++ {
		select {
		case <-stop:
			return nil
		default:
		}
		b := db.Batch()
		s, err := b.Series(lset)
		if err != nil {
			return err
		}
		if err := b.Float(s, 0, day+i%7*1000, float64(i)); err != nil {
			return err
		}
		if err := b.Commit(t.Context()); err != nil {
			return err
		}
		if i%3 == 0 {
			if err := db.ForceFlush(t.Context()); err != nil {
				return err
			}
		}
		if i%7 == 0 {
			if err := db.ForceMerge(t.Context()); err != nil {
				return err
			}
		}
	}
}

// TestWriteError wants a full pipe to end a call with its error.
func TestWriteError(t *testing.T) {
	store, err := open(loadFixture(t, fixture1), "db")
	require.NoError(t, err)
	require.ErrorIs(t, store.Check(brokenPipe{}), io.ErrClosedPipe)
	require.ErrorIs(t, store.DumpLog(brokenPipe{}, true, 0), io.ErrClosedPipe)
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestOpen(t *testing.T) {
	_, err := Open(t.TempDir())
	require.ErrorContains(t, err, "MANIFEST")
	store, err := Open(fixture1)
	require.NoError(t, err)
	require.NoError(t, store.Check(io.Discard))
}
