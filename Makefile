# The modules, each with its own go.mod: the root, the worker's, the recorder's, the example's, that of the cluster's manifests, every driver's.
MODULES := . worker record examples/bookshop deploy $(sort $(dir $(wildcard drivers/*/go.mod)))
GO ?= go
export GOWORK := off

.PHONY: all build rqlited sources chromium sshd test soak race locks scripts kills cluster-kills prove lint release-tools release-check vulnerabilities cross first-answer bump added-cost fidelity simulate studies pages clean

all: build

build: sources ## bin/sqlite3perf
	$(GO) build -o bin/ ./cmd/sqlite3perf

# The driver rqlite needs it, in PATH or named by RQLITED_PATH. Its SQLite needs a C compiler.
rqlited: ## bin/rqlited, rqlite's server, built from drivers/rqlite/rqlited/go.mod
	$(GO) -C drivers/rqlite/rqlited build -o $(CURDIR)/bin/rqlited github.com/rqlite/rqlite/v8/cmd/rqlited
	@echo 'export RQLITED_PATH=$(CURDIR)/bin/rqlited'

# Commit the archive with the change. This also resolves a conflict in it, after
# those in worker/ and drivers/ are resolved.
sources: ## internal/sources/sources.txtar, the sources of worker/ and drivers/ inside the binary
	$(GO) generate ./internal/sources

# $(call each,MODULES,COMMAND) runs the command in every module, even if it fails
# in one, and names in the end those in which it failed.
# $(call each,MODULES,COMMAND,OTHERS,COMMAND) then runs a command in the others, $$1, in
# three at a time: they mostly wait for locks.
define each
failed=; for m in $(1); do \
	echo "== $$m"; (cd $$m && $(2)) || failed="$$failed $$m"; done; \
$(if $(3),exec 3>&1; failed="$$failed$$(printf '%s\n' $(3) | xargs -P 3 -n 1 sh -c 'out=$$(cd $$1 && { $(4); } 2>&1); code=$$?; \
	printf "== %s\n%s\n" $$1 "$$out" >&3; [ $$code = 0 ] || printf " %s" $$1' sh)";) \
if [ -n "$$failed" ]; then echo "$@ failed in:$$failed" >&2; exit 1; fi
endef

# Python is no requirement: what is not tested without it is said at the end.
PYTHON := python3 -c 'import sqlite3, sys; assert sys.version_info >= (3, 11)' 2>/dev/null

chromium: ## Chromium, which the tests of pages need: Debian's package, where there is none
	@[ -z "$$CHROMIUM" ] || exit 0; for c in headless-shell chromium chromium-browser google-chrome google-chrome-stable; do command -v $$c >/dev/null && exit; done; \
	command -v apt-get >/dev/null || { echo 'the tests of pages need Chromium or Chrome: install it, or set CHROMIUM to the path of its executable' >&2; exit; }; \
	if [ "$$(id -u)" = 0 ]; then sudo=; else sudo=sudo; fi; \
	$$sudo apt-get update && $$sudo apt-get install -y --no-install-recommends chromium

# Without it, what is not tested is said at the end.
SSHD := PATH="$$PATH:/usr/sbin" command -v sshd >/dev/null
sshd: ## an SSH server, which the tests of hosts need: Debian's package, where there is none
	@$(SSHD) && exit; command -v apt-get >/dev/null || exit 0; \
	if [ "$$(id -u)" = 0 ]; then sudo=; else sudo=sudo; fi; \
	{ $$sudo apt-get update && $$sudo apt-get install -y --no-install-recommends openssh-server; } || echo 'sshd cannot be installed' >&2

# Long tests have names that begin so, and make soak runs them. Beside one driver of each kind,
# the suites of the others leave out what depends least on the driver.
LONG := ^Test(Soak|Prove|Kills)|^TestDocumentedCommands/docs
KINDS := drivers/mattn/ drivers/modernc/ drivers/native/
OTHERS := $(filter-out $(KINDS),$(filter drivers/%,$(MODULES)))
SUITES := $(LONG)|TestDriver/conformance/(cancel|values)|TestDriver/conformance/statements/100,000_rows|TestDriver/jobs/generate
export LONG KINDS SUITES
LEAVES := case "$$KINDS" in (*$$1*) skip=$$LONG;; (*) skip=$$SUITES;; esac

# The tests of rqlite take longest, so they begin first.
test: chromium sshd ## the tests that every change needs, of every module, with go vet
	@$(call each,$(filter-out drivers/%,$(MODULES)),$(GO) vet ./... && $(GO) test -timeout 30m -skip '$(LONG)' ./...,\
		$(filter drivers/rqlite/,$(OTHERS)) $(filter $(KINDS),$(MODULES)) $(filter-out drivers/rqlite/,$(OTHERS)),\
		$(LEAVES); $(GO) vet ./... && $(GO) test -timeout 30m -skip "$$skip" ./...)
	@$(PYTHON) || echo 'skipped: the tests of the Python worker, which need Python 3.11 or newer with sqlite3, as python3 in PATH'
	@$(SSHD) || echo 'skipped: the tests of hosts, which need sshd: install the server of OpenSSH'

soak: chromium sshd ## the long tests: whole scripts, kills, clusters, pages, proofs, every suite of every driver
	@$(call each,$(filter-out drivers/%,$(MODULES)),$(GO) test -timeout 60m -run '$(LONG)' ./...,$(filter drivers/%,$(MODULES)),\
		$(LEAVES); $(GO) test -timeout 60m -run "$$skip" ./...)

# Where goroutines are ours. What the race detector would find in SQLite is not ours; the
# adapter that most drivers share runs with mattn.
RACED := $(filter-out examples/bookshop deploy $(filter-out drivers/mattn% drivers/rqlite%,$(filter drivers/%,$(MODULES))),$(MODULES))
GOROUTINES := ./cmd/... ./internal/crash/... ./internal/lab ./internal/lab/build ./internal/lab/host ./internal/lab/load ./internal/lab/machine ./internal/lab/process ./internal/explorer ./internal/document ./internal/chart ./internal/browser
ONE_BY_ONE := $(SUITES)|^Test(Scripts|DocumentedCommands|AllDrivers)
export ONE_BY_ONE
race: sshd ## the tests with the race detector, where goroutines are ours
	@$(call each,$(RACED),$(GO) test -race -timeout 60m -skip "$$ONE_BY_ONE" $$([ $$m = . ] && echo $(GOROUTINES) || echo ./...))

# A race for a lock shows once in many runs, and mostly where a process loses the
# CPU while it holds a lock. LOCKS=20 for fewer runs.
LOCKS := 100
locks: ## the lock checks of every driver, 100 times, beside two busy processes
	@trap 'kill $$busy' EXIT; trap 'exit 130' INT TERM; \
	(while :; do :; done) & busy=$$!; (while :; do :; done) & busy="$$busy $$!"; \
	$(call each,$(filter drivers/%,$(MODULES)),$(GO) test -count=$(LOCKS) -timeout 30m -run 'TestDriver/conformance/locks' .)

# Half a day, of which rqlite takes half. SCRIPTS=300000 for half an hour.
SCRIPTS := 5000000
scripts: ## random SQL scripts, 5 million through the guard and through every driver: no file outside is touched
	TEST_SCRIPTS=$(SCRIPTS) $(GO) test -count=1 -timeout 24h -v -run 'TestReach$$|TestTokens$$|TestPythonScripts$$' ./internal/lab
	$(call each,$(filter drivers/%,$(MODULES)),TEST_SCRIPTS=$(SCRIPTS) $(GO) test -count=1 -timeout 24h -run 'TestDriver/conformance/files/random' .)

TIMES := 100
kills: sshd ## lab, worker and both killed at random moments, every signal, and every connection cut, 100 times; all commands killed 200 times, and ended otherwise 200 times
	TEST_TIMES=$(TIMES) $(GO) test -count=1 -timeout 3h -v -run 'TestKills|TestSignals' ./cmd/sqlite3perf

# KILLS=5 for fewer. It fails if a write that was acknowledged is lost.
KILLS := 50
cluster-kills: build rqlited ## the leader of three nodes of rqlite killed under load, 50 times
	RQLITED_PATH=$(CURDIR)/bin/rqlited bin/sqlite3perf cluster --kill $(KILLS)

# On a quiet machine. The comparisons take 40 minutes at most, with PROOFS=100 four and a half hours.
PROOFS := 15
prove: ## verdicts on real trials: a driver beside itself (30 times), and beside itself made 5 % and 2 % slower (15 times); bisections; drivers beside programs written by hand
	TEST_TIMES=$(PROOFS) $(GO) test -count=1 -timeout 24h -v -run 'TestProve' ./cmd/sqlite3perf ./internal/bisect

LINTER := $(CURDIR)/bin/golangci-lint
lint: ## golangci-lint, built from tools/go.mod
	@$(GO) -C tools build -o $(CURDIR)/bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@$(call each,$(MODULES),$(LINTER) run --allow-parallel-runners ./...)

# The last goreleaser whose modules and Go version can be had everywhere.
RELEASE_TOOLS := github.com/goreleaser/goreleaser/v2@v2.15.1 github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
release-tools: ## bin/goreleaser, bin/cyclonedx-gomod and bin/actionlint
	@for t in $(RELEASE_TOOLS); do GOBIN=$(CURDIR)/bin $(GO) install $$t || exit; done

# Everything is downloaded and compiled again. It commits and publishes nothing.
release-check: release-tools ## what a release would be: the workflows, the installed command, the files
	bin/actionlint
	TEST_FRESH=1 $(GO) test -count=1 -timeout 90m -run 'TestSoakRelease|TestLicenses' ./internal/release
	.ci/packages

# It asks Go's vulnerability database.
vulnerabilities: ## known vulnerabilities in what the command, the engine of workers and the recorder are linked from
	@$(call each,. worker record,$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...)

# GOOS/GOARCH of the lab and of the workers that need no C compiler.
PLATFORMS := darwin/arm64 darwin/amd64 windows/amd64 linux/arm64
PURE := $(patsubst drivers/%/driver.json,%,$(shell grep -L '"kind": "\(cgo\|other language\)"' drivers/*/driver.json))
cross: ## the lab and the pure-Go workers build for other platforms
	@set -e; for p in $(PLATFORMS); do echo "== $$p"; \
		export CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/}; \
		$(GO) vet ./... ; \
		for d in $(PURE); do (cd drivers/$$d && $(GO) build -o /dev/null ./worker); done; done

