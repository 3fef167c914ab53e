package configs

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestWebConfig serves with web-config.yml and a certificate of its own, and
// logs in with the password that the comments promise.
func TestWebConfig(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile("web-config.yml")
	require.NoError(t, err)
	config := filepath.Join(dir, "web-config.yml")
	require.NoError(t, os.WriteFile(config, text, 0o600))
	roots := writeCertificate(t, dir)
	require.NoError(t, web.Validate(config))

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })}
	done := make(chan error, 1)
	go func() {
		done <- web.Serve(listener, server, &web.FlagConfig{WebConfigFile: &config}, slog.New(slog.DiscardHandler))
	}()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}}}
	t.Cleanup(client.CloseIdleConnections)
	get := func(user, password string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+listener.Addr().String(), http.NoBody)
		require.NoError(t, err)
		if user != "" {
			r.SetBasicAuth(user, password)
		}
		resp, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	for _, user := range []string{"prometheus", "grafana", "telegraf"} {
		require.Equal(t, http.StatusOK, get(user, "change-me"), user)
		require.Equal(t, http.StatusUnauthorized, get(user, "guess"), user)
	}
	require.Equal(t, http.StatusUnauthorized, get("", ""))
	require.NoError(t, server.Close())
	require.ErrorIs(t, <-done, http.ErrServerClosed)
}

// writeCertificate writes varve.crt and varve.key for localhost.
func writeCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "varve.crt"), certPEM, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "varve.key"), keyPEM, 0o600))
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(certPEM))
	return roots
}

// grafanaDatasources is the part of Grafana's provisioning format that the
// example uses.
type grafanaDatasources struct {
	APIVersion  int `yaml:"apiVersion"`
	Datasources []struct {
		Name      string `yaml:"name"`
		UID       string `yaml:"uid"`
		Type      string `yaml:"type"`
		Access    string `yaml:"access"`
		URL       string `yaml:"url"`
		IsDefault bool   `yaml:"isDefault"`
		JSONData  struct {
			HTTPMethod        string `yaml:"httpMethod"`
			PrometheusType    string `yaml:"prometheusType"`
			PrometheusVersion string `yaml:"prometheusVersion"`
			TimeInterval      string `yaml:"timeInterval"`
			QueryTimeout      string `yaml:"queryTimeout"`
			CacheLevel        string `yaml:"cacheLevel"`
		} `yaml:"jsonData"`
	} `yaml:"datasources"`
}

func TestGrafanaDatasource(t *testing.T) {
	text, err := os.ReadFile("grafana-datasource.yml")
	require.NoError(t, err)
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	var got grafanaDatasources
	require.NoError(t, dec.Decode(&got))
	require.Equal(t, 1, got.APIVersion)
	require.Len(t, got.Datasources, 2)
	for i, url := range []string{"http://localhost:8428", "http://localhost:8428/metricsql"} {
		ds := got.Datasources[i]
		require.Equal(t, "prometheus", ds.Type)
		require.Equal(t, "proxy", ds.Access)
		require.Equal(t, url, ds.URL)
		require.Equal(t, "POST", ds.JSONData.HTTPMethod)
		require.Equal(t, "Prometheus", ds.JSONData.PrometheusType)
	}
}

func TestTelegraf(t *testing.T) {
	text, err := os.ReadFile("telegraf.conf")
	require.NoError(t, err)
	tables, err := parseTables(string(text))
	require.NoError(t, err)
	v2 := tables["outputs.influxdb_v2"]
	require.Equal(t, []any{"http://localhost:8428"}, v2["urls"])
	for _, want := range []string{"token", "organization", "bucket"} { // the plugin does not start without
		require.NotEmpty(t, v2[want], want)
	}
	v1 := tables["outputs.influxdb"]
	require.Equal(t, []any{"http://localhost:8428"}, v1["urls"])
	require.Equal(t, "telegraf", v1["database"])
	require.Equal(t, true, v1["skip_database_creation"])
	require.Equal(t, int64(5000), tables["agent"]["metric_batch_size"])
	require.Len(t, tables, 3)
}

// parseTables reads the TOML that the example is written in, and refuses any
// other: tables, comments, and keys with strings, integers, booleans and lists
// of strings on one line.
func parseTables(text string) (map[string]map[string]any, error) {
	tables := map[string]map[string]any{}
	var current map[string]any
	scanner := bufio.NewScanner(strings.NewReader(text))
	for number := 1; scanner.Scan(); number++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			name, ok := cutBrackets(line)
			if !ok || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_.") != "" || tables[name] != nil {
				return nil, fmt.Errorf("line %d: got %q, want a new table", number, line)
			}
			current = map[string]any{}
			tables[name] = current
			continue
		}
		key, value, ok := strings.Cut(line, " = ")
		if !ok || current == nil || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return nil, fmt.Errorf("line %d: got %q, want key = value in a table", number, line)
		}
		if _, ok := current[key]; ok {
			return nil, fmt.Errorf("line %d: key %s is there twice", number, key)
		}
		v, err := parseValue(value)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		current[key] = v
	}
	return tables, scanner.Err()
}

// cutBrackets takes the name out of [name] or [[name]].
func cutBrackets(line string) (name string, ok bool) {
	name, ok = strings.CutPrefix(line, "[")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, "]")
	if inner, double := strings.CutPrefix(name, "["); double {
		name, ok = strings.CutSuffix(inner, "]")
	}
	return name, ok && name != ""
}

func parseValue(text string) (any, error) {
	switch {
	case text == "true", text == "false":
		return text == "true", nil
	case strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]"):
		var list []any
		for item := range strings.SplitSeq(text[1:len(text)-1], ", ") {
			v, err := parseValue(item)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case strings.HasPrefix(text, `"`):
		return strconv.Unquote(text)
	}
	return strconv.ParseInt(text, 10, 64)
}

func TestParseTables(t *testing.T) {
	for _, bad := range []string{"a = 1", "[t]\na=1", "[t]\na = x", "[t]\na = \"x", "[t]\n[t]", "[t\n", "[[t]\n", "[t]\na = 1\na = 2", "[t]\nA = 1"} {
		_, err := parseTables(bad)
		require.Error(t, err, "%q", bad)
	}
	got, err := parseTables("# c\n[[o.i]]\n  u = [\"a\", \"b\"] \n n = -3\n")
	require.NoError(t, err)
	require.Equal(t, map[string]map[string]any{"o.i": {"u": []any{"a", "b"}, "n": int64(-3)}}, got)
}
