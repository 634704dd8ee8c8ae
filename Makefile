# The one way to build, test and try Slipway. It needs Go, git and make; all other
# tools are built from source, at the versions below, into .cache/tools.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

NODES ?= 5
GO ?= go

TOOLS := $(CURDIR)/.cache/tools
export PATH := $(TOOLS):$(PATH)
# No binary says which commit it is of, so that building works on any checkout.
export GOFLAGS := $(GOFLAGS) -buildvcs=false

##@ Try it

.PHONY: demo
demo: localcluster ## Drain a node of a local cluster of its own, return it, take everything down
	@bin/dev demo

.PHONY: up
up: localcluster ## Start a local cluster that stays, with NODES=5 simulated nodes and their agents; SLIPWAY=no: without Slipway
	@bin/dev up --nodes $(NODES) $(if $(filter no,$(SLIPWAY)),--slipway=false)

.PHONY: down
down: build ## Take the local cluster down
	@bin/dev down

.PHONY: drain
drain: build ## Drain NODE= of the local cluster, or of the one that KUBECONFIG names, and follow it to the end
	@$(SLIPWAY_ON_CLUSTER) drain $(call required,NODE) --force --delete-emptydir-data

.PHONY: maintenance-complete
maintenance-complete: build ## Return NODE= of that cluster from maintenance
	@$(SLIPWAY_ON_CLUSTER) uncordon $(call required,NODE)

SLIPWAY_ON_CLUSTER = KUBECONFIG='$(or $(KUBECONFIG),$(wildcard .local/kubeconfig),$(error there is no local cluster; 'make up' starts one))' bin/kubectl-slipway

required = $(or $($1),$(error $1 is missing: make $@ $1=$(or $2,worker-1)))

##@ Build and test

.PHONY: build
build: ## Build node-agent, drain-driver, controller, dev and localcluster into bin/
	@$(GO) build -o bin/ ./cmd/... ./dev
	@cd localcluster && $(GO) build -o ../bin/ ./cmd/localcluster

.PHONY: localcluster
localcluster: build ## Build the local control plane, which takes minutes the first time, and bin/kubectl
	@bin/localcluster build --link-kubectl bin/kubectl >/dev/null

# The launcher's module has the control plane in it as well. That is compiled by the
# launcher, once, and not again for the race detector.
LAUNCHER_PACKAGES := . ./cmd/localcluster ./internal/...

# Modules of their own, because what they need is heavy and nothing else needs it.
SMALL_MODULES := charts/render images test/policies test/monitoring test/validation

# These take minutes, most of which they wait: they are begun first, so that none is left over
# at the end. As many packages as AT_A_TIME have control planes at a time, which is more than
# there may be cores.
LONG_TESTS := ./test/chaos ./test/update ./test/maintenance ./test/docs ./test/central ./test/walk ./test/surge
AT_A_TIME ?= 3

# Where tests start programs, which go does not see: they run each time, in another order. The
# others run when something of them has changed; UNIT_FLAGS=-shuffle=on runs them anyway.
ON_CLUSTERS := $(LONG_TESTS) ./test/... ./drain ./bench/internal/soak ./dev
UNITS = $(GO) list ./... | grep -vxF "$$($(GO) list $(ON_CLUSTERS))"
UNIT_FLAGS ?=

# make lint vets. gotestsum names the tests that fail or are skipped, with the reason.
GOTESTSUM := gotestsum --format=pkgname-and-test-fails --format-hide-empty-pkg --format-icons=text --
GO_TEST = SLIPWAY_LOCALCLUSTER=$(CURDIR)/bin/localcluster $(GOTESTSUM) -race -vet=off

# Where the logs of programs under test stay when a test has failed, which shows their ends.
ARTIFACTS = $(CURDIR)/.cache/artifacts

# Control planes, compilers and tests collect garbage this seldom: more memory, less time. What
# is measured is not: benchmarks have the default.
TEST_GOGC ?= 400

