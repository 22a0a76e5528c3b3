.DEFAULT_GOAL := help
.PHONY: help test unit lint bin image rig rig-up rig-down rig-status rig-shell probe-image cluster demo e2e soak

IMAGE ?= localhost/numalet:dev
FLAVOUR ?= plain# of the rig's machine: plain or systemd
PROGRAMS = numalet numalet-agent numalet-deviceplugin

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: lint unit ## everything

unit: ## unit tests under the race detector
	go test -race ./...

lint: ## gofmt and go vet
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...

bin: ## the programs, static, in build/bin
	for p in $(PROGRAMS); do CGO_ENABLED=0 go build -trimpath -ldflags=-s -o build/bin/$$p ./cmd/$${p#numalet-} || exit 1; done

image: bin ## the container image, build/numalet.tar (an OCI archive named $(IMAGE))
	go -C deploy/image run . -o $(CURDIR)/build/numalet.tar -ref $(IMAGE) \
	  -label org.opencontainers.image.revision=$$(git describe --always --dirty --abbrev=40 --exclude='*') \
	  $(foreach p,$(PROGRAMS),$(CURDIR)/build/bin/$(p)=/usr/bin/$(p))

rig: # the rig's own command, build/rig
	@go -C test/cluster build -o $(CURDIR)/build/rig ./cmd/rig

rig-up: rig ## start a real cluster with a NUMA machine; FLAVOUR=plain|systemd
	build/rig up --flavour $(FLAVOUR)

rig-down: rig ## stop the cluster and its machines
	build/rig down

rig-status: rig ## what of the rig runs
	build/rig status

rig-shell: rig ## a root shell in the machine; FLAVOUR=plain|systemd
	build/rig shell --flavour $(FLAVOUR)

probe-image: ## the image of the end-to-end tests' containers, build/probe.tar
	mkdir -p build/probe && gcc -static -O2 -Wall -Werror -o build/probe/first test/e2e/probe/first/first.c
	CGO_ENABLED=0 go build -trimpath -o build/probe/probe ./test/e2e/probe
	go -C deploy/image run . -o $(CURDIR)/build/probe.tar -ref localhost/probe:e2e $(CURDIR)/build/probe/first=/first $(CURDIR)/build/probe/probe=/probe

cluster: image probe-image rig ## the rig's machine with Numalet installed; FLAVOUR=systemd for the other one
	test/e2e/install $(FLAVOUR)

demo: cluster ## the main job, shown on real parts
	eval "$$(build/rig env)" && go run ./test/demo -rig build/rig -flavour $(FLAVOUR)

e2e: cluster ## end-to-end tests on real parts
	eval "$$(build/rig env)" && go test -tags e2e -count=1 -v -timeout 40m ./test/e2e -rig $(CURDIR)/build/rig -flavour $(FLAVOUR)

soak: cluster ## 200 pods, 5 kills of each kind
	eval "$$(build/rig env)" && go test -tags e2e -count=1 -v -timeout 120m -run 'Churn' ./test/e2e -rig $(CURDIR)/build/rig -flavour $(FLAVOUR) -pods 200 -kills 5
