package inspect

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
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
				func(w io.Writer) error { return store.DumpIndex(w, "") },
				func(w io.Writer) error { return store.IndexLookup(w, nil) },
				func(w io.Writer) error { return store.DumpParts(w, false) },
				store.ListParts,
			} {
				if err := look(io.Discard); err != nil {
					require.ErrorIs(t, err, ErrDamage, "%s at %d", name, at)
				}
			}
		}
		writeFile(t, mem, name, []byte(content))
	}
}

// TestDamagedPagesOfAnIndex flips a byte of an index that is checked page by page:
// what does not touch the page is still told.
func TestDamagedPagesOfAnIndex(t *testing.T) {
	mem := vfs.NewMem()
	db, err := tsdb.Open("db", tsdb.Options{FS: mem, MinFree: -1})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(7, 7))
	write(t, db, func(b *tsdb.Batch) {
		for i := range 9000 {
			float(t, b, labels.FromStrings("__name__", "m", "kind", fmt.Sprint(i%3), "uid", fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64())), 0, day, 1)
		}
	})
	require.NoError(t, db.ForceFlush(t.Context()))
	require.NoError(t, db.Close())
	const name = "db/parts/2024-02/000000000001/index"
	b, err := vfs.ReadFile(mem, name)
	require.NoError(t, err)
	require.Greater(t, len(b), 2*(64<<10), "of several pages")
	b[70<<10] ^= 1
	writeFile(t, mem, name, b)
	store, err := open(mem, "db")
	require.NoError(t, err)

	var out strings.Builder
	require.ErrorIs(t, store.VerifyParts(&out), ErrDamage)
	require.Contains(t, out.String(), "index at 65536: checksum of page 1")
	require.Contains(t, out.String(), "  lost: look-ups that read there, in a part of 9000 series")
	out.Reset()
	require.ErrorIs(t, store.IndexStats(&out, 10), ErrDamage)
	require.Contains(t, out.String(), "9000 series, 3 label names, 9004 values")
	require.Regexp(t, `kind +3 +9000 .*"0" 3000, "1" 3000, "2" 3000`, out.String())
	require.Regexp(t, `uid +9000 +9000 .*damaged`, out.String())
	out.Reset()
	require.NoError(t, store.BlockStats(&out, "kind", 0))
	require.Regexp(t, `\n2 +3000 +3000 +3000 `, out.String())
	out.Reset()
	require.ErrorIs(t, store.BlockStats(&out, "uid", 1), ErrDamage)
	require.Contains(t, out.String(), "(damaged)")
}
