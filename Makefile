# On a fresh Debian 12, as root or with sudo, `make demo` and `make test` need nothing else; `make test-real` needs Go.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
STEP := tools/step
# Where cluster-up keeps its state.
CLUSTER ?= $(CURDIR)/build/cluster

.PHONY: help
help: ## this list
	@echo "gpu-scheduler: make <target>"
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  %-21s %s\n", $$1, $$2}'

.PHONY: packages
packages:
	@$(STEP) "Debian packages" tools/install-packages

.PHONY: demo
demo: packages ## the quick start: a whole cluster in one process, and a short tour of it; KEEP=1 stays up
	@$(STEP) "build gpu-sandbox" tools/build release gpu-sandbox
	@KEEP=$(KEEP) $(STEP) "demo" tools/demo

.PHONY: test
test: packages static ## format, layers, unit, property, World and fuzz-corpus tests, seeds, kubectl on the sandbox; minutes
	@$(STEP) "build" tools/build release
	@tools/test fast

.PHONY: test-real
test-real: packages ## the tests against a real Kubernetes, which Go (1.26 or newer) compiles once
	@$(STEP) "build" tools/build release
	@tools/test real

.PHONY: test-all
test-all: packages static ## both at a time, and looks by the second compiler and clang-tidy: what .ci/run does
	@$(STEP) "build" tools/build release
	@tools/test all

.PHONY: build
build: packages ## all programs, in build/release/bin
	@$(STEP) "build" tools/build release

.PHONY: image
image: packages ## the container images build/gpu-scheduler.tar and build/gkm.tar, made without Docker
	@$(STEP) "build the programs" tools/build release programs
	@$(STEP) "image" tools/image build/gpu-scheduler.tar
	@$(STEP) "image of GKM" tools/image --gkm build/gkm.tar

PREFIX ?= /usr/local
.PHONY: install
install: build ## all programs, their man pages and completions, below PREFIX (/usr/local)
	@$(STEP) "install" cmake --install build/release --prefix "$(PREFIX)"

.PHONY: check
check: static ## the fast loop while editing: format, layers, unit tests (preset dev)
	@$(STEP) "build" tools/build dev
	@tools/ctest dev -LE 'real|sandbox|world'

.PHONY: static
static:
	@$(STEP) "format" tools/format --check
	@$(STEP) "layers" tools/check_layers.py
	@$(STEP) "layer check self-test" tools/check_layers.py --self-test
	@$(STEP) "docs" tools/check_docs.py
	@$(STEP) "docs check self-test" tools/check_docs.py --self-test
	@$(STEP) "reference" docs/make-reference --check
	@$(STEP) "reference self-test" docs/make-reference --self-test
	@$(STEP) "test report self-test" tools/test-report --self-test

.PHONY: cluster-up
cluster-up: packages ## a real kube-apiserver, controller-manager and etcd with simulated GPU nodes; prints KUBECONFIG
	@$(STEP) "build the scheduler" tools/build release gpu-scheduler
	@$(STEP) "build the real control plane (once per version, then cached)" test/testbed/build
	@test/testbed/cluster-up $(CLUSTER)

.PHONY: cluster-down
cluster-down: ## stops what cluster-up started
	@test/testbed/down --delete $(CLUSTER)

.PHONY: asan
asan: packages ## all but the real-cluster tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(STEP) "build (asan, ubsan)" tools/build asan
	@tools/ctest asan -LE '^(real|sandbox)$$'

.PHONY: tsan
tsan: packages ## the same under ThreadSanitizer
	@$(STEP) "build (tsan)" tools/build tsan
	@tools/ctest tsan -LE '^(real|sandbox)$$'

.PHONY: clang
clang: packages ## every file through clang 14 (second compiler, -Wthread-safety), without making code
	@$(STEP) "clang 14" tools/clang-check

.PHONY: tidy
tidy: packages ## clang-tidy 14 over what is shipped, where it changed since it was clean
	@$(STEP) "clang-tidy 14" tools/clang-check --tidy

.PHONY: mutants
mutants: packages ## small faults in the deciding code that was changed, which no test finds; SAMPLE=200 SEED=1 of all of it
	@tools/mutants

.PHONY: fuzz
fuzz: packages ## fuzz every parser of outside bytes for FUZZ_SECONDS (30) each
	@$(STEP) "build (libFuzzer)" tools/build fuzz all_fuzz
	@tools/fuzz

SEEDS ?= 10000
FIRST_SEED ?= 1
.PHONY: sim
sim: packages ## whole clusters with every fault at random: SEEDS=n FIRST_SEED=k; prints a shortened plan of what fails
	@$(STEP) "build" tools/build release sim_main
	@$(STEP) "$(SEEDS) seeds from $(FIRST_SEED)" build/release/bin/sim $(SEEDS) $(FIRST_SEED)

.PHONY: bench
bench: packages ## every figure that has a goal, against it and bench/baseline.json; 45 minutes, tools/bench --quick three
	@$(STEP) "build" tools/build release all_bench gpu-scheduler filters
	@$(STEP) "bench" tools/bench

.PHONY: format
format: ## format all C++ with clang-format-14
	@tools/format

.PHONY: clean
clean: ## remove build/
	@rm -rf build

# ---- GKM, by the names of its guide (docs/use/gkm-install.md); tools/gkm-deploy says which variables it has.
GKM := build-images push-images build-installer deploy redeploy undeploy run-on-kind deploy-on-kind redeploy-on-kind \
  undeploy-on-kind destroy-kind deploy-examples undeploy-examples deploy-cert-manager undeploy-cert-manager
.PHONY: $(GKM)
build-images: ## GKM's images, by podman or docker: quay.io/QUAY_USER/...:IMAGE_TAG, or IMG
push-images: ## pushes them
build-installer: ## dist/install.yaml: all of GKM in one file, with the image IMG
deploy: ## GKM into the cluster of the kubectl context; NO_GPU=true where it has no GPUs
redeploy: ## the same, and all pods start anew
undeploy: ## takes GKM away; refuses while caches are there, unless FORCE=1
run-on-kind: ## a kind cluster, KIND_CLUSTER_NAME, with simulated GPUs and GKM
deploy-on-kind: ## GKM into that cluster
redeploy-on-kind: ## the same, and all pods start anew
undeploy-on-kind: ## takes GKM away from it
destroy-kind: ## the cluster too
deploy-examples: ## caches and pods of examples/gkm
undeploy-examples: ## takes them away
deploy-cert-manager: ## cert-manager, which GKM does not need (docs/use/gkm-install.md)
undeploy-cert-manager: ## takes it away
$(GKM):
	@tools/gkm-deploy $@
# GKM has several of them, such as deploy-kyverno-policies: one sentence answers all.
.PHONY: deploy-kyverno undeploy-kyverno
deploy-kyverno undeploy-kyverno:
	@tools/gkm-deploy $@
deploy-kyverno-% undeploy-kyverno-%:
	@tools/gkm-deploy $@
