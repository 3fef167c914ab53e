# Building, running and testing varve. It needs Go and make; the race detector
# needs a C compiler too.
#
#   make run          build the server and start it, data in ./data
#   make build        build bin/varve and bin/varvectl
#   make test         what a change has to pass: format, vet, tests, a short e2e
#   make race         all tests under the race detector
#   make fuzz         every fuzz target for FUZZTIME=60s; FUZZ=Name picks some.
#                     Fails too if a target accepts none of its inputs
#   make e2e          everything end to end, with a real Prometheus (minutes to build once)
#   make torture      cut the power in process, and kill the server ROUNDS=20 times
#   make bench        measure varve beside its rivals, and say which bars hold;
#                     BENCH_VM=binary BENCH_BASE=old/varve BENCH_TSBS=file RUNS=3
#                     BENCHES="tsbs rw"; e2e/bench/main.go tells more
#   make bench-tsbs   the questions of TSBS beside VictoriaMetrics, BENCH_VM=binary;
#                     BENCH_TSBS=lines BENCH_TSBS_QUERIES=requests BENCH_QUERIES=1000
#   make bench-promql the query engine beside Prometheus', in one process: time and
#                     memory; SUITES="range native tsbs memory" picks some,
#                     e2e/querybench/main.go tells more
#   make gobench      Go benchmarks; BASE=file compares with the output of another run
#   make lint         vet, and the tests of the tree: imports, comments, lengths
#   make lint-extra   staticcheck and gofumpt (downloads them)
#   make cross        build and vet for the other platforms
#   make golden       write the golden files anew: read the diff before you keep it
#   make clean        remove what was built; data stays

GO       ?= go
FUZZTIME ?= 60s
FUZZ     ?= .
ROUNDS   ?= 20
COUNT    ?= 6
BENCH    ?= .
BENCHES  ?=
SUITES   ?=
BASE     ?=
ARGS     ?=

# auto: under the race detector if there is a C compiler. 1: or fail. 0: without.
RACE     ?= auto

VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
REVISION  ?= $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
VERSIONS  := github.com/prometheus/common/version
LDFLAGS   := -X $(VERSIONS).Version=$(VERSION) -X $(VERSIONS).Revision=$(REVISION)
GOFMT     := $(shell $(GO) env GOROOT)/bin/gofmt
# Prometheus' iterators have a Seek that is no io.Seeker.
VET       := $(GO) vet -stdmethods=false
EXE       := $(shell $(GO) env GOEXE)
CC_FOUND  := $(shell command -v "$$($(GO) env CC)" 2>/dev/null)
PLATFORMS := linux/arm64 darwin/arm64 windows/amd64
TOOL      := $(GO) tool -modfile=tools/go.mod
VARVE     := $(CURDIR)/bin/varve$(EXE)

ifeq ($(RACE),auto)
RACE_FLAG := $(if $(CC_FOUND),-race,)
else ifeq ($(RACE),1)
RACE_FLAG := -race
endif
# Only the race detector needs cgo.
WITH_RACE := $(if $(RACE_FLAG),CGO_ENABLED=1)

export GOWORK := off

.PHONY: run build test unit e2e-short race fuzz e2e torture bench bench-tsbs bench-promql gobench lint lint-extra tidy fmt-check vet cross golden clean say-race

run: build
	$(VARVE) $(ARGS)

build:
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/ ./cmd/varve ./cmd/varvectl

test: fmt-check vet build unit e2e-short

fmt-check:
	@bad=$$($(GOFMT) -l cmd configs e2e promqlx remote tsdb); test -z "$$bad" || { echo "not formatted, run gofmt -w:"; echo "$$bad"; exit 1; }

vet:
	$(VET) ./...

say-race:
ifneq ($(RACE_FLAG),)
	@test -n "$(CC_FOUND)" || { echo "the race detector needs a C compiler, and there is none"; exit 1; }
else
	@echo "NOTE: tests run without the race detector$(if $(filter auto,$(RACE)),: it needs a C compiler and there is none)"
endif

unit: say-race
	$(WITH_RACE) $(GO) test $(RACE_FLAG) -timeout 20m ./...

# The real binary, without what needs a Prometheus server to be built. Tests of
# the tree look at files that the test cache does not know of.
e2e-short: build
	cd e2e && $(VET) ./... && VARVE_BIN=$(VARVE) $(GO) test -short -count=1 -timeout 20m ./...

race:
	CGO_ENABLED=1 $(GO) test -race -timeout 30m ./...

fuzz:
	@mkdir -p bin && : >bin/fuzz-counts.txt; \
	list=$$($(GO) test -list '^Fuzz' ./...) || { echo "$$list"; exit 1; }; \
	echo "$$list" | awk '/^Fuzz/ { n[++k] = $$1 } /^ok/ { for (i = 1; i <= k; i++) print n[i], $$2; k = 0 }' | grep -E '$(FUZZ)' | \
	while read -r target package; do \
		echo "--- $$package $$target for $(FUZZTIME)"; \
		$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x -v "$$package" </dev/null | tee bin/fuzz.txt; \
		tail -n 1 bin/fuzz.txt | grep -q '^ok' || exit 1; \
		counts=$$(grep -o "$$target: .* accepted$$" bin/fuzz.txt) || { echo "$$package $$target counts no inputs"; exit 1; }; \
		echo "$$package $$counts" >>bin/fuzz-counts.txt; \
	done && cat bin/fuzz-counts.txt

e2e: build
	cd e2e && VARVE_BIN=$(VARVE) $(GO) test -count=1 -timeout 80m ./...

# Power cuts and failing operations in process, then SIGKILLs of the real server.
torture: build
	$(GO) test -count=1 -timeout 1h -run 'EqualsModel|Crash|Fail|FullDisk' ./tsdb/...
	cd e2e && E2E_KILLS=$(ROUNDS) VARVE_BIN=$(VARVE) $(GO) test -count=1 -timeout 2h -run Kill -v ./server

bench: build
	cd e2e && COUNT=$(COUNT) VARVE_BIN=$(VARVE) $(GO) run ./bench $(BENCHES)

bench-tsbs: build
	cd e2e && VARVE_BIN=$(VARVE) $(GO) run ./bench tsbs-queries

bench-promql:
	cd e2e && $(GO) run ./querybench $(SUITES)

gobench:
	@mkdir -p bin
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count=$(COUNT) ./... | tee bin/bench.txt
ifneq ($(BASE),)
	$(TOOL) benchstat $(BASE) bin/bench.txt
endif

lint: fmt-check vet tidy

tidy:
	cd e2e && $(GO) test -count=1 ./tidy

lint-extra: lint
	$(TOOL) gofumpt -l cmd configs e2e promqlx remote tsdb
	$(TOOL) staticcheck ./...

cross:
	@for platform in $(PLATFORMS); do \
		echo "--- $$platform"; \
		export CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/}; \
		$(GO) build ./... && $(VET) ./... || exit 1; \
	done

golden:
	$(GO) test $$($(GO) list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | grep cockroachdb/datadriven | cut -d' ' -f1) -args -rewrite
	GOLDEN_REWRITE=1 $(GO) test -count=1 ./remote/api
	$(GO) test ./...

clean:
	rm -rf bin
