.DEFAULT_GOAL := help
.PHONY: help test unit lint bin image rig rig-up rig-down rig-status rig-shell

IMAGE ?= localhost/numalet:dev
FLAVOUR ?= plain
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
