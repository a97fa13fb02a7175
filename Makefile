# Mizan. `make help` says what there is; Go, make and git are all it needs.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
BIN     := bin/mizan
GO      ?= go

# What runs under the race detector: packages with goroutines. `make race RACE=./...` takes the rest too.
RACE     ?= ./actors/... ./posting/... ./api/... ./cmd/... ./internal/...
FUZZTIME ?= 30s
SOAK     ?= 10m

.DEFAULT_GOAL := help
.PHONY: help build run test race lint ci fuzz bench soak clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Variables: RACE=PACKAGES of race, FUZZTIME=30s of fuzz, SOAK=10m of soak, GO=go. One test: go test ./PACKAGE -run NAME"

build: ## build bin/mizan
	$(GO) build -trimpath -buildvcs=false -ldflags '-X main.version=$(VERSION)' -o $(BIN) ./cmd/mizan

run: build ## build, then serve a sandbox from ./data on https://127.0.0.1:8443
	$(BIN) serve --sandbox

test: build ## vet and run all tests
	$(GO) vet ./...
	MIZAN_TEST_BINARY=$(CURDIR)/$(BIN) $(GO) test -count=1 -timeout 15m ./...

race: ## run the tests of concurrent packages under the race detector
	$(GO) test -race -short -count=1 -timeout 15m $(RACE)

lint: ## formatting, tidy modules, go vet, staticcheck
	@unformatted="$$(gofmt -l .)"; \
	  if [ -n "$$unformatted" ]; then echo "not gofmt-clean:"; echo "$$unformatted"; exit 1; fi
	$(GO) mod tidy -diff
	cd tools && $(GO) mod tidy -diff
	$(GO) vet ./...
	$(GO) tool -modfile=tools/go.mod staticcheck ./...

ci: ## everything that has to hold before a change is taken (.ci/run)
	.ci/run

fuzz: ## run every fuzz target for FUZZTIME (30s)
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; done

bench: build ## measure payments and ledger throughput
	$(BIN) bench payments
	$(BIN) bench ledger

soak: build ## kill a loaded server at random points for SOAK (10m), check after each
	MIZAN_SOAK=$(SOAK) MIZAN_TEST_BINARY=$(CURDIR)/$(BIN) $(GO) test -count=1 -timeout 0 -v -run '^TestSoak' ./bench/...

clean: ## remove what was built; data stays
	rm -rf bin
