package vmhttp

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAppendNumber(t *testing.T) {
	f := func(v float64, want string) {
		t.Helper()
		require.Equal(t, want, string(AppendNumber(nil, v)))
	}
	f(0, "0")
	f(math.Copysign(0, -1), "0")
	f(-17, "-17")
	f(0.1, "0.1")
	f(1.5e-7, "0.00000015")
	f(1e21, "1000000000000000000000")
	f(1<<60, "1152921504606846976")
	f(1<<63, "9223372036854776000") // beyond, the fewest digits
	f(-1<<63, "-9223372036854775808")
	f(math.Inf(1), "+Inf")
	f(math.Inf(-1), "-Inf")
	f(math.NaN(), "NaN")
}

func TestAppendSeconds(t *testing.T) {
	f := func(ms int64, want string) {
		t.Helper()
		require.Equal(t, want, string(AppendSeconds(nil, ms)))
	}
	f(0, "0")
	f(1749942000000, "1749942000")
	f(1001, "1.001")
	f(1010, "1.01")
	f(1100, "1.1")
	f(-1, "-0.001")
	f(-1500, "-1.5")
	require.Equal(t, `[1.5,"-2.25"]`, string(AppendPoint(nil, 1500, -2.25)))
}

func TestAppendString(t *testing.T) {
	f := func(s, want string) {
		t.Helper()
		require.Equal(t, want, string(AppendString(nil, s)))
	}
	f("", `""`)
	f("tempé <b> 'x' & y", `"tempé \u003cb> \u0027x\u0027 & y"`)
	f("\n\r\t\b\f\x01\x1f\x7f\"\\", `"\n\r\t\b\f\u0001\u001f`+"\x7f"+`\"\\"`)
	f("\xff", "\"\xff\"")
	for c := range 256 { // whatever it is, JSON reads it back, if it is UTF-8
		var back string
		s := string(rune(c)) + "x"
		require.NoError(t, json.Unmarshal(AppendString(nil, s), &back))
		require.Equal(t, s, back)
	}
}
