// Command image writes a container image as an OCI archive, without a registry or a
// container engine. The image has one layer of local files for each architecture.
//
//	image -o numalet.tar -ref localhost/numalet:dev -label org.opencontainers.image.revision=$(git rev-parse HEAD) \
//	      build/bin/numalet-agent=/usr/bin/numalet-agent arm64: build/arm64/numalet-agent=/usr/bin/numalet-agent
//
// The output is reproducible: timestamps are zero, owners are root, and entries are
// sorted. `ctr -n k8s.io images import` imports it into containerd. Tools such as
// `skopeo copy oci-archive:…` copy it to a registry.
//
// Format: https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
package main
