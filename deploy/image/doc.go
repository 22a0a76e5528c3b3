// Command image writes a container image as an OCI archive: one layer of local
// files over an empty file system, with neither a registry nor an engine.
//
//	image -o numalet.tar -ref localhost/numalet:dev -label org.opencontainers.image.revision=$(git rev-parse HEAD) \
//	      build/bin/numalet-agent=/usr/bin/numalet-agent
//
// Equal input gives equal bytes: timestamps are zero, owners are root, entries
// are sorted. What it writes, `ctr -n k8s.io images import` and registry tools
// (`skopeo copy oci-archive:…`) take.
//
// Format: https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
package main
