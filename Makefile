.DEFAULT_GOAL := help
.PHONY: help test check unit oracle generate verify lint tools bin image rig rig-up rig-down rig-status rig-shell probe-image cluster demo e2e e2e-long e2e-systemd e2e-wide e2e-controller takeover perf perf-busy latency soak gpu-check

IMAGE ?= localhost/numalet:dev
FLAVOUR ?= plain# of the rig's machine: plain, systemd or wide
PROGRAMS = numalet numalet-agent numalet-deviceplugin numalet-controller

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: check e2e e2e-systemd ## what every change must pass; on 2 CPUs 75 minutes the first time, then 45

check: lint unit oracle ## what needs no rig; on 2 CPUs 20 minutes cold

unit: tools ## unit tests under the race detector, and those of the other modules
	go test -race ./...
	go test -count=1 ./internal/testutil/archtest # asks go list, which the test cache does not see
	for m in deploy/image test/cluster; do go -C $$m test ./... || exit 1; done

oracle: ## the kubelet's static CPU manager as an oracle; minutes to build when cold
	cd test/oracle && CGO_ENABLED=0 go test -trimpath ./...

GENERATED = api deploy/crds docs/reference docs/concepts/img
REFERENCES = ./cmd/numalet ./internal/agent/node/metrics ./internal/cli ./internal/controller ./internal/deviceplugin/kubelet ./internal/platform/config ./internal/testutil/docstest

generate: ## write what is generated: deep copies in api/v1alpha1, deploy/crds, docs/reference, pictures
	go tool -modfile=tools/go.mod controller-gen object crd paths=./api/... output:crd:dir=deploy/crds
	go test -count=1 $(REFERENCES) -run '^Test(Reference|Images)' -rewrite

verify: generate ## fail if what is generated is not what the types say
	@git diff --exit-code -- $(GENERATED)

lint: ## gofmt, go vet and staticcheck
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet -tags e2e ./...
	go tool -modfile=tools/go.mod staticcheck -tags e2e ./...

tools: # Debian packages that are missing
	@test/tools

