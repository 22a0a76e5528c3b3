// Package nri is an NRI plugin of the container runtime. It translates the runtime's
// hooks to calls of package node, and the answers back.
//
// It decides nothing, and no hook takes longer than the runtime waits (2 s by
// default), because NRI continues without a plugin that is late.
//
// If two plugins set the same field (cpus, mems, quota), the creation of the
// container fails with an error that names both. Do not run another plugin that
// pins CPUs on a node with Numalet.
//
// run.go maintains the connection, plugin.go and hooks.go are the protocol,
// translate.go the types, versions.go what differs between runtimes.
package nri
