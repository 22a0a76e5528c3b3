// Package nri is the agent's place in a container runtime: an NRI plugin that
// translates the runtime's hooks for package node and back.
//
// The files are the protocol, in the order of a container's life:
// synchronize.go when the plugin (re)connects, sandbox.go, create.go, start.go,
// update.go, remove.go; run.go keeps the connection. It refuses to decide
// anything, and to take longer for a hook than the runtime waits (2 s): NRI goes
// on without a plugin that is late.
//
// Two plugins that set one field (cpus, mems, quota) make the creation fail,
// with an error of the runtime that names both: run no other plugin that pins
// CPUs on a node with Numalet.
package nri
