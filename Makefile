.DEFAULT_GOAL := help
.PHONY: help test unit lint

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: lint unit ## everything

unit: ## unit tests under the race detector
	go test -race ./...

lint: ## gofmt and go vet
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...
