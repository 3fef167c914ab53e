package server

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// A snapshot, copied elsewhere, serves what the store held when it was taken.
func TestSnapshot(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	at := seconds(base + 10)
	v.WriteV1(t, one(base*1000, 1, "__name__", "snap", "n", "flushed")).Require(t, http.StatusNoContent)
	v.Flush(t)
	v.WriteV1(t, one(base*1000, 2, "__name__", "snap", "n", "head"), one(base*1000, 3, "__name__", "snap", "n", "deleted")).Require(t, http.StatusNoContent)
	v.PostForm(t, "/api/v1/admin/tsdb/delete_series", "match[]", `snap{n="deleted"}`).Require(t, http.StatusNoContent)
	var snapshot struct{ Name string }
	v.PostForm(t, "/api/v1/admin/tsdb/snapshot").Data(t, &snapshot)
	require.NotEmpty(t, snapshot.Name)
	v.WriteV1(t, one(base*1000, 4, "__name__", "snap", "n", "later")).Require(t, http.StatusNoContent)
	v.PostForm(t, "/api/v1/admin/tsdb/delete_series", "match[]", `snap{n="flushed"}`).Require(t, http.StatusNoContent)
	v.Flush(t)
	v.Merge(t)

	dir := filepath.Join(t.TempDir(), "restored")
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(v.Dir, "snapshots", snapshot.Name))))
	restored := harness.StartVarveIn(t, dir)
	inEveryState(t, restored, func(t *testing.T) {
		require.Equal(t, []string{`{__name__="snap", n="flushed"} 1`, `{__name__="snap", n="head"} 2`}, restored.Query(t, "snap", at).Values())
	})
	require.Equal(t, []string{`{__name__="snap", n="head"} 2`, `{__name__="snap", n="later"} 4`}, v.Query(t, "snap", at).Values())
	restored.WriteV1(t, one(base*1000, 9, "__name__", "snap", "n", "restored")).Require(t, http.StatusNoContent)
	require.Len(t, v.Query(t, "snap", at).Series, 2, "the snapshot is no part of the store it was taken from")
}

// Without the flags that allow it, nothing is deleted, copied or reloaded.
func TestAdminIsOff(t *testing.T) {
	v := harness.StartVarve(t, "--no-web.enable-admin-api", "--no-web.enable-lifecycle")
	for _, path := range []string{"/api/v1/admin/tsdb/snapshot", "/api/v1/admin/tsdb/delete_series?match[]=up", "/api/v1/admin/tsdb/clean_tombstones", "/-/reload"} {
		resp := v.Do(t, http.MethodPost, path, nil)
		require.GreaterOrEqual(t, resp.Status, 400, path)
	}
}
