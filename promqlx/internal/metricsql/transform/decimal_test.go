package transform

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExponent(t *testing.T) {
	f := func(want int, v float64) {
		t.Helper()
		require.Equal(t, want, exponent(v), v)
		require.Equal(t, want, exponent(-v), -v)
	}
	f(0, 0)
	f(0, math.NaN())
	f(0, math.Inf(1))
	f(0, 1)
	f(1, 10)
	f(3, 1000)
	f(1, 1230)
	f(-1, 0.1)
	f(-2, 0.25)
	f(-3, 12345.678)
	f(22, 1e22)
	f(29, 1e30) // of digits behind the point, zeros are cut but once
	f(-7, 1e-7)
	f(-9, 1.5e-8)
	f(-1, 1234567.8)
	f(2, 1<<60) // 1152921504606846976 has more digits than count

	f(-7, 1e-6)

	// What has few digits and is not tiny is told exactly.
	for _, digits := range []string{"1", "7", "12", "99", "123", "4567", "98765"} {
		for e := -5; e < 12; e++ {
			v, err := strconv.ParseFloat(digits+"e"+strconv.Itoa(e), 64)
			require.NoError(t, err)
			require.Equal(t, e, exponent(v), v)
		}
	}
}