# One after the other: what fails soon comes first, and no control plane has to start while
# compilers have the machine. Only one test at a time has a real node, which is why the
# launcher's comes last.
.PHONY: test
test: export GOGC = $(TEST_GOGC)
test: localcluster ## Run all tests, with the race detector, those on a real control plane included
	@$(MAKE) -k test-units test-modules test-on-clusters

.PHONY: test-on-clusters test-units test-modules
test-on-clusters: $(TOOLS)/.gotestsum $(TOOLS)/.helm
	@echo "test: on real control planes"
	@rm -rf $(ARTIFACTS) && mkdir -p $(ARTIFACTS)
	@SLIPWAY_LOGS=$(ARTIFACTS) $(GO_TEST) -shuffle=on -p $(AT_A_TIME) -timeout 40m $(ON_CLUSTERS)
	@cd localcluster && $(GO_TEST) -shuffle=on -timeout 10m ./cmd/localcluster

test-units: $(TOOLS)/.gotestsum
	@echo "test: units"
	@$(GO_TEST) $(UNIT_FLAGS) -p 2 $$($(UNITS))

test-modules: $(TOOLS)/.gotestsum
	@echo "test: the chart, how images are built, the admission policies, the alerts, the server's validation, the launcher's units"
	@for module in $(SMALL_MODULES); do (cd $$module && $(GOTESTSUM) -shuffle=on -vet=off ./...); done
	@cd localcluster && $(GO_TEST) -shuffle=on $(filter-out ./cmd/%,$(LAUNCHER_PACKAGES))

# RUN: which tests of PACKAGE=, as in make deflake PACKAGE=./drain RUN='TestA|TestB' COUNT=200;
# PACKAGE may be in any of the modules. Each time is a process of its own, with a control plane
# of its own where the tests have one, and in another order.
COUNT ?= 50
RUN ?= .

.PHONY: deflake
deflake: ## Run the tests RUN=TestX of PACKAGE=./test/walk COUNT=50 times, until one fails, whose log stays in .cache
	@$(if $(call required,PACKAGE,./test/walk),$(MAKE) localcluster)
	@binary=$(CURDIR)/.cache/deflake.test; log=$(CURDIR)/.cache/deflake.log; export SLIPWAY_LOCALCLUSTER=$(CURDIR)/bin/localcluster; \
	cd $(PACKAGE); \
	$(GO) test -race -c -o "$$binary" .; \
	for n in $$(seq $(COUNT)); do \
		began=$$SECONDS; \
		"$$binary" -test.run='$(RUN)' -test.shuffle=on -test.timeout=30m -test.v &>"$$log" || \
			{ grep -E '^ *--- FAIL|^panic:|DATA RACE' "$$log" || tail "$$log"; echo "deflake: number $$n of $(COUNT) failed: $$log"; exit 1; }; \
		grep -q '^--- PASS' "$$log" || { tail -n 5 "$$log"; echo "deflake: no test of $(PACKAGE) ran that is called $(RUN)"; exit 1; }; \
		echo "deflake: $$n of $(COUNT) passed, in $$((SECONDS - began)) s"; \
	done

REQUESTS ?= 20000

.PHONY: attacks
attacks: localcluster ## Send REQUESTS=20000 random requests of all users to a real API server, and compare its answers with a model
	@SLIPWAY_REQUESTS=$(REQUESTS) SLIPWAY_LOCALCLUSTER=$(CURDIR)/bin/localcluster \
		$(GO) test -count=1 -timeout=40m -v -run='^TestAdmissionAnswersAsTheModel$$' ./test/attack

# SEED is that of a run that is to be made again. Without one it is fresh, and printed.
SEED ?= $(shell echo $$((RANDOM * 32768 + RANDOM)))
DRAINS ?= 30

.PHONY: chaos
chaos: localcluster ## Drain DRAINS=30 times while processes are killed, cut off, lied to: by SEED=, a fresh one unless given
	@SLIPWAY_CHAOS_SEED=$(SEED) SLIPWAY_CHAOS_DRAINS=$(DRAINS) SLIPWAY_LOCALCLUSTER=$(CURDIR)/bin/localcluster \
		$(GO) test -count=1 -timeout=40m -v -run='^TestChaos$$' ./test/chaos

