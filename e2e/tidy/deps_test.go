package tidy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/varvedb/varve"

// depsRules says which package of the module may import which: "a < b" means
// that b may import a and all that a may. It is a statement of policy, not a
// list to be filled up until a build passes: a new arrow needs a reason.
//
// A package that no rule names fails the test.
const depsRules = `
	# Rooms that know no other: the seam to the disk, the meaning of log frames,
	# protobuf and compression, an adapter for a logger.
	NONE
	< tsdb/internal/vfs, tsdb/internal/record,
	  remote/internal/wire, remote/internal/gokitlog;

	# Files whose content they do not understand: a log and a list.
	tsdb/internal/vfs < tsdb/internal/wal, tsdb/internal/manifest;

	# Numbers, the unit of samples made of them, and blocks: as they were and are.
	NONE < tsdb/internal/codec < tsdb/internal/block < tsdb/internal/block/v1, tsdb/internal/b1;

	# Memory outside the Go heap, and samples coded into it.
	NONE < tsdb/internal/mem;
	tsdb/internal/mem, tsdb/internal/block < tsdb/internal/tail;

	# The index: sets of numbers, and what is made of them.
	NONE < tsdb/internal/bitmap;
	tsdb/internal/block, tsdb/internal/bitmap < tsdb/internal/index;

	# Recent samples: no file, no log, no part.
	tsdb/internal/mem, tsdb/internal/tail, tsdb/internal/bitmap, tsdb/internal/index < tsdb/internal/head;

	# Immutable files, from the bottom up; the old index is but read.
	tsdb/internal/block < tsdb/internal/index/section < tsdb/internal/index/v1;
	tsdb/internal/b1, tsdb/internal/block/v1, tsdb/internal/index/v1, tsdb/internal/index, tsdb/internal/vfs
	< tsdb/internal/part < tsdb/internal/merge;

	# Prometheus' chunks out of spans.
	tsdb/internal/block < tsdb/chunks;

	# The store introduces the rooms to each other.
	tsdb/chunks, tsdb/internal/head, tsdb/internal/manifest, tsdb/internal/merge,
	tsdb/internal/record, tsdb/internal/wal
	< tsdb < tsdb/tsdbtest;

	# Tools look at the rooms' files without opening the store.
	tsdb/internal/manifest, tsdb/internal/part, tsdb/internal/record, tsdb/internal/wal
	< tsdb/inspect;

	# The query engine: rows, kernels on them, plans and what makes them; only
	# execution reads the store.
	NONE < promqlx/internal/row
	< promqlx/internal/rollup, promqlx/internal/aggr, promqlx/internal/binop, promqlx/internal/funcs,
	  promqlx/internal/info;
	NONE < promqlx/internal/plan;
	promqlx/internal/plan, promqlx/internal/funcs < promqlx/internal/promql;
	tsdb, promqlx/internal/plan, promqlx/internal/rollup, promqlx/internal/aggr,
	promqlx/internal/binop, promqlx/internal/funcs, promqlx/internal/info
	< promqlx/internal/exec;

	# What surrounds a query: what it may take, what it tells of itself.
	NONE < promqlx/internal/budget, promqlx/internal/trace < promqlx/internal/exec;
	NONE < promqlx/internal/top;

	# Functions over windows on samples as the store keeps them.
	tsdb, promqlx/internal/row < promqlx/internal/narrow < promqlx/internal/metricsql/eval;

	# The MetricsQL dialect: sets of series, kernels of its own on them, and what reads
	# the store for them.
	NONE < promqlx/internal/metricsql/series, promqlx/internal/metricsql/stat;
	promqlx/internal/row, promqlx/internal/metricsql/series
	< promqlx/internal/metricsql/rollup, promqlx/internal/metricsql/transform,
	  promqlx/internal/metricsql/aggr, promqlx/internal/metricsql/binop;
	promqlx/internal/metricsql/stat
	< promqlx/internal/metricsql/rollup, promqlx/internal/metricsql/transform, promqlx/internal/metricsql/aggr;
	NONE < promqlx/internal/metricsql;
	tsdb, promqlx/internal/metricsql, promqlx/internal/metricsql/rollup, promqlx/internal/metricsql/transform,
	promqlx/internal/metricsql/aggr, promqlx/internal/metricsql/binop, promqlx/internal/budget, promqlx/internal/trace
	< promqlx/internal/metricsql/eval;

	# Answers that are kept: it knows plans, and what may be kept of them, but
	# neither how they are run nor the store.
	promqlx/internal/plan, promqlx/internal/funcs, promqlx/internal/trace < promqlx/internal/cache;

	# Queries read the store; they know no door.
	promqlx/internal/exec, promqlx/internal/cache, promqlx/internal/promql, promqlx/internal/top,
	promqlx/internal/metricsql/eval < promqlx;

	# The doors. They know no sibling.
	remote/internal/wire < remote/internal/httpbody;
	tsdb, remote/internal/wire < remote/internal/status;
	remote/internal/httpbody, remote/internal/status
	< remote/write, remote/read, remote/influx, remote/importer;
	promqlx, remote/internal/httpbody, remote/internal/status < remote/api;

	# Arguments and texts as VictoriaMetrics has them, for the endpoints that are its own.
	NONE < remote/internal/vmhttp < remote/importer, remote/api;

	# What tests of several packages share: no library imports them.
	NONE < remote/api/apitest, remote/influx/influxtest, tsdb/tsdbtest/fuzztally, configs;
	promqlx/internal/row < promqlx/internal/row/rowtest;

	remote/api, remote/write, remote/read, remote/influx, remote/importer, remote/internal/gokitlog
	< remote
	< cmd/varve;

	tsdb/inspect < cmd/varvectl;
`

