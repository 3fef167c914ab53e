package server

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// newRand returns a source of chance whose seed is printed; E2E_SEED sets it.
func newRand(t *testing.T) *rand.Rand {
	now := int(time.Now().UnixNano())
	seed := envInt("E2E_SEED", now, now)
	t.Logf("E2E_SEED=%d", seed)
	return rand.New(rand.NewPCG(uint64(seed), 0))
}

// A random history of writes in any order, overwrites, deletes, flushes, merges,
// kills and restarts leaves what a map would hold. E2E_STEPS sets its length.
func TestModel(t *testing.T) {
	m := &model{t: t, rng: newRand(t), samples: map[string]map[int64]float64{}}
	m.v = harness.StartVarve(t, "--storage.flush-size=256KiB", "--storage.max-future=2d")
	m.base = scriptTime()*1000 - 40*24*3600*1000
	for i := range envInt("E2E_STEPS", 40, 200) {
		m.step()
		if i%10 == 9 {
			m.check()
		}
	}
	inEveryState(t, m.v, func(*testing.T) { m.check() })
}

// model is the obvious store.
type model struct {
	t       *testing.T
	v       *harness.Varve
	rng     *rand.Rand
	base    int64
	samples map[string]map[int64]float64 // by series and time
	log     []string                     // the last steps, for the report of a failure
}

const (
	modelSeries = 30
	modelDays   = 40
)

func (m *model) step() {
	switch n := m.rng.IntN(100); {
	case n < 45:
		m.write(1 + m.rng.IntN(200))
	case n < 60:
		m.writeRun()
	case n < 72:
		m.delete()
	case n < 80:
		m.note("flush")
		m.v.Flush(m.t)
	case n < 86:
		m.note("merge")
		m.v.Merge(m.t)
	case n < 90:
		m.note("clean tombstones")
		m.v.PostForm(m.t, "/api/v1/admin/tsdb/clean_tombstones").Require(m.t, http.StatusNoContent)
	case n < 97:
		m.note("kill")
		m.v.Kill()
		m.v.Restart(m.t)
	default:
		m.note("restart")
		m.v.Stop(m.t)
		m.v.Restart(m.t)
	}
}

func (m *model) note(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
	m.log = m.log[max(0, len(m.log)-40):]
}

func (m *model) name() string { return fmt.Sprintf("m%02d", m.rng.IntN(modelSeries)) }

// time is coarse, so that samples meet.
func (m *model) time() int64 {
	day := int64(m.rng.IntN(modelDays))
	return m.base + day*24*3600*1000 + int64(m.rng.IntN(300))*int64(1000+m.rng.IntN(2)*287_000)
}

// write sends samples at random times in one request.
func (m *model) write(n int) {
	m.note("write %d", n)
	byName := map[string]*prompb.TimeSeries{}
	for range n {
		name := m.name()
		if byName[name] == nil {
			byName[name] = &prompb.TimeSeries{Labels: harness.PB("__name__", "model", "s", name)}
		}
		at, v := m.time(), float64(m.rng.IntN(1000))/8
		byName[name].Samples = append(byName[name].Samples, prompb.Sample{Timestamp: at, Value: v})
	}
	var series []prompb.TimeSeries
	for _, s := range byName {
		series = append(series, *s)
	}
	m.send(series...)
}

// writeRun sends a run of samples of one series at a steady interval.
func (m *model) writeRun() {
	name, at := m.name(), m.time()
	n, interval := 1+m.rng.IntN(2000), int64(1000*(1+m.rng.IntN(60)))
	m.note("write a run of %d for %s from %d every %d", n, name, at, interval)
	ts := prompb.TimeSeries{Labels: harness.PB("__name__", "model", "s", name)}
	for i := range int64(n) {
		ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: at + i*interval, Value: float64(i) * 1.1})
	}
	if m.rng.IntN(3) == 0 {
		slices.Reverse(ts.Samples)
	}
	m.send(ts)
}

func (m *model) send(series ...prompb.TimeSeries) {
	if m.rng.IntN(2) == 0 {
		m.v.WriteV1(m.t, series...).Require(m.t, http.StatusNoContent)
	} else {
		m.v.PostV2(m.t, harness.EncodeV2(m.t, harness.V2(series...))).Require(m.t, http.StatusNoContent)
	}
	for _, s := range series {
		name := s.Labels[1].Value
		if m.samples[name] == nil {
			m.samples[name] = map[int64]float64{}
		}
		for _, x := range s.Samples {
			m.samples[name][x.Timestamp] = x.Value
		}
	}
}

func (m *model) delete() {
	from := m.time()
	to := from + int64(m.rng.IntN(48*3600*1000))
	selector, hit := `model`, func(string) bool { return true }
	if m.rng.IntN(4) > 0 {
		name := m.name()
		selector, hit = fmt.Sprintf(`model{s="%s"}`, name), func(s string) bool { return s == name }
	}
	m.note("delete %s %d..%d", selector, from, to)
	m.v.PostForm(m.t, "/api/v1/admin/tsdb/delete_series", "match[]", selector,
		"start", fmt.Sprintf("%.3f", float64(from)/1000), "end", fmt.Sprintf("%.3f", float64(to)/1000)).Require(m.t, http.StatusNoContent)
	for name, points := range m.samples {
		if hit(name) {
			for at := range points {
				if from <= at && at <= to {
					delete(points, at)
				}
			}
		}
	}
}

// check compares everything, and a random range.
func (m *model) check() {
	m.t.Helper()
	m.compare(harness.Streamed, 0, m.base+100*24*3600*1000)
	from := m.time()
	m.compare(harness.Sampled, from, from+int64(m.rng.IntN(72*3600*1000)))
}

func (m *model) compare(form prompb.ReadRequest_ResponseType, mint, maxt int64) {
	m.t.Helper()
	got := map[string][]harness.RemotePoint{}
	for _, s := range m.v.RemoteRead(m.t, form, mint, maxt, harness.Eq("__name__", "model")) {
		got[s.Labels.Get("s")] = s.Points
	}
	for i := range modelSeries {
		name := fmt.Sprintf("m%02d", i)
		var want []harness.RemotePoint
		for at, v := range m.samples[name] {
			if mint <= at && at <= maxt {
				want = append(want, harness.RemotePoint{T: at, V: v})
			}
		}
		slices.SortFunc(want, func(a, b harness.RemotePoint) int { return int(a.T - b.T) })
		if !slices.Equal(want, got[name]) {
			require.Equal(m.t, want, got[name], "series %s in %d..%d after %q", name, mint, maxt, m.log)
		}
	}
}