bin: tools ## the programs, in build/bin: static, but for the one that loads NVIDIA's library
	for p in $(PROGRAMS); do CGO_ENABLED=0 go build -trimpath -ldflags=-s -o build/bin/$$p ./cmd/$${p#numalet-} || exit 1; done
	CGO_ENABLED=1 go build -trimpath -ldflags=-s -o build/bin/numalet-nvml ./cmd/nvml

image: bin ## the container image, build/numalet.tar (an OCI archive named $(IMAGE))
	go -C deploy/image run . -o $(CURDIR)/build/numalet.tar -ref $(IMAGE) \
	  -label org.opencontainers.image.revision=$$(git describe --always --dirty --abbrev=40 --exclude='*') \
	  $(foreach p,$(PROGRAMS) numalet-nvml,$(CURDIR)/build/bin/$(p)=/usr/bin/$(p)) $$(deploy/image/glibc build/bin/numalet-nvml)

rig: # the rig's own command, build/rig
	@go -C test/cluster build -o $(CURDIR)/build/rig ./cmd/rig

rig-up: rig ## start a real cluster with a NUMA machine; FLAVOUR=plain|systemd|wide
	build/rig up --flavour $(FLAVOUR)

rig-down: rig ## stop the cluster and its machines
	build/rig down

rig-status: rig ## what of the rig runs
	build/rig status

rig-shell: rig ## a root shell in the machine; FLAVOUR=plain|systemd|wide
	build/rig shell --flavour $(FLAVOUR)

probe-image: tools ## the image of the end-to-end tests' containers, build/probe.tar
	mkdir -p build/probe && gcc -static -O2 -Wall -Werror -o build/probe/first test/e2e/probe/first/first.c
	CGO_ENABLED=0 go build -trimpath -o build/probe/ ./test/e2e/probe ./test/e2e/updates ./test/e2e/podresources
	go -C deploy/image run . -o $(CURDIR)/build/probe.tar -ref localhost/probe:e2e $(CURDIR)/build/probe/first=/first $(CURDIR)/build/probe/probe=/probe

cluster: image probe-image rig ## the rig's machine with Numalet installed; FLAVOUR=systemd or wide for another one
	test/e2e/install $(FLAVOUR)

ON_RIG = eval "$$(build/rig env)" && go
E2E = test -tags e2e -count=1 -v -timeout 80m ./test/e2e -rig $(CURDIR)/build/rig -flavour
LONG = Alone|ControllersKilled|Explicit|GPU|Kills|Offline|Reboot|Storm|SwitchedOff|TakeOver|Uninstall|Upgrade|WithoutNRI

demo: cluster ## the main job, shown on real parts
	$(ON_RIG) run ./test/demo -rig build/rig -flavour $(FLAVOUR)

e2e: rig ## end-to-end tests on real parts, on a fresh machine
	build/rig down
	$(MAKE) cluster
	$(ON_RIG) $(E2E) $(FLAVOUR) -skip '$(LONG)|Latency|Wide'

e2e-systemd: rig ## those that matter on a node with systemd and its cgroup driver
	build/rig down
	$(MAKE) cluster FLAVOUR=systemd
	$(ON_RIG) $(E2E) systemd -run 'Publish|Policies|GiveBack|DaemonReload|SystemBus'

e2e-wide: rig ## 2 GPUs and 8 CPUs on one NUMA node, on a machine whose NUMA nodes have as many; 6 minutes
	build/rig down
	$(MAKE) cluster FLAVOUR=wide
	$(ON_RIG) $(E2E) wide -run Wide

e2e-controller: bin rig ## the controller on a real API server, with nodes that nobody stands behind
	go test -tags e2e -count=1 -v -timeout 40m ./test/e2e/controller

takeover: bin rig ## 2,000 pods bound while the leading controller is killed, and then frozen, ten times; a quarter of an hour
	go test -tags e2e -count=1 -v -timeout 60m ./test/e2e/controller -run 'Killed|Frozen' -pods 2000 -takeovers 10

NODES ?= 5000
PODS ?= 5000
perf: bin rig ## decisions in memory; kube-scheduler, Numalet and bare clients side by side; NODES, PODS; about 10 minutes on 2 quiet CPUs
	CGO_ENABLED=0 GOGC=400 go test -trimpath ./internal/controller/filters -run '^$$' -bench 'Cycle/nodes=5000/cards=./proposers=4' -benchtime 40000x
	go build -o build/perf ./test/perf
	build/perf -nodes $(NODES) -pods $(PODS) -bounds test/perf/bounds.yaml

WAITING ?= 300
perf-busy: bin rig ## how fast kube-scheduler and Numalet bind while pods wait that nothing can place; NODES, PODS, WAITING
	go build -o build/perf ./test/perf
	build/perf -nodes $(NODES) -pods $(PODS) -waiting $(WAITING)

latency: cluster ## how long creations wait for the containers that share, as in docs/benchmarks/logs/performance.md; half an hour
	$(ON_RIG) $(E2E) $(FLAVOUR) -run Latency

e2e-long: cluster ## installing, upgrading, rebooting, taking over, a storm of 500 pods, GPUs on a fake driver: what e2e has no time for; 30 minutes
	$(ON_RIG) $(E2E) $(FLAVOUR) -run '$(LONG)'

NVML ?= libnvidia-ml.so.1
gpu-check: tools ## inventory, health, plugin and CDI specification against this machine's NVIDIA driver; FAKE=1: against a fake one
	go test -count=1 -v ./internal/deviceplugin -run 'GPUCheck|CDI' -args $(if $(FAKE),,-nvml $(NVML))

soak: cluster ## 200 pods come and go, 5 kills of each kind, and 100 with GPUs; an hour
	$(ON_RIG) $(E2E) $(FLAVOUR) -run 'Churn|GPU' -pods 200 -kills 5 -gpu-pods 100
