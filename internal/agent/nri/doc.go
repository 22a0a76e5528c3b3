// Package nri is the agent's plugin for NRI, the Node Resource Interface of container runtimes. It
// translates the runtime's hooks to calls of package node, and translates the answers back.
//
// Package nri makes no decisions about CPUs. The context of each hook ends before the runtime's
// timeout (2 s by default), because the runtime may continue without a plugin that answers too
// late.
//
// If two NRI plugins set the same field of a container (cpus, mems or quota), the runtime does not
// create the container. The runtime's error names both plugins. On a node with Numalet, do not run
// another plugin that pins CPUs.
//
// run.go keeps the connection to the container runtime. plugin.go and hooks.go implement the
// protocol, and translate.go converts the types. versions.go handles what differs between versions
// of the runtime.
package nri
