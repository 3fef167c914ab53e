package server

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/varvedb/varve/e2e/harness"
)

// Answers are compressed as the client likes, and HEAD has no body.
func TestCompression(t *testing.T) {
	v := harness.StartVarve(t)
	ramp := prompb.TimeSeries{Labels: harness.PB("__name__", "ramp")}
	base := scriptTime()
	for i := range int64(2000) {
		ramp.Samples = append(ramp.Samples, prompb.Sample{Timestamp: (base + i) * 1000, Value: float64(i)})
	}
	v.WriteV1(t, ramp).Require(t, http.StatusNoContent)
	path := "/api/v1/query_range?" + harness.Form("query", "ramp", "start", seconds(base), "end", seconds(base+1999), "step", "1").Encode()
	plain := v.Do(t, http.MethodGet, path, nil).Require(t, http.StatusOK)
	zipped := v.Do(t, http.MethodGet, path, nil, "Accept-Encoding", "gzip").Require(t, http.StatusOK)
	require.Equal(t, "gzip", zipped.Header.Get("Content-Encoding"))
	r, err := gzip.NewReader(bytes.NewReader(zipped.Body))
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, plain.String(), string(text))
	small := v.Do(t, http.MethodGet, path, nil, "Accept-Encoding", "zstd").Require(t, http.StatusOK)
	require.Equal(t, "zstd", small.Header.Get("Content-Encoding"))
	d, err := zstd.NewReader(nil)
	require.NoError(t, err)
	text, err = d.DecodeAll(small.Body, nil)
	require.NoError(t, err)
	require.Equal(t, plain.String(), string(text))
	require.Less(t, len(small.Body), len(plain.Body)/2)
	require.Empty(t, v.Do(t, http.MethodHead, path, nil).Require(t, http.StatusOK).Body)
}

func TestCORS(t *testing.T) {
	v := harness.StartVarve(t, `--web.cors.origin=https?://good\.example`)
	origin := func(name string) string {
		return v.Do(t, http.MethodGet, "/api/v1/labels", nil, "Origin", name).Require(t, http.StatusOK).Header.Get("Access-Control-Allow-Origin")
	}
	require.Equal(t, "https://good.example", origin("https://good.example"))
	require.Empty(t, origin("https://evil.example"))
	require.Empty(t, origin("https://good.example.evil.example"))
}

// The web configuration of exporter-toolkit turns on TLS and passwords.
func TestWebConfig(t *testing.T) {
	dir := t.TempDir()
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	require.NoError(t, err)
	cert, key := selfSigned(t)
	for name, text := range map[string]string{
		"cert.pem": cert,
		"key.pem":  key,
		"web.yml":  "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\nbasic_auth_users:\n  anna: " + string(hash) + "\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM([]byte(cert)))
	v := harness.LaunchVarve(t, "--web.config.file="+filepath.Join(dir, "web.yml"))
	secure := harness.Client{
		URL:  strings.Replace(v.URL, "http://", "https://", 1),
		HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}, Timeout: 10 * time.Second},
	}
	auth := []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("anna:secret"))}
	require.Eventually(t, func() bool {
		resp, err := secure.Send(http.MethodGet, "/-/ready", nil, auth...)
		return err == nil && resp.Status == http.StatusOK
	}, 20*time.Second, 20*time.Millisecond, "varve serves TLS")
	body := []byte("tls v=1\n")
	secure.Do(t, http.MethodPost, "/write", body, auth...).Require(t, http.StatusNoContent)
	secure.Do(t, http.MethodPost, "/write", body).Require(t, http.StatusUnauthorized)
	secure.Do(t, http.MethodGet, "/api/v1/labels", nil, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("anna:wrong"))).Require(t, http.StatusUnauthorized)
	secure.Do(t, http.MethodGet, "/api/v1/labels", nil, auth...).Require(t, http.StatusOK)
	plain, err := v.Send(http.MethodGet, "/-/ready", nil)
	require.True(t, err != nil || plain.Status >= 400, "plain HTTP is not served")
	v.Stop(t)
}

// selfSigned makes a certificate for 127.0.0.1.
func selfSigned(t *testing.T) (cert, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	raw, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}))
}
