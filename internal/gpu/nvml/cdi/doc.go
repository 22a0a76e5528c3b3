// Package cdi writes the CDI specification of a node's GPUs: a file from which
// container runtimes read the devices, mounts and hooks of each GPU and MIG slice.
// https://github.com/cncf-tags/container-device-interface/blob/v1.1.0/SPEC.md
//
// NVIDIA's library determines the content (nvcdi, behind Describer), and the library
// of CDI writes it. A GPU that the file lacks gets unknown health, so that no
// container gets a device that the runtime cannot resolve.
//
//	inventory = cdi.NewSpecWriter(options).Prepare(inventory, driver)
//
// writer.go decides when to write, spec.go what, file.go where.
package cdi