# FUZZTIME is for each target. What is found is written into testdata/fuzz beside the test, and
# is a seed of go test from then on.
FUZZTIME ?= 30s

.PHONY: fuzz
fuzz: ## Run each fuzz test for FUZZTIME=30s: whatever is parsed, from parameters to what drivers answer
	@targets="$$(git grep -oh --untracked -E '^func Fuzz[A-Za-z0-9]+' -- '*_test.go' | wc -l)"; \
	n=0; \
	while IFS=: read -r file name; do \
		n=$$((n + 1)); name="$${name#func }"; \
		echo "fuzz: $$n of $$targets: $$name in $$(dirname "$$file"), for $(FUZZTIME)"; \
		$(GO) test -run='^$$' -fuzz="^$$name\$$" -fuzztime=$(FUZZTIME) "./$$(dirname "$$file")"; \
	done < <(git grep -o --untracked -E '^func Fuzz[A-Za-z0-9]+' -- '*_test.go')

# PACKAGES of make mutation, and MUTATION: further flags of gremlins unleash, as in
# make mutation PACKAGES=./drain MUTATION='--diff main'. .gremlins.yaml has the others.
PACKAGES ?= ./internal/lifecycle/transition ./internal/eviction/request ./internal/maintenance ./drain

.PHONY: mutation
mutation: $(TOOLS)/.gremlins ## Make one mistake after the other in PACKAGES=..., and list those that their own tests do not find (hours)
	@for package in $(PACKAGES); do echo "mutation: $$package"; GOFLAGS='$(GOFLAGS) -short' gremlins unleash -S lt -E / $(MUTATION) $$package; done

# BENCH: further flags of bench drain, as in make bench BENCH='--scenarios=b --repeat=1'
.PHONY: bench
bench: localcluster ## Measure drains against kubectl's and an ideal one (hours), and what an agent and 2,000 EvictionRequests cost
	@$(GO) run ./bench drain --out=bench/results.json --chart=docs/bench.svg --readme=docs/performance.md $(BENCH)
	@$(GO) run ./bench cost --readme=docs/performance.md
	@$(GO) run ./bench evictions --readme=docs/performance.md

# COMPARE: further flags of bench compare, as in make compare BASE=HEAD COMPARE='--scenarios=b --repeat=3'
.PHONY: compare
compare: localcluster ## Compare drains of the working tree with those of the commit BASE=main, in turns on one cluster (half an hour)
	@$(GO) run ./bench compare --base=$(call required,BASE,main) $(COMPARE)

# SOAK: further flags of bench scale, as in make soak SOAK='--nodes=200 --sizes=50 --steps=1,20 --agents=1,50 --agent-steps=1,20'
# MIXED is how long the mixed load goes on.
MIXED ?= 1h

# What has passed is noted at the end of docs/testing.md.
RECORDED = SLIPWAY_RECORD=$(CURDIR)/docs/testing.md SLIPWAY_LOCALCLUSTER=$(CURDIR)/bin/localcluster

.PHONY: acceptance
acceptance: matrix ## What is too long for CI: the matrix, and what a flood of requests by one party does to the others (two hours)
	@$(GO) run ./bench flood --page=docs/security.md

# The newest patch of each supported minor version.
KUBERNETES ?= v1.34.4 v1.35.4 v1.36.3 v1.37.2

.PHONY: matrix
matrix: localcluster ## Test the capabilities on the versions KUBERNETES= of Kubernetes; builds each of them the first time (8 minutes)
	@$(foreach version,$(KUBERNETES),bin/localcluster build --kubernetes=$(version) >/dev/null &&) true
	@$(GO) run ./bench matrix --page=docs/install.md $(KUBERNETES)

