package mqldiff

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// dataSeed is that of the data of recorded answers.
const dataSeed = 1

// load brings the data in as clients do; some stay in memory, in varve.
func load(t testing.TB, c harness.Client, d *dataset) {
	lines, err := d.importLines()
	require.NoError(t, err)
	c.Post(t, "/api/v1/import", "application/json", lines).Require(t, 204)
	c.Get(t, "/internal/force_flush").Require(t, 200)
	c.WriteV1(t, d.marked()...).Require(t, 204)
}

// startVarve starts varve with the data in it.
func startVarve(t testing.TB, d *dataset) harness.Client {
	v := harness.StartVarve(t)
	load(t, v.Client, d)
	return v.Client
}

// victoria is a running VictoriaMetrics.
type victoria struct {
	t    testing.TB
	bin  string
	data *dataset

	cmd    *exec.Cmd
	client harness.Client
}

// startVM starts VictoriaMetrics with the data in it.
func startVM(t testing.TB, bin string, d *dataset) *victoria {
	v := &victoria{t: t, bin: bin, data: d}
	v.start()
	t.Cleanup(v.stop)
	return v
}

func (v *victoria) stop() {
	_ = v.cmd.Process.Kill()
	_ = v.cmd.Wait()
}

func (v *victoria) start() {
	addr := harness.FreeAddress(v.t)
	v.cmd = exec.Command(v.bin, "-retentionPeriod=100y", "-storageDataPath="+filepath.Join(v.t.TempDir(), "vm"), "-httpListenAddr="+addr, "-memory.allowedBytes=1GiB")
	v.cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "TZ=UTC")
	require.NoError(v.t, v.cmd.Start())
	v.client = harness.NewClient("http://" + addr)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if r, err := v.client.Send("GET", "/health", nil); err == nil && r.Status == 200 {
			break
		}
		require.True(v.t, time.Now().Before(deadline), "VictoriaMetrics does not start")
	}
	load(v.t, v.client, v.data)
	v.client.Get(v.t, "/internal/force_flush").Require(v.t, 200) // to be found
}

// crashed is the status of a question that VictoriaMetrics does not survive.
const crashed = 0

// ask empties the cache and asks. If that is the end of the server, another is
// started.
func (v *victoria) ask(q question) answer {
	v.client.Get(v.t, "/internal/resetRollupResultCache").Require(v.t, 200)
	r, err := v.client.Send("GET", "/api/v1/"+q.String(), nil)
	if err != nil {
		v.t.Logf("VictoriaMetrics ends at %s: %v", q.String(), err)
		v.stop()
		v.start()
		return answer{Status: crashed}
	}
	return newAnswer(r.Status, r.String())
}

func askVarve(t testing.TB, c harness.Client, q question) answer {
	r := c.Do(t, "GET", "/metricsql/api/v1/"+q.String(), nil)
	return newAnswer(r.Status, r.String())
}
