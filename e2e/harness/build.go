package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const prometheusModule = "github.com/prometheus/prometheus"

var (
	varveBinary      = sync.OnceValues(buildVarve)
	varvectlBinary   = sync.OnceValues(func() (string, error) { return buildCommand("varvectl") })
	prometheusBinary = sync.OnceValues(buildPrometheus)
	binaryFolder     = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "varve-e2e-") })
)

// Main runs the tests of a package and removes the binaries built for them. It
// returns the code to exit with.
func Main(m *testing.M) int {
	code := m.Run()
	if dir, err := binaryFolder(); err == nil {
		_ = os.RemoveAll(dir)
	}
	return code
}

// VarveBinary returns the path of a varve binary, built once per test process.
func VarveBinary(t testing.TB) string {
	path, err := varveBinary()
	require.NoError(t, err)
	return path
}

// VarvectlBinary returns the path of a varvectl binary, built once per test
// process.
func VarvectlBinary(t testing.TB) string {
	path, err := varvectlBinary()
	require.NoError(t, err)
	return path
}

// PrometheusBinary returns the path of a Prometheus binary of the version that
// this module requires. The first build takes minutes; it is kept in the user's
// cache folder.
func PrometheusBinary(t testing.TB) string {
	path, err := prometheusBinary()
	require.NoError(t, err)
	return path
}

// BuildPrometheus is PrometheusBinary for programs.
func BuildPrometheus() (string, error) { return prometheusBinary() }

// ModuleDir returns the folder of the source of a module that this one
// requires.
func ModuleDir(t testing.TB, module string) string {
	_, err := goCommand("mod", "download", module)
	require.NoError(t, err)
	dir, err := goCommand("list", "-m", "-f", "{{.Dir}}", module)
	require.NoError(t, err)
	return dir
}

// Root returns the folder of this module.
func Root() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("find own source file")
	}
	return filepath.Dir(filepath.Dir(file)), nil
}

func buildVarve() (string, error) {
	if path := os.Getenv("VARVE_BIN"); path != "" {
		return filepath.Abs(path)
	}
	return buildCommand("varve")
}

// buildCommand builds one of varve's commands.
func buildCommand(name string) (string, error) {
	dir, err := binaryFolder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name+exe())
	_, err = goCommand("build", "-o", path, "github.com/varvedb/varve/cmd/"+name)
	return path, err
}

func buildPrometheus() (string, error) {
	if path := os.Getenv("PROMETHEUS_BIN"); path != "" {
		return filepath.Abs(path)
	}
	version, err := goCommand("list", "-m", "-f", "{{.Version}}", prometheusModule)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "varve-e2e", version)
	path := filepath.Join(dir, "prometheus"+exe())
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	fresh := fmt.Sprintf("%s.%d", path, os.Getpid())
	if _, err := goCommand("build", "-tags", "remove_all_sd", "-o", fresh, prometheusModule+"/cmd/prometheus"); err != nil {
		return "", err
	}
	return path, os.Rename(fresh, path)
}

// goCommand runs the go tool in this module and returns what it prints.
func goCommand(args ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

func exe() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}