.PHONY: soak
soak: localcluster ## Measure 100 drains at once of 1,000 nodes, and 200 agents (20 minutes); MIXED=1h of mixed load; ten seeds of chaos; 20 minutes of a responder's silence; a fleet of 50 nodes
	@$(GO) run ./bench scale --out=bench/soak.json --readme=docs/performance.md --page=docs/scale.md $(SOAK)
	@$(GO) run ./bench mixed --for=$(MIXED) --out=bench/mixed.json --page=docs/scale.md
	@for run in {1..10}; do echo "soak: chaos, run $$run of 10"; $(RECORDED) $(MAKE) chaos DRAINS=20 || exit 1; done
	@SLIPWAY_SOAK=1 $(RECORDED) $(GO) test -count=1 -timeout=40m -v -run=TestARealSilence ./test/evictions
	@SLIPWAY_SOAK=1 $(RECORDED) $(GO) test -count=1 -timeout=60m -v -run=TestAFleetZoneByZone ./test/maintenance

.PHONY: recording
recording: localcluster $(TOOLS)/.freeze ## Draw docs/recording.svg: a blocked drain and its remedy, on a local cluster of its own
	@docs/recording/record.sh

##@ Release

# The version of Go is part of what makes an image: another one gives another digest. go
# fetches this one where it is not there.
IMAGE_GO := go1.26.8
IMAGES = cd images && GOTOOLCHAIN=$(IMAGE_GO) $(GO) run .

.PHONY: image
image: ## Build the image for amd64 and arm64 into dist/image, with a list of its modules; print its digest
	@$(IMAGES) build

.PHONY: release
release: $(TOOLS)/.helm ## Build all files of a release into dist/, from a clone of the commit, as VERSION=v0.1.0
	@images/release.sh $(call required,VERSION,v0.1.0) $(IMAGE_GO)

.PHONY: image-check
image-check: image ## Build it again, from a clone and with an empty cache; compare; look at what is in it, and start it
	@images/check.sh $(IMAGE_GO)

.PHONY: driver-image-check
driver-image-check: ## Build the image of Dockerfile from a clone, with buildah and this machine's Go, and start it (as root)
	@deploy/check.sh

.PHONY: image-push
image-push: ## Push dist/image to TO=REPOSITORY:TAG; print its digest
	@$(IMAGES) push $(call required,TO,ghcr.io/me/slipway:test)

.PHONY: chart
chart: $(TOOLS)/.helm ## Package the chart into dist/, with DIGEST=sha256:... for the one image that it runs
	@mkdir -p dist && cp -r charts/slipway dist/.chart
	@trap 'rm -rf dist/.chart' EXIT; \
		sed -i 's|^  digest: ""$$|  digest: "$(call required,DIGEST,sha256:...)"|' dist/.chart/values.yaml; \
		grep -q '^  digest: "$(DIGEST)"$$' dist/.chart/values.yaml; \
		helm lint --quiet dist/.chart; \
		helm package dist/.chart --destination dist

##@ Look after the source

CRDS := config/crd/lifecycle.k8s.io
CRDS_SLIPWAY := config/crd/slm.slipway.dev
CRDS_OWN := config/crd/slipway.dev

.PHONY: generate
generate: $(TOOLS)/.buf $(TOOLS)/.protoc-gen-go $(TOOLS)/.protoc-gen-go-grpc $(TOOLS)/.controller-gen ## Generate the driver contract's code, deep copies, CRDs and docs/reference
	@buf generate
	@controller-gen object paths=./api/lifecycle/... paths=./api/slipway/...
	@rm -rf $(CRDS) $(CRDS_SLIPWAY) $(CRDS_OWN)
	@controller-gen crd paths=./api/lifecycle/... output:crd:dir=$(CRDS)
	@controller-gen crd paths=./api/slipway/... output:crd:dir=$(CRDS_OWN)
	@mkdir -p $(CRDS_SLIPWAY)
	@for kind in lifecycletransitions lifecycleevents; do \
		sed -E -e '/^    api-approved\.kubernetes\.io: /d' -e '/^  (group|name): /s/lifecycle\.k8s\.io$$/slm.slipway.dev/' \
			$(CRDS)/lifecycle.k8s.io_$$kind.yaml > $(CRDS_SLIPWAY)/slm.slipway.dev_$$kind.yaml; \
	done
	@$(GO) run ./docs/generate

