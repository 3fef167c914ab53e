package api

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/internal/vmhttp"
)

// Values are written as each of them is by itself, however long they are, in answers of
// any length.
func TestWriteGrid(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	value := func() float64 {
		switch r.IntN(8) {
		case 0:
			return math.NaN()
		case 1:
			return math.Float64frombits(r.Uint64())
		case 2:
			return math.Pow(-0.25, float64(r.IntN(1000)-500))
		case 3:
			return math.Inf(r.IntN(2) - 1)
		case 4:
			return math.Copysign(0, -1)
		case 5:
			return float64(r.IntN(200_000)) / 100
		}
		return float64(r.IntN(1200))
	}
	for range 300 {
		out := &promqlx.MetricsQLResult{Kind: promqlx.MetricsQLMatrix, Start: 1_700_000_000_000, Step: 15_000}
		n := 1 + r.IntN(2000)
		huge := r.IntN(4) == 0
		for range r.IntN(4) {
			values := make([]float64, n)
			for i := range values {
				if values[i] = value(); huge {
					values[i] = math.MaxFloat64 / float64(1+r.IntN(9))
				}
			}
			out.Series = append(out.Series, promqlx.MetricsQLSeries{Name: "m", Values: values})
		}
		var want []byte
		for _, one := range out.Series {
			open := `{"metric":{"__name__":"m"},"values":[`
			if len(want) > 0 {
				open = "," + open
			}
			some := false
			for i, v := range one.Values {
				if v != v {
					continue
				}
				want = append(want, open...)
				want = vmhttp.AppendPoint(want, out.Start+int64(i)*out.Step, v)
				open, some = ",", true
			}
			if some {
				want = append(want, "]}"...)
			}
		}
		var got bytes.Buffer
		s := (&sinkPool{}).get(&got)
		s.writeGrid(out)
		require.NoError(t, s.flush())
		require.Equal(t, string(want), got.String())
	}
}
