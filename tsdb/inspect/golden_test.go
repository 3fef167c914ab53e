package inspect

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// TestScripts runs the scripts in testdata/scripts and testdata/scripts2 over
// copies in memory of the older and the newer fixture:
//
//	flip file=NAME offset=N   changes a byte; a negative offset counts from the end
//	cut file=NAME bytes=N     takes bytes off the end
//	remove file=NAME          removes a file or folder
//	make file=NAME            makes an empty file and the folder it is in
//	copy file=NAME to=NAME    copies a file or folder
//
// and the calls of Store by the names that varvectl gives them, with a selector below
// the command. The last line is
// what the call returned. Rewrite with -rewrite.
func TestScripts(t *testing.T) {
	for dir, fixture := range map[string]string{"testdata/scripts": fixture1, "testdata/scripts2": fixture2} {
		datadriven.Walk(t, dir, func(t *testing.T, name string) { runScript(t, fixture, name) })
	}
}

func runScript(t *testing.T, fixture, name string) {
	mem := loadFixture(t, fixture)
	datadriven.RunTest(t, name, func(t *testing.T, d *datadriven.TestData) string {
		if out, ok := damage(t, mem, d); ok {
			return out
		}
		before := tree(t, mem, "db", map[string]string{})
		store, err := open(mem, "db")
		require.NoError(t, err)
		var out strings.Builder
		err = call(t, store, d, &out)
		require.Equal(t, before, tree(t, mem, "db", map[string]string{}), "a tool wrote")
		if err == nil {
			return out.String() + "ok\n"
		}
		require.True(t, errors.Is(err, ErrDamage) || !strings.Contains(out.String(), "DAMAGE"), "damage printed, but got %v", err)
		return out.String() + err.Error() + "\n"
	})
}

// damage runs a command that changes files.
func damage(t *testing.T, mem *vfs.Mem, d *datadriven.TestData) (out string, ok bool) {
	var name string
	var offset, bytes int
	if d.HasArg("file") {
		d.ScanArgs(t, "file", &name)
	}
	name = path.Join("db", name)
	switch d.Cmd {
	case "flip":
		d.ScanArgs(t, "offset", &offset)
		data, err := vfs.ReadFile(mem, name)
		require.NoError(t, err)
		if offset < 0 {
			offset += len(data)
		}
		data[offset] ^= 0x40
		writeFile(t, mem, name, data)
	case "cut":
		d.ScanArgs(t, "bytes", &bytes)
		data, err := vfs.ReadFile(mem, name)
		require.NoError(t, err)
		writeFile(t, mem, name, data[:len(data)-bytes])
	case "make":
		require.NoError(t, mem.MkdirAll(path.Dir(name)))
		writeFile(t, mem, name, nil)
	case "copy":
		var to string
		d.ScanArgs(t, "to", &to)
		if info, err := mem.Stat(name); err == nil && info.IsDir() {
			copyTree(t, mem, name, mem, path.Join("db", to))
			break
		}
		data, err := vfs.ReadFile(mem, name)
		require.NoError(t, err)
		require.NoError(t, mem.MkdirAll(path.Dir(path.Join("db", to))))
		writeFile(t, mem, path.Join("db", to), data)
	case "remove":
		require.NoError(t, mem.RemoveAll(name))
	default:
		return "", false
	}
	return "", true
}

func call(t *testing.T, s *Store, d *datadriven.TestData, out io.Writer) error {
	var ids []uint64
	if d.HasArg("id") {
		var id uint64
		d.ScanArgs(t, "id", &id)
		ids = append(ids, id)
	}
	var segment uint64
	if d.HasArg("segment") {
		d.ScanArgs(t, "segment", &segment)
	}
	var ms []*labels.Matcher
	if d.Input != "" {
		var err error
		ms, err = parser.NewParser(parser.Options{}).ParseMetricSelector(d.Input)
		require.NoError(t, err)
	}
	if strings.HasPrefix(d.Cmd, "block-") {
		return callBlock(t, s, d, out, ms, ids)
	}
	switch d.Cmd {
	case "part-ls":
		return s.ListParts(out)
	case "part-verify":
		return s.VerifyParts(out, ids...)
	case "part-dump":
		return s.DumpParts(out, d.HasArg("samples"), ids...)
	case "index-stats":
		return s.IndexStats(out, 3, ids...)
	case "index-lookup":
		return s.IndexLookup(out, ms, ids...)
	case "index-dump":
		name := ""
		d.MaybeScanArgs(t, "label", &name)
		return s.DumpIndex(out, name, ids...)
	case "wal-replay":
		return s.ReplayLog(out)
	case "db-space":
		return s.Space(out)
	case "db-find":
		return s.Find(out, d.HasArg("series"), ms...)
	case "wal-ls":
		return s.ListLog(out)
	case "wal-verify":
		return s.VerifyLog(out)
	case "wal-dump":
		return s.DumpLog(out, d.HasArg("items"), segment)
	case "manifest-show":
		return s.ShowManifest(out, d.HasArg("metadata"))
	case "db-check":
		return s.Check(out)
	}
	return fmt.Errorf("unknown command %q", d.Cmd)
}

func callBlock(t *testing.T, s *Store, d *datadriven.TestData, out io.Writer, ms []*labels.Matcher, ids []uint64) error {
	switch d.Cmd {
	case "block-ls":
		most := 0
		d.MaybeScanArgs(t, "largest", &most)
		return s.ListBlocks(out, most, ms, ids...)
	case "block-stats":
		by := ""
		d.MaybeScanArgs(t, "by", &by)
		return s.BlockStats(out, by, 3, ids...)
	case "block-info", "block-dump":
		var at int64
		d.ScanArgs(t, "at", &at)
		return s.ShowBlocks(out, ids[0], at, d.Cmd == "block-dump")
	}
	return fmt.Errorf("unknown command %q", d.Cmd)
}
