// Package workload has the types of what runs on a node: pods, sandboxes, containers,
// and the CPUs of a container.
//
// They are shared by the adapters of runtimes (internal/agent/nri) and the node
// (internal/agent/node), and independent of the types of any runtime.
package workload
