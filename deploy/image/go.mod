module github.com/numalet/numalet/deploy/image

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/opencontainers/go-digest v1.0.0
	github.com/opencontainers/image-spec v1.1.1
)