# For a quiet machine. ADDED is how long the pairs of a driver take. Its transactions
# read, which those of rqlite cannot.
ADDED := 70s
# With TEST_SQINN=path, sqinn is measured with its own executable, not with the stand-in for tests.
added-cost: ## what the engine and the adapters add to each library, in 15 minutes: the figures beside the drivers, the table in docs/proofs.md
	@$(call each,$(filter-out drivers/rqlite/,$(filter drivers/%,$(MODULES))),$(GO) test -run '^$$' -bench Driver/addedcost -benchtime $(ADDED) . -args -record)
	$(GO) test ./cmd/sqlite3perf -run TestAddedCostTable -count 1 -update

BYHAND := $(sort $(patsubst drivers/%/byhand/,%,$(dir $(wildcard drivers/*/byhand/main.go))))
fidelity: build ## drivers beside programs written by hand with the same libraries: bin/NAME-by-hand, and the outputs in docs/proofs.md
	@set -e; for d in $(BYHAND); do $(GO) -C drivers/$$d build -o $(CURDIR)/bin/$$d-by-hand ./byhand; done
	$(GO) run ./docs/remake -tool bin/sqlite3perf docs/proofs.md by-hand

# It downloads and compiles everything, for a quarter of an hour. FIRST=3 for three runs.
FIRST := 1
first-answer: ## how long somebody waits who has just installed sqlite3perf, until the first answer and until all drivers are measured
	$(GO) test ./internal/release -run '^$$' -bench FirstAnswer -benchtime 1x -count $(FIRST) -timeout 3h -v

bump: ## newer releases of the drivers' libraries: a list; with DRIVERS=mattn or all, they are taken, tested, compared and noted in CHANGELOG.md
	$(GO) run ./internal/bump $(DRIVERS)

simulate: ## how often verdicts are right and wrong, in docs/proofs.md, with more tables printed: some minutes
	$(GO) test ./internal/stats/simulate -run TestProofs -tables 8000 -timeout 2h -v
	$(GO) test ./internal/stats/simulate -run TestDetails -tables 4000 -timeout 2h -v
	$(GO) test ./internal/study -run TestSoakErrorsAtBounds -simulated 300 -v -count=1

# Each takes five minutes, one of them more; STUDIES="writers cgo" for some. STORE=runs.db keeps the
# runs.
studies: build ## the outputs in docs/studies.md, by this machine
	$(GO) run ./docs/remake -tool bin/sqlite3perf -store "$(STORE)" docs/studies.md $(STUDIES)

# PAGES="default=runs.db:1 writers=runs.db:2 …" SHOWN=runs.db:1, with runs as in docs/reports.
pages: build ## the example pages in docs/reports, the screenshots in docs/images and the screen in README.md, of stored runs
	$(GO) run ./docs/pages -tool bin/sqlite3perf -screenshots "$(SHOWN)" $(PAGES)

clean:
	rm -rf bin
