package harness

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Prometheus is a running Prometheus server.
type Prometheus struct {
	*Process
	Client
}

// StartPrometheus starts Prometheus with a configuration and waits until it is
// ready. In the configuration $ADDR stands for its own address.
func StartPrometheus(t testing.TB, config string, flags ...string) *Prometheus {
	t.Helper()
	bin := PrometheusBinary(t)
	dir := t.TempDir()
	addr := FreeAddress(t)
	config = os.Expand(config, func(name string) string {
		if name == "ADDR" {
			return addr
		}
		return "$" + name
	})
	file := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	args := append([]string{
		"--config.file=" + file,
		"--storage.tsdb.path=" + filepath.Join(dir, "data"),
		"--web.listen-address=" + addr,
	}, flags...)
	p := &Prometheus{Process: startProcess(t, bin, args...), Client: NewClient("http://" + addr)}
	waitReady(t, p.Process, p.Client)
	return p
}
