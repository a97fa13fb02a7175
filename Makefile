# Mizan. `make help` says what there is; Go, make and git are all it needs.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
BIN     := bin/mizan
GO      ?= go

# What runs under the race detector: packages with goroutines, in CONCURRENT except those of ALONE, whose
# tests run commands one after the other or read sources. `make race RACE=./...` takes the rest too.
CONCURRENT = ./actors/... ./posting/... ./api/... ./cmd/... ./internal/...
ALONE      = $(addprefix mizan/,cmd/mizan cmd/mizan/audit cmd/mizan/audit/evidence cmd/mizan/browser cmd/mizan/client/contracts cmd/mizan/client/developer cmd/mizan/config internal/jsonwalk internal/msgpackcheck internal/tidy)
RACE      ?= $(filter-out $(ALONE),$(shell $(GO) list $(CONCURRENT)))
RACEBIN  := bin/race/mizan
# The hash of passwords is a computation on its own memory, and half of the time of api's tests under the
# detector. A process that ends would wait a second for races of the goroutines that are left.
RACING   := -race '-gcflags=golang.org/x/crypto/argon2=-race=false'
FUZZTIME ?= 30s
SOAK     ?= 10m
FOR      ?= 10m
# Chromium, or a browser of its family, by any of its usual names. UPDATE=-update rewrites the screenshots. SHORT=-short tries
# each page in a third of the views.
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome || command -v google-chrome-stable)
UPDATE   ?=
SHORT    ?=

# Tests make thousands of small stores, and on a disk that takes longer than the tests do. So their
# directories are in memory where there are 4 GB of it and programs may run from it. Nothing is lost
# by that: a disk that fails, fills up or loses power is simulated by the tests that need one, and
# `make soak` uses the disk. `make test TESTDIR=/tmp` uses it too.
TESTDIR ?= $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 { print $$6 }' | \
  while read -r d; do [ -w "$$d" ] && ! grep -q " $$d .*noexec" /proc/mounts && echo "$$d"; done)
# A fifth of the time of tests that open stores went into collecting the garbage of small heaps.
INTEST   = GOGC=400 $(if $(TESTDIR),TMPDIR=$(TESTDIR) )

# Modules of their own that are tested with this one: what merchants get, and what they copy.
MODULES = api/sdk/go docs/examples/shop

# Without the paths of the clone in it, what one step or clone has compiled serves the others.
export GOFLAGS += -trimpath

.DEFAULT_GOAL := help
.PHONY: help build run test race browser lint sdk typescript deb ci alerts promtool fuzz bench soak simulate clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Variables: RACE=PACKAGES of race, FUZZTIME=30s of fuzz, SOAK=10m of soak, SEED, NODES=1 and FOR=10m of simulate, CHROMIUM=PATH, SHORT=-short and UPDATE=-update (new screenshots) of browser, GO=go. One test: go test ./PACKAGE -run NAME"

# The compiler cannot see a text that a language lacks; the first command can.
build: ## check the texts of pages and build bin/mizan
	$(GO) test -vet=off -run '^TestCatalogsAreComplete$$' ./api/web/locale ./api/checkout/texts ./api/console/texts ./api/console/auditor
	$(GO) build -trimpath -buildvcs=false -ldflags '-X main.version=$(VERSION)' -o $(BIN) ./cmd/mizan

run: build ## build, then serve a sandbox from ./data on https://127.0.0.1:8443
	$(BIN) serve --sandbox

test: build ## vet and run all tests
	$(GO) vet ./...
	@set -ex; for module in $(MODULES); do $(GO) -C $$module vet ./...; $(GO) -C $$module test -vet=off -count=1 ./...; done
	$(INTEST)MIZAN_TEST_BINARY=$(CURDIR)/$(BIN) $(GO) test -vet=off -count=1 -timeout 15m ./...

race: build ## run the tests of concurrent packages under the race detector
	$(GO) -C api/sdk/go test -race -short -vet=off -count=1 ./...
	$(GO) build $(RACING) -buildvcs=false -o $(RACEBIN) ./cmd/mizan
	$(INTEST)GORACE=atexit_sleep_ms=50 MIZAN_TEST_BINARY=$(CURDIR)/$(BIN) MIZAN_TEST_RACE_BINARY=$(CURDIR)/$(RACEBIN) \
	  $(GO) test $(RACING) -short -vet=off -count=1 -timeout 15m $(RACE)

