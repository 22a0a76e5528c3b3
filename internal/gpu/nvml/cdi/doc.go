// Package cdi keeps the CDI specification of a node's GPUs: a file that tells
// container runtimes what a container needs for each card and MIG slice, under
// the name by which the device plugin hands it over.
// https://github.com/cncf-tags/container-device-interface/blob/v1.1.0/SPEC.md
//
// What that is, NVIDIA's own library finds out (nvcdi, behind Describer), and the
// file is written by CDI's. A GPU that the file lacks is of unknown health, so
// that nobody is given what no runtime could resolve.
package cdi
