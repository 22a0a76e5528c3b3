.DEFAULT_GOAL := help
.PHONY: help test check unit unit-arm64 oracle generate verify lint tools bin image release helm rig rig-up rig-down rig-status rig-shell probe-image cluster demo e2e e2e-long e2e-many e2e-skew e2e-systemd e2e-migrate e2e-wide e2e-kinds e2e-crio e2e-controller e2e-rules e2e-started e2e-ecosystem ui-check alerts-check takeover faults perf perf-busy latency soak gpu-check fuzz matrix

IMAGE ?= localhost/numalet:dev
VERSION ?=# the version of the release, which the programs report; if empty, they report what the Go tool recorded
LDFLAGS = -s $(if $(strip $(VERSION)),-X github.com/numalet/numalet/internal/platform/telemetry.release=$(strip $(VERSION)))
FLAVOUR ?= plain# the kind of machine in the test rig: plain, systemd, wide, backports, nfv or crio (test/cluster/README.md)
PROGRAMS = numalet numalet-agent numalet-containerd numalet-deviceplugin numalet-controller

help: ## list targets with their descriptions
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: check e2e e2e-systemd ## all tests that a change must pass; 75 minutes on 2 CPUs, 45 with warm caches

check: lint unit oracle ## tests without a cluster; 20 minutes on 2 CPUs with cold caches

unit: tools ## unit tests with the race detector, and tests of the Go modules deploy/image, deploy/release, test/browser and test/cluster
	go test -race ./...
	go test -count=1 ./internal/testutil/archtest # without the test cache: this test runs go list, and the cache does not notice when the output of go list changes
	for m in deploy/image deploy/release test/browser test/cluster; do go -C $$m test ./... || exit 1; done

unit-arm64: ## unit tests of the agent, of the device plugin and of the packages that they use, built for arm64 and run in an emulator; 5 minutes
	@test/tools arm64
	GOARCH=arm64 go test -exec qemu-aarch64 ./pkg/topology/... ./pkg/cpuset/... ./pkg/gpu/... ./pkg/numaplan/... ./internal/agent/... ./internal/deviceplugin/...

oracle: ## compare the choice of CPUs with that of the kubelet's static CPU manager; the build takes some minutes with cold caches
	cd test/oracle && CGO_ENABLED=0 go test -trimpath ./...

FUZZTIME ?= 10m
FUZZ = api/v1alpha1:FuzzReadCPURequest api/v1alpha1:FuzzPodSpec internal/controller/jobs:FuzzNewPod internal/controller/mirror:FuzzMirror internal/controller/groups:FuzzRegistry internal/cli/capture:FuzzUnpack internal/gpu/gpufeed:FuzzParse

fuzz: ## run the fuzz tests of input from users and nodes, each for FUZZTIME on one CPU; new inputs go to the Go build cache, and those that fail to testdata/fuzz
	for t in $(FUZZ); do go test ./$${t%:*} -run '^$$' -fuzz "^$${t#*:}$$" -fuzztime $(FUZZTIME) -parallel 1 || exit 1; done

GENERATED = docs/security.md api deploy/crds deploy/containerd deploy/daemonset deploy/controller deploy/gpu docs/reference docs/concepts/img
REFERENCES = ./test/e2e/controller ./cmd/numalet ./internal/agent/node/metrics ./internal/cli ./internal/controller ./internal/deviceplugin/kubelet ./internal/platform/config ./internal/testutil/docstest ./pkg/containerdconf