// foreignRules says who may import packages from outside the module, the
// standard library among them; what is not named here is free.
const foreignRules = `
	# Only the file-system seam opens files, only the door speaks HTTP.
	net/http/...: remote/... cmd/...
	os/exec:
	io/ioutil:
	log:
	plugin:

	# One logger, log/slog; go-kit/log where an old library still takes it.
	github.com/go-kit/log/...: remote/internal/gokitlog

	# Flags are the programs' business.
	github.com/alecthomas/kingpin/...: cmd/...
	github.com/prometheus/exporter-toolkit/...: cmd/... configs

	# Generated protobuf code of Prometheus, at the edge that speaks it.
	github.com/gogo/protobuf/...: remote/read

	# Unmaintained: go.yaml.in/yaml, encoding/json, errors and
	# google.golang.org/protobuf stand in.
	gopkg.in/yaml.*:
	github.com/json-iterator/...:
	github.com/pkg/errors:
	github.com/golang/protobuf/...:

	# The parser writes templates out without end: promqlx bounds what it is given.
	github.com/VictoriaMetrics/metricsql: promqlx promqlx/internal/metricsql/... remote/internal/vmhttp # durations alone

	# Licences that are not ours, and what would bring them in.
	github.com/hashicorp/...:
	github.com/prometheus/prometheus/storage/remote/...:
	github.com/prometheus/prometheus/web/...:
	github.com/prometheus/prometheus/discovery/...:
	github.com/thanos-io/...:
	github.com/grafana/grafana/...:
	github.com/grafana/loki/...:
	github.com/grafana/mimir*:
	pgregory.net/rapid:
`

// storageRules are the foreign rules below tsdb and promqlx: samples and
// queries meet the operating system in one room.
const storageRules = `
	os: tsdb/internal/vfs
	path/filepath: tsdb tsdb/inspect tsdb/internal/vfs # a folder's name comes in here
	syscall: tsdb/internal/vfs
	golang.org/x/sys/...: tsdb/internal/vfs tsdb/internal/mem
	net/...:
`

