package influx

import (
	"fmt"
	"math"
	"math/rand"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseValue(t *testing.T) {
	f := func(text string, want float64) {
		t.Helper()
		got, ok := parseValue([]byte(text))
		require.True(t, ok, text)
		require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%s: got %v, want %v", text, got, want)
	}
	f("1702878157125929618i", 1702878157125929728)
	f("9007199254740993", 9007199254740992)
	f("9007199254740993i", 9007199254740992)
	f("18446744073709551615u", 18446744073709551616)
	f("-9223372036854775808i", -9223372036854775808)
	f("1e-320", 1e-320)
	f("5e-324", math.SmallestNonzeroFloat64)
	f("-0", math.Copysign(0, -1))
	f("-0.0e5", math.Copysign(0, -1))
	f("-0i", 0)
	f(".5", 0.5)
	f("5.", 5)
	f("0000000000000000000000000012.5", 12.5)
	f("1e22", 1e22)
	f("1e23", 1e23)
	f("123456789012345678e-22", 123456789012345678e-22)
	f("8.41e21", 8.41e21)
	f("1.7976931348623157e+308", math.MaxFloat64)
	f("1e-400", 0)
	f("T", 1)
	f("FALSE", 0)
}

func TestParseValueRefuses(t *testing.T) {
	for _, text := range []string{
		"", "-", ".", "-.", "i", "-i", "u", "-1u", "1.5i", "1.5u", "9223372036854775808i", "18446744073709551616u",
		"1e", "1e+", "1e400", "-1e309", "+4", "0x10", "0x1p-2", "1_000", "inf", "-inf", "Infinity", "nan", "-nan", "NaN",
		"1f", "1I", "1U", "tRue", "tr", "yes", "1 ", " 1", "1ii", "1..2", "1e1.5", "--1", "1-1", "e5", "1e5i",
	} {
		_, ok := parseValue([]byte(text))
		require.False(t, ok, text)
	}
}

// The fast reader of numbers agrees with the exact one wherever it answers.
func TestParsePlainIsExact(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	answered := 0
	f := func(text string) {
		got, n := parsePlain([]byte(text))
		if n == 0 {
			return
		}
		answered++
		require.Equal(t, len(text), n, text)
		want, ok := parseExact([]byte(text))
		require.True(t, ok, text)
		require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%s: got %v, want %v", text, got, want)
	}
	for range 50_000 {
		v := math.Float64frombits(r.Uint64())
		if r.Intn(2) == 0 {
			v = float64(r.Int63n(1<<uint(1+r.Intn(62)))) / math.Pow10(r.Intn(25))
		}
		f(strconv.FormatFloat(v, "feg"[r.Intn(3)], r.Intn(20)-1, 64))
		f(fmt.Sprintf("%di", r.Int63()>>uint(r.Intn(63))-r.Int63n(9)))
		f(fmt.Sprintf("%du", r.Uint64()>>uint(r.Intn(64))))
		f(fmt.Sprintf("%d.%de%d", r.Intn(100), r.Int63n(1<<uint(1+r.Intn(50))), r.Intn(60)-30))
	}
	require.Greater(t, answered, 75_000)
}

func TestMillis(t *testing.T) {
	const now = 77
	f := func(arg string, raw, want int64) {
		t.Helper()
		p, err := parsePrecision(arg)
		require.NoError(t, err)
		got, ok := p.millis(raw, now)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	for _, arg := range []string{"ns", "n", "NS"} {
		f(arg, 1749938400001999999, 1749938400001)
	}
	for _, arg := range []string{"us", "u", "µ", "µs"} {
		f(arg, 1749938400001999, 1749938400001)
	}
	f("ms", 1749938400001, 1749938400001)
	f("s", 1749938400, 1749938400000)
	f("S", 1749938400, 1749938400000)
	f("m", 29165640, 1749938400000)
	f("h", 486094, 1749938400000)
	f("ns", -1, -1)
	f("ns", 0, 0)
	// Without a precision the size decides.
	f("", 1749938400, 1749938400000)
	f("", 1749938400001, 1749938400001)
	f("", 1749938400001999, 1749938400001)
	f("", 1749938400001999999, 1749938400001)
	f("", 0, now)
	f("", 1, 1000)

	for _, p := range []precision{precisionSecond, precisionMinute, precisionHour, precisionGuess} {
		_, ok := p.millis(math.MinInt64, now)
		require.False(t, ok)
	}
	_, ok := precisionSecond.millis(1749938400000000000, now)
	require.False(t, ok)
	_, err := parsePrecision("bogus")
	require.EqualError(t, err, `unknown precision "bogus": want one of ns, us, ms, s, m, h`)
}
