package tsbs

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The bytes are those of tsbs_generate_data --use-case=cpu-only --seed=123 --scale=100
// --format=influx with its usual times.
func TestDataIsThatOfTSBS(t *testing.T) {
	h := sha256.New()
	var lines []byte
	for f := NewFleet(Options{}); f.Next(); {
		lines = f.AppendLines(lines[:0])
		h.Write(lines)
	}
	require.Equal(t, "94f42f246184d54777e2e6dfbd3c509f10e062a128aceeb2ce9ad682b440c411", hex.EncodeToString(h.Sum(nil)))
	require.Equal(t, "cpu,hostname=host_99,region=us-east-1,datacenter=us-east-1a,rack=31,os=Ubuntu16.10,arch=x86,team=SF,"+
		"service=19,service_version=1,service_environment=staging usage_user=39i,usage_system=36i,usage_idle=49i,usage_nice=49i,"+
		"usage_iowait=52i,usage_irq=100i,usage_softirq=96i,usage_steal=78i,usage_guest=39i,usage_guest_nice=80i 1451692790000000000",
		string(lines[strings.LastIndex(string(lines[:len(lines)-1]), "\n")+1:len(lines)-1]))
}

// The questions are those of tsbs_generate_queries --format=victoriametrics.
func TestQuestionsAreThoseOfTSBS(t *testing.T) {
	answers, err := Answers()
	require.NoError(t, err)
	require.Len(t, answers, 11_000)
	for _, k := range Kinds() {
		if !k.Asked {
			continue
		}
		for i, q := range (Options{}).Queries(k, 1000) {
			require.Equal(t, answers[i].Type, q.Type)
			require.Equal(t, answers[i].Path, q.Path, "%s %d", k.Name, i)
		}
		answers = answers[1000:]
	}
	require.Empty(t, answers)
}

// Options change what they say, and nothing else.
func TestOptions(t *testing.T) {
	text := string(Options{Hosts: 3, Span: time.Minute, Interval: 20 * time.Second}.Lines())
	require.Equal(t, 9, strings.Count(text, "\n"))
	require.True(t, strings.HasPrefix(text, "cpu,hostname=host_0,region=eu-central-1,datacenter=eu-central-1a,rack=6,"))
	require.True(t, strings.HasSuffix(text, " 1451606440000000000\n"))
	require.NotEqual(t, text, string(Options{Hosts: 3, Seed: 5, Span: time.Minute, Interval: 20 * time.Second}.Lines()))
	later := Options{Start: time.Unix(1_700_000_000, 0)}
	require.False(t, later.IsUsual())
	require.True(t, Options{Hosts: 100}.IsUsual())
	q := later.Queries(Kinds()[0], 1)[0]
	require.Equal(t, int64(1_700_000_000+1451621129-1451606400), q.Start)
	require.Panics(t, func() { Options{Hosts: 7}.Queries(Kinds()[2], 1) })
}

func TestSum(t *testing.T) {
	require.Equal(t, Sum([]byte(`{"data":1}`)), Sum([]byte(`{"data":1,"stats":{"seriesFetched": "1"}}`)))
	require.NotEqual(t, Sum([]byte(`{"data":1}`)), Sum([]byte(`{"data":2,"stats":{"seriesFetched": "1"}}`)))
}