// forbiddenModules may not be linked into the programs, by whatever way.
var forbiddenModules = []string{
	"github.com/hashicorp/...", "github.com/thanos-io/...", "github.com/grafana/grafana/...",
	"github.com/grafana/loki/...", "github.com/grafana/mimir*",
	"github.com/json-iterator/...", "github.com/pkg/errors", "github.com/golang/protobuf",
	"gopkg.in/yaml.*", "github.com/minio/minio", "pgregory.net/rapid",
}

// listedPackage is what go list tells of a package.
type listedPackage struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Module       *struct{ Path string }
}

// name returns the path of a package inside the module.
func (p *listedPackage) name() string { return local(p.ImportPath) }

func local(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

func isLocal(importPath string) bool {
	return importPath == module || strings.HasPrefix(importPath, module+"/")
}

// goList runs go list in the root of the product's module, for one platform.
func goList(t *testing.T, goos string, args ...string) []listedPackage {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports,Module"}, args...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.Bytes())
	}
	var list []listedPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatalf("read the output of %s: %v", cmd, err)
		}
		list = append(list, p)
	}
}

var platforms = []string{"linux", "darwin", "windows"}

func TestDependencies(t *testing.T) {
	rules, err := parseArrows(depsRules)
	if err != nil {
		t.Fatal(err)
	}
	for _, goos := range platforms {
		seen := map[string]bool{}
		for _, p := range goList(t, goos, "./...") {
			name := p.name()
			seen[name] = true
			if !rules.knows(name) {
				t.Errorf("%s: no rule names this package", name)
				continue
			}
			for _, dep := range p.Imports {
				if isLocal(dep) && !rules.allows(name, local(dep)) {
					t.Errorf("%s imports %s, which no rule allows", name, local(dep))
				}
			}
		}
		for _, name := range []string{"tsdb", "promqlx", "remote/write", "tsdb/internal/wal"} {
			if !seen[name] {
				t.Errorf("go list for %s did not find %s", goos, name)
			}
		}
	}
}

func TestForeignDependencies(t *testing.T) {
	everywhere, err := parsePermits(foreignRules)
	if err != nil {
		t.Fatal(err)
	}
	storage, err := parsePermits(storageRules)
	if err != nil {
		t.Fatal(err)
	}
	for _, goos := range platforms {
		for _, p := range goList(t, goos, "./...") {
			name := p.name()
			for _, dep := range p.Imports {
				if rule := everywhere.denies(name, dep); rule != "" {
					t.Errorf("%s imports %s, against the rule %q", name, dep, rule)
				}
				if !matchPath("tsdb/...", name) && !matchPath("promqlx/...", name) || isTestHelper(name) {
					continue
				}
				if rule := storage.denies(name, dep); rule != "" {
					t.Errorf("%s imports %s, against the rule %q", name, dep, rule)
				}
			}
		}
	}
}

// TestForeignTestDependencies holds tests to the module rules: what they import
// is in the product's go.mod too.
func TestForeignTestDependencies(t *testing.T) {
	rules, err := parsePermits(foreignRules)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range goList(t, "linux", "./...") {
		for _, dep := range append(p.TestImports, p.XTestImports...) {
			if !strings.Contains(dep, ".") || matchPath("github.com/gogo/protobuf/...", dep) || matchPath("github.com/go-kit/log/...", dep) {
				continue // the standard library, and generated messages to compare with
			}
			if rule := rules.denies(p.name(), dep); rule != "" {
				t.Errorf("a test of %s imports %s, against the rule %q", p.name(), dep, rule)
			}
		}
	}
}

func TestLinkedModules(t *testing.T) {
	for _, p := range goList(t, "linux", "-deps", "./...") {
		if p.Module == nil {
			continue
		}
		for _, pattern := range forbiddenModules {
			if matchPath(pattern, p.Module.Path) {
				t.Errorf("%s of module %s is linked into the programs", p.ImportPath, p.Module.Path)
			}
		}
	}
}