browser: build ## try the payers' pages in Chromium; skipped where there is none
	@if [ -z "$(CHROMIUM)" ]; then \
	  echo "make browser: SKIPPED, no Chromium here (Debian: apt install chromium fonts-noto-core): the payers' pages are not tried in a browser"; \
	else \
	  set -x; $(INTEST)MIZAN_TEST_BROWSER="$(CHROMIUM)" MIZAN_TEST_BINARY=$(CURDIR)/$(BIN) \
	    $(GO) test -vet=off -count=1 -timeout 25m $(SHORT) ./cmd/mizan/browser $(UPDATE); \
	fi

lint: ## formatting, tidy modules, go vet, staticcheck
	@unformatted="$$(gofmt -l .)"; \
	  if [ -n "$$unformatted" ]; then echo "not gofmt-clean:"; echo "$$unformatted"; exit 1; fi
	$(GO) mod tidy -diff
	cd tools && $(GO) mod tidy -diff
	$(GO) vet ./...
	$(GO) tool -modfile=tools/go.mod staticcheck ./...
	@set -ex; for module in $(MODULES); do (cd $$module && $(GO) mod tidy -diff && $(GO) vet ./... && \
	  $(GO) tool -modfile=$(CURDIR)/tools/go.mod staticcheck ./...); done

sdk: ## generate the clients of the API from its description
	$(GO) run ./api/sdk/generate

typescript: ## install the compiler of the TypeScript client as bin/typescript; its tests need it, and npm
	@mkdir -p bin/typescript && cd bin/typescript && \
	  if [ ! -d node_modules/typescript ] || ! cmp -s ../../api/sdk/typescript/package-lock.json package-lock.json; then \
	    cp ../../api/sdk/typescript/package.json ../../api/sdk/typescript/package-lock.json . && npm ci --ignore-scripts --no-audit --no-fund; \
	  fi

deb: build ## build the Debian package bin/mizan_VERSION_ARCH.deb
	rm -f bin/*.deb
	GO="$(GO)" tools/deb/build.sh $(BIN) bin

ci: ## everything that has to hold before a change is taken (.ci/run)
	.ci/run

# The tag leaves out the clients of clouds in which Prometheus can look for servers; with them it takes three times as long.
promtool: ## build promtool, Prometheus' checker, as bin/promtool; the first time takes minutes
	$(GO) build -modfile=tools/go.mod -tags remove_all_sd -o bin/promtool github.com/prometheus/prometheus/cmd/promtool

alerts: build promtool ## check the alert rules and the dashboard of docs/observability with promtool
	MIZAN_TEST_BINARY=$(CURDIR)/$(BIN) $(GO) test -count=1 -run '^TestAlert|^TestDashboard' ./cmd/mizan/serving

fuzz: ## run every fuzz target for FUZZTIME (30s)
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$pkg; \
	  done; done

bench: build ## measure payments and ledger throughput
	$(BIN) bench payments
	$(BIN) bench ledger

soak: build ## the long random tests; kill a loaded server and damage stores for SOAK (10m) each
	MIZAN_SOAK=$(SOAK) $(GO) test -count=1 -timeout 0 -v -run '^TestInsider|^TestChangedCachedReply' ./snapshots/check
	MIZAN_SOAK=$(SOAK) $(GO) test -count=1 -timeout 0 -v -run '^TestDamageIs|^TestInsider|^TestSoak' ./posting/store
	MIZAN_SOAK=$(SOAK) MIZAN_TEST_BINARY=$(CURDIR)/$(BIN) $(GO) test -count=1 -timeout 0 -v -run '^TestSoak' ./bench/...

simulate: ## crash simulated worlds of NODES (1 or 3) from SEED on for FOR (10m), one process for each processor
	@$(GO) test -vet=off -c -o $(BIN)-simulation ./bench/simulation
	@seed=$${SEED:-$$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}; pids=; i=0; \
	  while [ $$i -lt $$(nproc) ]; do \
	    (cd bench/simulation && MIZAN_SEED=$$((seed + i * 1000000)) MIZAN_NODES=$(or $(NODES),1) MIZAN_SOAK=$(FOR) $(CURDIR)/$(BIN)-simulation -test.v -test.timeout 0 -test.run '^TestWorlds') & \
	    pids="$$pids $$!"; i=$$((i + 1)); \
	  done; ok=0; for pid in $$pids; do wait $$pid || ok=1; done; exit $$ok

clean: ## remove what was built; data stays
	rm -rf bin
