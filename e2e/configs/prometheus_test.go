package configs

import (
	"log/slog"
	"os"
	"testing"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/prometheus/config"
	"github.com/stretchr/testify/require"
)

func TestPrometheusConfig(t *testing.T) {
	text, err := os.ReadFile("../../configs/prometheus.yml")
	require.NoError(t, err)
	cfg, err := config.Load(string(text), slog.New(slog.DiscardHandler))
	require.NoError(t, err)

	require.Len(t, cfg.RemoteWriteConfigs, 1)
	write := cfg.RemoteWriteConfigs[0]
	require.Equal(t, "http://localhost:8428/api/v1/write", write.URL.String())
	require.Equal(t, remoteapi.WriteV2MessageType, write.ProtobufMessage)
	require.True(t, write.SendExemplars)
	require.True(t, write.SendNativeHistograms)
	require.NoError(t, write.QueueConfig.Validate())

	require.Len(t, cfg.RemoteReadConfigs, 1)
	require.Equal(t, "http://localhost:8428/api/v1/read", cfg.RemoteReadConfigs[0].URL.String())

	jobs, err := cfg.GetScrapeConfigs()
	require.NoError(t, err)
	require.Len(t, jobs, 2)
}