.PHONY: manifests
manifests: generate ## Bring the chart's files and config/install*.yaml up to date
	@cd charts/render && $(GO) run .

.PHONY: lint
lint: prose $(TOOLS)/.buf $(TOOLS)/.golangci-lint ## Check the Go code of all modules, the driver contract and the prose
	@buf lint
	@golangci-lint run ./...
	@cd localcluster && golangci-lint run $(LAUNCHER_PACKAGES)
	@for module in $(SMALL_MODULES); do (cd $$module && golangci-lint run ./...); done
	@! git grep --untracked -nE '\btime\.(Sleep|Tick)\(' -- '*.go' || { echo "lint: tests and programs wait for conditions: use no time.Sleep and no time.Tick"; exit 1; }

.PHONY: prose
prose: $(TOOLS)/.vale ## Check the English of documents, comments and messages (docs/style)
	@git ls-files '*.md' '*.go' | xargs vale --no-global --output=line
	@docs/style/identifiers.sh

.PHONY: format
format: $(TOOLS)/.golangci-lint ## Format the Go code of all modules
	@golangci-lint fmt ./...
	@cd localcluster && golangci-lint fmt ./...
	@for module in $(SMALL_MODULES); do (cd $$module && golangci-lint fmt ./...); done

# Lines that are neither blank nor a comment; tests and generated code are left out. The
# product may not grow back: docs/architecture.md.
PRODUCT := api cmd drain driverkit internal nodelease responderkit slipwayclient
count_lines = git ls-files $(1) | grep '\.go$$' | grep -v -e '_test\.go$$' -e zz_generated -e '\.pb\.go$$' | xargs cat | grep -cvE '^[[:space:]]*(//.*)?$$'

.PHONY: count
count: ## Count the lines of Go of the product and of the tooling: neither blank, comment, test nor generated
	@echo "count: product $$($(call count_lines,$(PRODUCT))), tooling $$($(call count_lines,$(addprefix ':!',$(PRODUCT))))"

.PHONY: verify
verify: manifests count ## Generate and lint; fail if go.mod is not tidy, or the tree is dirty
	@$(GO) mod tidy -diff
	@cd localcluster && $(GO) mod tidy -diff
	@for module in $(SMALL_MODULES); do (cd $$module && $(GO) mod tidy -diff); done
	@test -z "$$(git status --porcelain)" || { git status --short; echo "verify: the tree is dirty, or not as generated: commit these"; exit 1; }
	@$(MAKE) lint

##@ Help

.PHONY: help
help: ## Print this
	@awk 'BEGIN {FS = ":.*## "; print "Usage: make TARGET"} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Tools. The stamp .NAME holds the version: the tool is built again only when that
# changes. NAME_TOOL is the package and the version.
buf_TOOL := github.com/bufbuild/buf/cmd/buf@v1.58.0
protoc-gen-go_TOOL := google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12-0.20260120151049-f2248ac996af
protoc-gen-go-grpc_TOOL := google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.1
controller-gen_TOOL := sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0
helm_TOOL := helm.sh/helm/v3/cmd/helm@v3.22.0
gremlins_TOOL := github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
gotestsum_TOOL := gotest.tools/gotestsum@v1.13.0
vale_TOOL := github.com/errata-ai/vale/v3/cmd/vale@v3.17.1
freeze_TOOL := github.com/charmbracelet/freeze@v0.2.2
golangci-lint_TOOL := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

$(TOOLS)/.%: FORCE
	@if [ "$$(cat $@ 2>/dev/null)" != "$($*_TOOL)" ]; then \
		echo "tools: building $($*_TOOL)"; \
		GOBIN=$(TOOLS) GOFLAGS= $(GO) install $($*_TOOL); \
		echo "$($*_TOOL)" > $@; \
	fi

.PHONY: FORCE
FORCE:
