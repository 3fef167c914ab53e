package server

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// A flipped bit anywhere in the data is never a wrong answer: the server starts,
// or says what of its manifest is damaged, and what it answers is right, or the
// damaged piece as a whole is gone and was reported. E2E_FLIPS says how many bits.
func TestDamage(t *testing.T) {
	v := harness.StartVarve(t)
	rng := newRand(t)
	base := scriptTime() * 1000
	var series []prompb.TimeSeries
	want := map[string][]harness.RemotePoint{}
	for i := range int64(20) {
		ts := prompb.TimeSeries{Labels: harness.PB("__name__", "damage", "i", seconds(i))}
		for k := range int64(300) {
			p := harness.RemotePoint{T: base + k*15_000, V: rng.NormFloat64()}
			want[seconds(i)] = append(want[seconds(i)], p)
			ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: p.T, Value: p.V})
		}
		series = append(series, ts)
	}
	v.WriteV1(t, series[:10]...).Require(t, http.StatusNoContent)
	v.Flush(t)
	for _, s := range series[10:] { // frames of their own, in the log
		v.WriteV1(t, s).Require(t, http.StatusNoContent)
	}
	v.Kill()
	sound := t.TempDir()
	require.NoError(t, os.CopyFS(sound, os.DirFS(v.Dir)))
	files := dataFiles(t, sound)
	require.Greater(t, len(files), 3)
	same, less, refused, stopped := 0, 0, 0, 0
	for range envInt("E2E_FLIPS", 10, 100) {
		require.NoError(t, os.RemoveAll(v.Dir))
		require.NoError(t, os.CopyFS(v.Dir, os.DirFS(sound)))
		file := files[rng.IntN(len(files))]
		at := flip(t, filepath.Join(v.Dir, file), rng.IntN)
		v.Launch(t)
		if !v.WaitReadyOrExit(t) {
			// Without its list of parts a store does not guess what is in it.
			require.Contains(t, file, "MANIFEST", v.Logs())
			require.Contains(t, v.Logs(), "damaged")
			require.Contains(t, v.Logs(), file)
			stopped++
			continue
		}
		switch readDamaged(t, v, base, want, file) {
		case "same":
			same++
		case "less":
			less++
			require.Regexp(t, "(?i)corrupt|damage|quarantine|torn|skipped", v.Logs(), "%s at %d: what is gone is reported", file, at)
		default:
			refused++
		}
		v.WriteV1(t, one(base, 1, "__name__", "goes_on")).Require(t, http.StatusNoContent)
		v.Kill()
	}
	t.Logf("%d flips changed nothing that is read, %d cost whole frames or parts, %d were answered with an error, %d stopped the start", same, less, refused, stopped)
}

// dataFiles lists the files of a store with something in them.
func dataFiles(t *testing.T, dir string) []string {
	var files []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() == 0 {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		files = append(files, rel)
		return err
	}))
	return files
}

// flip turns over one bit of a file.
func flip(t *testing.T, path string, intN func(int) int) int {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	at := intN(len(text))
	text[at] ^= 1 << intN(8)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return at
}

// readDamaged requires that every sample that is answered is right.
func readDamaged(t *testing.T, v *harness.Varve, base int64, want map[string][]harness.RemotePoint, file string) string {
	for _, form := range []prompb.ReadRequest_ResponseType{harness.Sampled, harness.Streamed} {
		block := harness.EncodeRead(t, 0, base+1e9, []prompb.ReadRequest_ResponseType{form}, harness.Eq("__name__", "damage"))
		resp, err := v.Send(http.MethodPost, "/api/v1/read", bytes.NewReader(block), "Content-Type", "application/x-protobuf", "Content-Encoding", "snappy")
		if err != nil || resp.Status >= 400 {
			return "refused"
		}
		got := harness.DecodeSampled
		if form == harness.Streamed {
			got = harness.DecodeStreamed
		}
		whole := 0
		for _, s := range got(t, resp) {
			points := want[s.Labels.Get("i")]
			for _, p := range s.Points {
				require.True(t, slices.Contains(points, p), "%s: a sample that was never sent: %s %v", file, s.Labels, p)
			}
			if len(s.Points) == len(points) {
				whole++
			}
		}
		if whole < len(want) {
			return "less"
		}
	}
	return "same"
}
