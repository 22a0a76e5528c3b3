// Package nri is the agent's plugin for NRI, the Node Resource Interface of container runtimes. It
// translates the runtime's hooks to calls of package node, and translates the answers back.
//
// It makes no decisions. Every hook returns before the runtime's timeout (2 s by default), because
// the runtime may continue without a plugin that answers too late.
//
// If two plugins set the same field (cpus, mems, quota), the creation of the
// container fails with an error that names both. Do not run another plugin that
// pins CPUs on a node with Numalet.
//
// run.go keeps the connection. plugin.go and hooks.go implement the protocol, and translate.go
// converts the types. versions.go handles what differs between versions of the runtime.
package nri
