package server

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// TestPitfallScripts plays what broke other systems, and asks everything again
// after a restart and after all data went through parts and merges.
func TestPitfallScripts(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	files, err := filepath.Glob("testdata/pitfalls/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var scripts []*script
	for _, file := range files {
		scripts = append(scripts, &script{varve: v, base: base, cases: readScript(t, file)})
	}
	round := func(name string, queriesOnly bool) {
		for i, s := range scripts {
			t.Run(name+"/"+strings.TrimSuffix(filepath.Base(files[i]), ".txt"), func(t *testing.T) { s.run(t, queriesOnly) })
		}
	}
	round("head", false)
	v.Kill()
	v.Restart(t)
	round("replayed", true)
	v.Flush(t)
	v.Merge(t)
	round("parts", true)
	v.Stop(t)
	v.Restart(t)
	round("reopened", true)
}