generate: ## generate deep copies in api/v1alpha1, deploy/crds, manifests, docs/reference, the tables of docs/security.md and pictures
	go tool -modfile=tools/go.mod controller-gen object crd paths=./api/... output:crd:dir=deploy/crds
	sed -Ei 's/^( *)(pattern: .*\[eE\]\(\\\+\|-\)\?).*/\1maxLength: 64\n\1\2[0-9]{1,2}))?$$/' deploy/crds/*.yaml # quantities with longer exponents can take hours to parse
	go test -count=1 $(REFERENCES) -run '^Test(Reference|Images)' -rewrite
	go -C deploy/release test -count=1 ./chart -run '^Test(Manifests|Pools)' -rewrite

verify: generate ## fail if generated files are out of date
	@git diff --exit-code -- $(GENERATED)

lint: ## gofmt, go vet and staticcheck
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet -tags e2e ./...
	go tool -modfile=tools/go.mod staticcheck -tags e2e ./...

tools: # install missing Debian packages
	@test/tools

bin: tools ## build the programs in build/bin; all but numalet-nvml are static
	for p in $(PROGRAMS); do CGO_ENABLED=0 go build -trimpath -ldflags="$(LDFLAGS)" -o build/bin/$$p ./cmd/$${p#numalet-} || exit 1; done
	CGO_ENABLED=1 go build -trimpath -ldflags="$(LDFLAGS)" -o build/bin/numalet-nvml ./cmd/nvml

image: bin ## build the container image, build/numalet.tar (an OCI archive named $(IMAGE))
	go -C deploy/image run . -o $(CURDIR)/build/numalet.tar -ref $(IMAGE) \
	  -label org.opencontainers.image.revision=$$(git describe --always --dirty --abbrev=40 --exclude='*') \
	  $(foreach p,$(PROGRAMS) numalet-nvml,$(CURDIR)/build/bin/$(p)=/usr/bin/$(p)) $$(deploy/image/glibc build/bin/numalet-nvml)

release: tools ## build a release from the git tag of the commit, in build/release; KEY=file signs it, SIGN=no leaves it unsigned; deploy/release/build also describes IMAGE_REPOSITORY and URL
	deploy/release/build

rig: # build build/rig, the command of the test rig
	@go -C test/cluster build -o $(CURDIR)/build/rig ./cmd/rig

rig-up: rig ## start a real cluster with a NUMA machine; FLAVOUR=plain|systemd|wide|backports|nfv|crio
	build/rig up --flavour $(FLAVOUR)

rig-down: rig ## stop the cluster and its machines
	build/rig down

rig-status: rig ## show the state of the test cluster
	build/rig status

rig-shell: rig ## open a root shell on the machine; FLAVOUR=plain|systemd|wide|backports|nfv|crio
	build/rig shell --flavour $(FLAVOUR)

probe-image: tools ## build the image for the containers of the end-to-end tests, build/probe.tar
	mkdir -p build/probe && gcc -static -O2 -Wall -Werror -o build/probe/first test/e2e/probe/first/first.c
	CGO_ENABLED=0 go build -trimpath -o build/probe/ ./test/e2e/probe ./test/e2e/updates ./test/e2e/podresources
	go -C deploy/image run . -o $(CURDIR)/build/probe.tar -ref localhost/probe:e2e $(CURDIR)/build/probe/first=/first $(CURDIR)/build/probe/probe=/probe

helm: # build build/helm, the helm command, from the Helm library that deploy/release uses
	CGO_ENABLED=0 go -C deploy/release build -trimpath -ldflags=-s -o $(CURDIR)/build/helm helm.sh/helm/v3/cmd/helm

cluster: image probe-image rig helm ## start the test cluster with Numalet installed; FLAVOUR=plain|systemd|wide|backports|nfv|crio
	test/e2e/install $(FLAVOUR)

ON_RIG = eval "$$(build/rig env)" && go
E2E = test -tags e2e -count=1 -v -timeout 80m ./test/e2e -rig $(CURDIR)/build/rig -flavour
LONG = Alone|ControllersKilled|Explicit|GPU|Kills|NodeMetrics|Offline|Reboot|ResizeKilled|Storm|SwitchedOff|TakeOver|TwoSchedulers|Uninstall|Upgrade|WithoutNRI

demo: cluster ## demonstrate the main features on the test cluster
	$(ON_RIG) run ./test/demo -rig build/rig -flavour $(FLAVOUR)

e2e: rig ## end-to-end tests on a new test cluster
	build/rig down
	$(MAKE) cluster
	$(ON_RIG) $(E2E) $(FLAVOUR) -skip '$(LONG)|Latency|ManyPods|Migrate|RefusedStart|Skew|Wide'
	$(ON_RIG) test -tags e2e -count=1 -v ./test/e2e/admission

e2e-systemd: rig ## the end-to-end tests for nodes with systemd and its cgroup driver
	build/rig down
	$(MAKE) cluster FLAVOUR=systemd
	$(ON_RIG) $(E2E) systemd -run 'Publish|Policies|GiveBack|DaemonReload|SystemBus|AppArmor|Installer'
	go test -tags e2e -count=1 -v ./internal/agent/containerd -run Real

e2e-migrate: rig ## build NVIDIA's device plugin and Koordinator, and migrate a node with systemd from each of them, and from the kubelet's static policy, to Numalet; 40 minutes
	test/koordinator
	build/rig down
	$(MAKE) cluster FLAVOUR=systemd
	$(ON_RIG) $(E2E) systemd -run Migrate

e2e-wide: rig ## end-to-end tests on a machine with 2 GPUs and 8 CPUs on each NUMA node; 6 minutes
	build/rig down
	$(MAKE) cluster FLAVOUR=wide
	$(ON_RIG) $(E2E) wide -run Wide

e2e-kinds: rig ## end-to-end tests on a node with a newer kernel, and on one with isolated CPUs (isolcpus) and huge pages
	build/rig down
	$(MAKE) cluster FLAVOUR=backports
	$(ON_RIG) $(E2E) backports -run 'Publish|Policies|GiveBack|DaemonReload|AppArmor|Isolation' -skip Latency
	build/rig down
	$(MAKE) cluster FLAVOUR=nfv
	$(ON_RIG) $(E2E) nfv -run 'NFV|AppArmor'

e2e-crio: rig ## end-to-end tests on a node with CRI-O
	build/rig down
	$(MAKE) cluster FLAVOUR=crio
	$(ON_RIG) $(E2E) crio -run 'Publish|Policies|Mixed|GiveBack|DaemonReload|SystemBus|AgentAway|RefusedStart'

e2e-controller: bin rig ## end-to-end tests of the controller with a real API server and simulated nodes
	go test -tags e2e -count=1 -v -timeout 40m ./test/e2e/controller -skip 'TestUI|TestBeside'
	go -C deploy/release test -tags e2e -count=1 -v ./chart -run Install

e2e-ecosystem: bin rig helm ## build Kueue, JobSet, the descheduler, the Vertical Pod Autoscaler, Karpenter, the GPU Operator and Kubeflow, and test Numalet with each of them on one API server
	test/ecosystem
	go test -tags e2e -count=1 -v -timeout 30m ./test/e2e/controller -run TestBeside

e2e-started: tools rig helm ## run the commands of docs/getting-started.md and docs/tasks/pools-and-namespaces.md on a new test cluster, with a release of the last commit; REWRITE=1 writes their outputs into these pages; 5 minutes
	build/rig down
	build/rig up --flavour $(FLAVOUR)
	$(ON_RIG) test -tags e2e -count=1 -v -timeout 40m ./test/e2e/started -rig $(CURDIR)/build/rig -flavour $(FLAVOUR) $(if $(REWRITE),-rewrite)

MATRIX ?=# flags of test/matrix, such as -kubernetes 1.34 -columns controller,chart
matrix: image helm probe-image rig ## run the end-to-end tests with each version of Kubernetes and containerd, and write docs/reference/tested.md; takes hours; MATRIX has flags of test/matrix
	go run ./test/matrix $(MATRIX)

AXE = axe-core@4.14.1
ui-check: bin rig ## test the page of numalet ui in headless Chromium with 1,000 nodes: light and dark mode, keyboard, accessibility; needs npm; 5 minutes
	@test/tools browser
	cd build && npm pack --silent $(AXE) && tar -xzf $(subst @,-,$(AXE)).tgz package/axe.min.js
	go -C test/browser build -o $(CURDIR)/build/browser .
	go test -tags e2e -count=1 -v ./test/e2e/controller -run TestUI -browser $(CURDIR)/build/browser -axe $(CURDIR)/build/package/axe.min.js -pictures $(CURDIR)/build

e2e-rules: bin rig ## try the attacks that docs/security.md lists, on a real API server with the admission policies and the controller; 1 minute
	go test -tags e2e -count=1 -v -timeout 10m ./test/e2e/controller -run 'TestRules$$'

alerts-check: ## test the alert rules of deploy/monitoring, and parse the queries of its dashboards, with Prometheus' promtool
	@test/tools prometheus
	cd deploy/monitoring && promtool check rules rules.yaml && promtool test rules rules_test.yaml
	mkdir -p build && { echo 'groups: [{name: dashboards, rules: ['; sed -n 's/^ *"expr": \(.*\),$$/{record: query, expr: \1},/p' deploy/monitoring/dashboards/*.json; echo ']}]'; } >build/dashboards.yaml
	promtool check rules --lint=none build/dashboards.yaml

takeover: bin rig ## bind 2,000 pods while the leading replica of the controller is killed ten times, and again while it is frozen ten times; 15 minutes
	go test -tags e2e -count=1 -v -timeout 60m ./test/e2e/controller -run 'Killed|Frozen' -pods 2000 -takeovers 10

FAULTS ?= 1000000
SEED ?= 1
faults: ## inject FAULTS faults of the API server into the controller, in simulated time, at random with SEED; 15 minutes on 1 idle CPU
	GOMAXPROCS=1 GOGC=400 go test -count=1 -v -timeout 4h ./internal/controller -run 'TestFaults$$' -faults $(FAULTS) -faults-seed $(SEED)

NODES ?= 5000
PODS ?= 5000
ONLY ?=# a regular expression for the names of the rounds to run, such as 'numalet|floor'
REPEAT ?= 1# how often to run all rounds; the results are then medians
perf: bin rig ## measure scheduling decisions in memory, and compare the controller with kube-scheduler and plain clients; NODES, PODS, ONLY, REPEAT; 12 minutes on 2 idle CPUs
	CGO_ENABLED=0 GOGC=400 go test -trimpath ./internal/controller/filters -run '^$$' -bench 'Cycle/nodes=5000/gpus=./proposers=4' -benchtime 40000x
	go build -o build/perf ./test/perf
	build/perf -nodes $(NODES) -pods $(PODS) -only '$(ONLY)' -repeat $(REPEAT) -bounds test/perf/bounds.yaml

FILL ?= 50,95
WAITING ?= 3000
perf-busy: PODS = 2000
perf-busy: bin rig ## compare schedulers in clusters that are FILL % full, once with WAITING unschedulable pods and once without; NODES, PODS, ONLY, REPEAT; 15 minutes
	go build -o build/perf ./test/perf
	build/perf -nodes $(NODES) -pods $(PODS) -fill $(FILL) -waiting $(WAITING) -only '$(ONLY)' -repeat $(REPEAT) -bounds test/perf/bounds.yaml

latency: cluster ## measure the delay of container creation, as in docs/benchmarks/logs/performance.md, and with FLAVOUR=backports also what disturbs exclusive CPUs without and with isolation; 35 minutes
	@test/tools latency
	$(ON_RIG) $(E2E) $(FLAVOUR) -run Latency -disturbed $(CURDIR)/build/isolation.json

e2e-long: cluster ## long end-to-end tests, such as upgrade, reboot, takeover, 500 pods at a time, GPUs with a fake driver, and at the end uninstallation; 30 minutes
	$(ON_RIG) $(E2E) $(FLAVOUR) -run '$(LONG)'

PREVIOUS ?= $(or $(shell git describe --tags --abbrev=0 HEAD^ 2>/dev/null),0a2c5c6e)# the newest release before this commit; there is none yet, so a commit from before pods could be resized, whose deploy has the same directories
e2e-skew: cluster ## upgrade and downgrade, with agent and controller one release apart; PREVIOUS is the older release, a tag or commit; 15 minutes
	test/e2e/previous $(PREVIOUS)
	build/rig load --flavour $(FLAVOUR) build/previous/build/numalet.tar
	$(ON_RIG) $(E2E) $(FLAVOUR) -run Skew

MANY ?=# flags of TestManyPods, such as -many-pods 100 -many-for 1h
e2e-many: rig ## 250 pods on a node with systemd, which come and go together with pods with exclusive CPUs; MANY, such as -many-for 1h; 1 to 3 hours
	build/rig down
	$(MAKE) cluster FLAVOUR=systemd
	$(ON_RIG) $(E2E) systemd -run ManyPods -timeout 175m $(MANY)

NVML ?= libnvidia-ml.so.1
gpu-check: tools ## test the GPU inventory, GPU health, device plugin and CDI specification with the NVIDIA driver of this machine; FAKE=1 uses a fake driver
	go test -count=1 -v ./internal/deviceplugin -run 'GPUCheck|CDI' -args $(if $(FAKE),,-nvml $(NVML))

soak: cluster ## create and delete 200 pods and 100 GPU pods, kill the agent, containerd and the kubelet 5 times each, and let two schedulers bind 200 GPU pods; 1 to 2 hours
	$(ON_RIG) $(E2E) $(FLAVOUR) -run 'Churn|GPU|TwoSchedulers' -pods 200 -kills 5 -gpu-pods 100 -mixed-pods 200 -timeout 150m
