package inspect

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// TestScripts runs the scripts in testdata/scripts over copies of the fixture in
// memory:
//
//	flip file=NAME offset=N   changes a byte; a negative offset counts from the end
//	cut file=NAME bytes=N     takes bytes off the end
//	remove file=NAME          removes a file or folder
//	make file=NAME            makes an empty file and the folder it is in
//
// and the calls of Store by the names that varvectl gives them. The last line is
// what the call returned. Rewrite with -rewrite.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, name string) {
		mem := loadFixture(t)
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
	switch d.Cmd {
	case "part-ls":
		return s.ListParts(out)
	case "part-verify":
		return s.VerifyParts(out, ids...)
	case "part-dump":
		return s.DumpParts(out, d.HasArg("samples"), ids...)
	case "index-stats":
		return s.IndexStats(out, 3, ids...)
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
