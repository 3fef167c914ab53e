package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

// newStore makes a store with one part and one frame in its log, as a process
// leaves it that was killed.
func newStore(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db, err := tsdb.Open(dir, tsdb.Options{MinFree: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for i := range 2 {
		b := db.Batch()
		s, err := b.Series(labels.FromStrings("__name__", "up", "job", "a"))
		require.NoError(t, err)
		require.NoError(t, b.Float(s, 0, 1709164800000+int64(i), 1))
		require.NoError(t, b.Commit(t.Context()))
		if i == 0 {
			require.NoError(t, db.ForceFlush(t.Context()))
		}
	}
	return dir
}

func ctl(args ...string) (code int, stdout, stderr string) {
	var out, errOut strings.Builder
	code = run(args, &out, &errOut)
	return code, out.String(), errOut.String()
}

func TestCommands(t *testing.T) {
	dir := newStore(t)
	for _, c := range []struct {
		args string
		want string // a part of what is printed
	}{
		{"part ls", "2024-02/000000000001"},
		{"part verify", "part 000000000001 is sound"},
		{"part verify 1", "part 000000000001 is sound"},
		{"part dump", `series 0 {__name__="up", job="a"}`},
		{"part dump --samples 1", "1709164800000 1 3ff0000000000000"},
		{"wal ls", "1 segments, 1 frames"},
		{"wal dump", "frame 2:"},
		{"wal dump --items", "1709164800001 1"},
		{"wal dump --segment=77", ""},
		{"wal verify", "log is sound: 1 segments, 1 frames"},
		{"index stats --top=1", "__name__"},
		{"manifest show", "log flushed up to sequence number 1"},
		{"manifest show --metadata", "metadata of 0 families"},
		{"db check", "log is sound"},
		{"db space", "index: dictionaries"},
		{"db find up", "2 samples in 2 places"},
		{"db find --series up", `{__name__="up", job="a"}: 1 samples`},
		{"db find up{job=\"b\"}", "0 samples in 0 places"},
		{"block ls", "decimal/linear"},
		{"block ls --match=up --largest=1 1", `{__name__="up", job="a"}`},
		{"block stats", "decimal/linear"},
		{"block stats --by=job", "SHARE"},
		{"block info 1 8", "kind float, 1 samples"},
		{"block dump 1 8", "1709164800000 1 3ff0000000000000"},
		{"index lookup {job=~\"a|b\"}", `0 {__name__="up", job="a"}`},
		{"index dump --label=job", `"a" 1`},
		{"wal replay", "1 frames of 1 series, 1 samples"},
	} {
		code, out, errOut := ctl(append(strings.Fields(c.args), "--storage.path="+dir)...)
		require.Equal(t, 0, code, "%s: %s", c.args, errOut)
		require.Contains(t, out, c.want, c.args)
		require.Empty(t, errOut, c.args)
	}
}

func TestDamageExitsWithOne(t *testing.T) {
	dir := newStore(t)
	name := filepath.Join(dir, "parts", "2024-02", "000000000001", "index")
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	data[len(data)/2] ^= 1
	require.NoError(t, os.WriteFile(name, data, 0o600))
	for _, args := range []string{"part verify", "db check", "index stats", "part dump", "db space", "db find up"} {
		code, out, errOut := ctl(append(strings.Fields(args), "--storage.path="+dir)...)
		require.Equal(t, 1, code, args)
		require.Contains(t, out, "DAMAGE part 000000000001: ", args)
		require.Contains(t, errOut, "varvectl: damage found: 1 place", args)
	}
	code, _, _ := ctl("part", "ls", "--storage.path="+dir)
	require.Equal(t, 0, code, "the manifest is sound")
}

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args string
		code int
		out  string
		err  string
	}{
		{"--help", 0, "part verify", ""},
		{"part ls --help", 0, "List the live parts", ""},
		{"--version", 0, "varvectl", ""},
		{"", 0, "usage: varvectl", ""},
		{"part burn", 2, "", "varvectl: "},
		{"part verify one", 2, "", "varvectl: "},
		{"db find up{", 2, "", "varvectl: "},
		{"block stats --help", 0, "EXCEPTIONS", ""},
		{"block info 1 77 --storage.path=" + newStore(t), 1, "", "part 000000000001: no block is at 77"},
		{"db check --storage.path=" + dir, 1, "", "has neither MANIFEST"},
		{"part verify 9 --storage.path=" + newStore(t), 1, "", "part 9: "},
	} {
		code, out, errOut := ctl(strings.Fields(c.args)...)
		require.Equal(t, c.code, code, "%s: %s", c.args, errOut)
		require.Contains(t, out+errOut, c.out, c.args)
		require.Contains(t, errOut, c.err, c.args)
		require.LessOrEqual(t, strings.Count(out, "usage: "), 1, c.args)
	}
}

// TestReadmeListsTheCommands holds the list for users against the commands.
func TestReadmeListsTheCommands(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	commands := newApp(&env{}, io.Discard).Model().FlattenedCommands()
	require.Greater(t, len(commands), 10)
	for _, c := range commands {
		if c.Name != "help" {
			require.Contains(t, string(readme), "`"+c.FullCommand, "README.md")
		}
	}
}
