package server

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// PB-01, PB-19: in a store without a single sample everything is absent, and is
// still so after a restart.
func TestPitfallEmptyStore(t *testing.T) {
	v := harness.StartVarve(t)
	inEveryState(t, v, func(t *testing.T) {
		for query, want := range map[string][]string{
			`(absent(first{a="a",b="b1"}) == 0) or on(a) (absent(second{a="a",b="b2"}))`: {`{a="a", b="b2"} 1`},
			`absent_over_time(no_such_metric[5m])`:                                       {`{} 1`},
			`absent(no_such{a="1",a="2"})`:                                               {`{} 1`},
			`absent(sum(no_such{a="1"}))`:                                                {`{} 1`},
			`sum(no_such) or vector(0)`:                                                  {`{} 0`},
			`count(no_such)`:                                                             {},
			`no_such offset -1h`:                                                         {},
		} {
			at := seconds(scriptTime())
			require.Equal(t, want, v.Query(t, query, at).Values(), query)
			for i, line := range want {
				want[i] = line + line[strings.LastIndexByte(line, ' '):] // at two steps
			}
			require.Equal(t, want, v.QueryRange(t, query, at, seconds(scriptTime()+60), "60").Values(), query)
		}
	})
}

// steps writes what Timed prints of one series that has no label: each value
// from an offset to another, inclusive, every step seconds.
func steps(step int64, runs ...[3]int64) []string {
	var out strings.Builder
	out.WriteString("{}")
	for _, r := range runs {
		for s := r[1]; s <= r[2]; s += step {
			fmt.Fprintf(&out, " %d@%d", r[0], s)
		}
	}
	return []string{out.String()}
}

// PB-58: the very query whose answer was cached sees what came late, what was
// deleted and what ended, in every state of the store, and is right the second
// time too.
func TestPitfallLateData(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	at := func(s int64) int64 { return (base + s) * 1000 }
	write := func(points ...prompb.Sample) {
		t.Helper()
		v.WriteV1(t, prompb.TimeSeries{Labels: harness.PB("__name__", "bf"), Samples: points}).Require(t, http.StatusNoContent)
	}
	ask := func(t *testing.T, want []string) {
		t.Helper()
		for range 2 {
			r := v.QueryRange(t, "sum(bf)", seconds(base), seconds(base+3600), "60")
			require.Equal(t, want, r.Timed(t, float64(base)))
		}
	}
	write(prompb.Sample{Timestamp: at(0), Value: 1}, prompb.Sample{Timestamp: at(60), Value: 1}, prompb.Sample{Timestamp: at(3600), Value: 1})
	early := steps(60, [3]int64{1, 0, 300}, [3]int64{1, 3600, 3600})
	inEveryState(t, v, func(t *testing.T) { ask(t, early) })

	var late []prompb.Sample
	for s := int64(300); s <= 3000; s += 300 {
		late = append(late, prompb.Sample{Timestamp: at(s), Value: 5})
	}
	write(late...)
	filled := steps(60, [3]int64{1, 0, 240}, [3]int64{5, 300, 3240}, [3]int64{1, 3600, 3600})
	inEveryState(t, v, func(t *testing.T) { ask(t, filled) })

	write(prompb.Sample{Timestamp: at(1000), Value: math.Float64frombits(value.StaleNaN)})
	ended := steps(60, [3]int64{1, 0, 240}, [3]int64{5, 300, 960}, [3]int64{5, 1200, 3240}, [3]int64{1, 3600, 3600})
	inEveryState(t, v, func(t *testing.T) { ask(t, ended) })

	v.PostForm(t, "/api/v1/admin/tsdb/delete_series", "match[]", "bf", "start", seconds(base+2000), "end", seconds(base+3000)).Require(t, http.StatusNoContent)
	deleted := steps(60, [3]int64{1, 0, 240}, [3]int64{5, 300, 960}, [3]int64{5, 1200, 2040}, [3]int64{1, 3600, 3600})
	inEveryState(t, v, func(t *testing.T) { ask(t, deleted) })
}

// PB-14: no grid is moved to that of a query which was asked before, of the same
// step, another step or another length.
func TestPitfallGrids(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	ramp := prompb.TimeSeries{Labels: harness.PB("__name__", "grid")}
	for i := range int64(3600) {
		ramp.Samples = append(ramp.Samples, prompb.Sample{Timestamp: (base + i) * 1000, Value: float64(i)})
	}
	v.WriteV1(t, ramp).Require(t, http.StatusNoContent)
	inEveryState(t, v, func(t *testing.T) {
		for range 2 {
			for _, g := range []struct{ start, end, step int64 }{ // milliseconds
				{0, 3_600_000, 60_000}, {7_000, 3_500_000, 60_000}, {7_001, 3_500_000, 60_000}, {600_000, 1_200_000, 60_000},
				{30_000, 3_600_000, 90_000}, {-120_000, 3_000_000, 60_000}, {59_999, 3_659_999, 60_000}, {1_500, 100_000, 700},
			} {
				want := "{}"
				for ms := g.start; ms <= g.end; ms += g.step {
					if ms >= 0 {
						want += fmt.Sprintf(" %d@%v", min(3599, ms/1000), float64(ms)/1000)
					}
				}
				r := v.QueryRange(t, "max_over_time(grid[5m])", millis(base*1000+g.start), millis(base*1000+g.end), millis(g.step))
				require.Equal(t, []string{want}, r.Timed(t, float64(base)), "%+v", g)
			}
		}
	})
}

// millis spells milliseconds as seconds.
func millis(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }
