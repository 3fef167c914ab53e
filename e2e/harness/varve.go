package harness

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Varve is a running varve and the folder it works on.
type Varve struct {
	*Process
	Client
	Dir string

	flags []string
	addr  string
	owner testing.TB // the process lives as long as this test
}

// StartVarve starts varve on a fresh folder and waits until it is ready. flags
// are added to the command line.
func StartVarve(t testing.TB, flags ...string) *Varve {
	t.Helper()
	return StartVarveIn(t, filepath.Join(t.TempDir(), "data"), flags...)
}

// StartVarveIn starts varve on a folder.
func StartVarveIn(t testing.TB, dir string, flags ...string) *Varve {
	t.Helper()
	v := newVarve(t, dir, flags)
	v.Restart(t)
	return v
}

// LaunchVarve starts varve on a fresh folder and does not wait.
func LaunchVarve(t testing.TB, flags ...string) *Varve {
	t.Helper()
	v := newVarve(t, filepath.Join(t.TempDir(), "data"), flags)
	v.Launch(t)
	return v
}

func newVarve(t testing.TB, dir string, flags []string) *Varve {
	return &Varve{Dir: dir, flags: flags, addr: FreeAddress(t), owner: t}
}

// Restart starts varve again on the same folder and address after Kill or Stop,
// and waits until it is ready.
func (v *Varve) Restart(t testing.TB) {
	t.Helper()
	v.Launch(t)
	v.WaitReady(t)
}

// Launch starts varve and does not wait.
func (v *Varve) Launch(t testing.TB) {
	t.Helper()
	require.True(t, v.Process == nil || !v.Alive(), "varve runs already")
	args := append([]string{"--storage.path=" + v.Dir, "--web.listen-address=" + v.addr}, v.flags...)
	for _, name := range []string{"web.enable-admin-api", "web.enable-lifecycle"} {
		if !slices.Contains(v.flags, "--no-"+name) {
			args = append(args, "--"+name)
		}
	}
	v.Client = NewClient("http://" + v.addr)
	v.Process = startProcess(v.owner, VarveBinary(t), args...)
}

// WaitReadyOrExit waits until varve serves or has ended, and tells whether it
// serves.
func (v *Varve) WaitReadyOrExit(t testing.TB) bool {
	t.Helper()
	for deadline := time.Now().Add(readyTimeout); v.Alive(); time.Sleep(10 * time.Millisecond) {
		if status, err := v.try(http.MethodGet, "/-/ready"); err == nil && status == http.StatusOK {
			return true
		}
		require.True(t, time.Now().Before(deadline), "neither ready nor ended:\n%s", v.Logs())
	}
	return false
}

// WaitReady waits until varve serves.
func (v *Varve) WaitReady(t testing.TB) {
	t.Helper()
	waitReady(t, v.Process, v.Client)
}

func waitReady(t testing.TB, p *Process, c Client) {
	t.Helper()
	deadline := time.Now().Add(readyTimeout)
	for {
		status, err := c.try(http.MethodGet, "/-/ready")
		if err == nil && status == http.StatusOK {
			return
		}
		require.True(t, p.Alive(), "the program ended before it was ready:\n%s", p.Logs())
		require.True(t, time.Now().Before(deadline), "the program is not ready in time:\n%s", p.Logs())
		time.Sleep(10 * time.Millisecond)
	}
}

// Flush writes everything in memory out as parts.
func (v *Varve) Flush(t testing.TB) {
	t.Helper()
	v.Post(t, "/internal/force_flush", "", nil).Require(t, http.StatusOK)
}

// Merge joins the parts as far as possible.
func (v *Varve) Merge(t testing.TB) {
	t.Helper()
	v.Post(t, "/internal/force_merge", "", nil).Require(t, http.StatusOK)
}

// DiskBytes returns the size of all files in the data folder whose path does
// not lie in one of the folders named by except.
func (v *Varve) DiskBytes(t testing.TB, except ...string) int64 {
	var total int64
	err := filepath.WalkDir(v.Dir, func(path string, d os.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(v.Dir, path)
		if err != nil {
			return err
		}
		if top, _, _ := strings.Cut(rel, string(filepath.Separator)); slices.Contains(except, top) {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	require.NoError(t, err)
	return total
}
