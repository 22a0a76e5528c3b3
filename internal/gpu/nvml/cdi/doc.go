// Package cdi writes the specification of a node's GPUs for the Container Device Interface (CDI): a
// file from which container runtimes read the devices, mounts and hooks of each GPU and MIG slice.
// https://github.com/cncf-tags/container-device-interface/blob/v1.1.0/SPEC.md
//
// NVIDIA's library nvcdi, which implements Describer, determines the content of the file. The CDI
// project's Go library writes the file. A healthy GPU that is not in the file gets unknown health,
// so that the kubelet allocates no device that the container runtime cannot find.
//
//	inventory = cdi.NewSpecWriter(options).Prepare(inventory, driver)
//
// writer.go decides when the file of the CDI specification is written. spec.go
// determines its content, and file.go its path.
package cdi
