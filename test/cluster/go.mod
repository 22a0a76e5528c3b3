module github.com/numalet/numalet/test/cluster

go 1.26.0

require (
	github.com/creack/pty v1.1.24
	github.com/google/go-containerregistry v0.20.6
	golang.org/x/crypto v0.47.0
	golang.org/x/term v0.39.0
)

require (
	github.com/containerd/stargz-snapshotter/estargz v0.16.3 // indirect
	github.com/klauspost/compress v1.18.0 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/opencontainers/image-spec v1.1.1 // indirect
	github.com/vbatts/tar-split v0.12.1 // indirect
	golang.org/x/sync v0.15.0 // indirect
	golang.org/x/sys v0.40.0 // indirect
)
