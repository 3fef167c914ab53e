package codec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTablesFrozen compares the compiled tables with a digest of each: tables of
// a released format never change. A new one appends a line.
func TestTablesFrozen(t *testing.T) {
	const file = "testdata/tables.sha256"
	var b strings.Builder
	for id := range Tables {
		if validTable(uint8(id)) {
			fmt.Fprintf(&b, "%d %x\n", id, sha256.Sum256(tables[id]().length))
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	stored, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(stored), b.String())
}

// TestVectors decodes streams of every codec as they were first written.
func TestVectors(t *testing.T) {
	const file = "testdata/vectors.txt"
	v := list(40, func(i int) int64 { return int64(i*i%17) - 3 + int64(i/20)*1000 })
	params := []Params{
		{Codec: Pack}, {Codec: Pack, Order: 1}, {Codec: Pack, Order: 2},
		{Codec: Class, Table: 30, Shift: 4}, {Codec: Class, Order: 1, Table: 33, Shift: 3, Centre: 2},
		{Codec: Huff, Table: 9, Shift: 1, Centre: 5}, {Codec: Huff, Order: 1, Table: 14, Shift: 1, Centre: -1},
		{Codec: Huff, Order: 2, Table: 24, Shift: 2}, {Codec: Huff, Order: 1, Table: pairBase + 12},
		{Codec: Huff, Table: pairBase + 50, Shift: 1, Centre: 8},
	}
	var b strings.Builder
	var c Coder
	for _, p := range params {
		fmt.Fprintf(&b, "%+v %x\n", p, c.Append(nil, &p, v))
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	stored, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(stored), b.String())
	var s Scratch
	for i, line := range strings.Split(strings.TrimSpace(string(stored)), "\n") {
		src, err := hex.DecodeString(line[strings.LastIndex(line, " ")+1:])
		require.NoError(t, err)
		got := make([]int64, len(v))
		used, ok := Decode(got, len(got), &params[i], v[0], v[1]-v[0], src, true, &s)
		require.True(t, ok)
		require.Equal(t, len(src), used)
		require.Equal(t, v, got)
	}
}
