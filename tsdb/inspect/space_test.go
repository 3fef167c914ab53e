package inspect

import (
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// TestSpaceAddsUp wants every byte of every file in the sum, whatever of them is
// damaged or not there.
func TestSpaceAddsUp(t *testing.T) {
	for _, fixture := range []string{fixture1, fixture2} {
		mem := loadFixture(t, fixture)
		requireSpace(t, mem, true)
		for name, content := range tree(t, mem, "db", map[string]string{}) {
			if content == fs.ModeDir.String() || content == "" {
				continue
			}
			for _, at := range []int{0, len(content) / 3, len(content) / 2, len(content) - 30, len(content) - 5} {
				b := []byte(content)
				b[max(at, 0)] ^= 0x10
				writeFile(t, mem, name, b)
				requireSpace(t, mem, false)
			}
			writeFile(t, mem, name, []byte(content)[:len(content)-1])
			requireSpace(t, mem, false)
			writeFile(t, mem, name, []byte(content))
		}
	}
}

func requireSpace(t *testing.T, mem *vfs.Mem, sound bool) {
	t.Helper()
	sum := 0
	for _, content := range tree(t, mem, "db", map[string]string{}) {
		if content != fs.ModeDir.String() {
			sum += len(content)
		}
	}
	store, err := open(mem, "db")
	require.NoError(t, err)
	var out strings.Builder
	if err = store.Space(&out); sound {
		require.NoError(t, err)
	} else if err != nil {
		require.ErrorIs(t, err, ErrDamage)
	}
	fields := strings.Fields(out.String()[strings.LastIndex(out.String(), "\nall "):])
	require.Equal(t, fmt.Sprint(sum), fields[1], "%s", &out)
}

// TestDamageStaysInItsPlace flips bytes all over the parts: each is found, and
// every other command says so or goes on.
func TestDamageStaysInItsPlace(t *testing.T) {
	mem := loadFixture(t, fixture2)
	for name, content := range tree(t, mem, "db/parts", map[string]string{}) {
		if content == fs.ModeDir.String() {
			continue
		}
		for at := 0; at < len(content); at += 1 + len(content)/40 {
			b := []byte(content)
			b[at] ^= 0x04
			writeFile(t, mem, name, b)
			store, err := open(mem, "db")
			require.NoError(t, err)
			var out strings.Builder
			require.ErrorIs(t, store.VerifyParts(&out), ErrDamage, "%s at %d", name, at)
			require.Contains(t, out.String(), "  lost: ", "%s at %d", name, at)
			for _, look := range []func(io.Writer) error{
				store.Space,
				func(w io.Writer) error { return store.ListBlocks(w, 0, nil) },
				func(w io.Writer) error { return store.BlockStats(w, "job", 2) },
				func(w io.Writer) error { return store.Find(w, true) },
				func(w io.Writer) error { return store.IndexStats(w, 10) },
			} {
				if err := look(io.Discard); err != nil {
					require.ErrorIs(t, err, ErrDamage, "%s at %d", name, at)
				}
			}
		}
		writeFile(t, mem, name, []byte(content))
	}
}
