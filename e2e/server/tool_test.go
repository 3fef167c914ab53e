package server

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// varvectl looks into the folder of a running and of a stopped store, changes
// nothing there, and finds damage.
func TestVarvectl(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime() * 1000
	for i := range int64(3) {
		ts := prompb.TimeSeries{Labels: harness.PB("__name__", "tool", "i", seconds(i))}
		for k := range int64(100) {
			ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: base + k*1000, Value: float64(k)})
		}
		v.WriteV1(t, ts).Require(t, http.StatusNoContent)
		if i < 2 {
			v.Flush(t)
		}
	}
	for _, running := range []bool{true, false} {
		if !running {
			v.Kill()
		}
		before := treeSize(t, v.Dir)
		for _, command := range []string{"db check", "part ls", "part verify", "wal ls", "wal verify", "wal dump", "index stats", "manifest show"} {
			code, out := varvectl(t, v.Dir, command)
			require.Zero(t, code, "%s: %s", command, out)
			require.NotEmpty(t, out, command)
		}
		if !running {
			require.Equal(t, before, treeSize(t, v.Dir), "varvectl writes nothing")
		}
	}
	part := ""
	for _, file := range dataFiles(t, v.Dir) {
		if strings.HasPrefix(file, "parts"+string(filepath.Separator)) && filepath.Base(file) == "data" {
			part = file
		}
	}
	require.NotEmpty(t, part)
	flip(t, filepath.Join(v.Dir, part), func(n int) int { return n / 2 })
	for _, command := range []string{"part verify", "db check"} {
		code, out := varvectl(t, v.Dir, command)
		require.Equal(t, 1, code, "%s: %s", command, out)
		require.Contains(t, out, filepath.Base(filepath.Dir(part)), command)
	}
}

func varvectl(t *testing.T, dir, command string) (code int, out string) {
	cmd := exec.Command(harness.VarvectlBinary(t), append(strings.Fields(command), "--storage.path="+dir)...)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), string(text)
	}
	require.NoError(t, err)
	return 0, string(text)
}

// treeSize returns every file with its size and time.
func treeSize(t *testing.T, dir string) map[string]string {
	out := map[string]string{}
	for _, file := range dataFiles(t, dir) {
		info, err := os.Stat(filepath.Join(dir, file))
		require.NoError(t, err)
		out[file] = info.ModTime().String() + " " + seconds(info.Size())
	}
	return out
}
