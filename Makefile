# The modules, each with its own go.mod: the root, the worker's, every driver's.
MODULES := . worker $(sort $(dir $(wildcard drivers/*/go.mod)))
GO ?= go
export GOWORK := off

.PHONY: all build test race lint cross studies clean

all: build

build: ## bin/sqlite3perf
	$(GO) build -o bin/ ./cmd/sqlite3perf

test: ## every test of every module, with go vet
	@set -e; for m in $(MODULES); do \
		echo "== $$m"; (cd $$m && $(GO) vet ./... && $(GO) test ./...); done

# What the race detector would find in SQLite translated to Go is not ours, and
# takes it minutes; the adapter that those drivers share runs with mattn too.
RACED := $(filter-out drivers/modernc/ drivers/glebarez/ drivers/ncruces/,$(MODULES))
race: ## the tests with the race detector
	@set -e; for m in $(RACED); do \
		echo "== $$m"; (cd $$m && $(GO) test -race ./...); done

lint: ## golangci-lint, built from tools/go.mod
	@set -e; $(GO) -C tools build -o ../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint; \
	for m in $(MODULES); do echo "== $$m"; (cd $$m && $(CURDIR)/bin/golangci-lint run ./...); done

# GOOS/GOARCH of the lab and of the workers that need no C compiler.
PLATFORMS := darwin/arm64 darwin/amd64 windows/amd64 linux/arm64
cross: ## the lab and the pure-Go workers build for other platforms
	@set -e; for p in $(PLATFORMS); do echo "== $$p"; \
		export CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/}; \
		$(GO) vet ./... ; \
		for d in modernc ncruces glebarez zombiezen sqinn; do (cd drivers/$$d && $(GO) build -o /dev/null ./worker); done; done

# Each takes up to five minutes, the last of them more; STUDIES="writers cgo" for some.
studies: build ## the outputs in docs/studies.md, by this machine
	$(GO) run ./docs/remake -tool bin/sqlite3perf docs/studies.md $(STUDIES)

clean:
	rm -rf bin
