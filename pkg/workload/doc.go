// Package workload has the nouns of what runs on a node: pods, sandboxes,
// containers, and where a container belongs.
//
// It is the language in which a runtime's adapter (internal/agent/nri) and the node's
// orchestrator (internal/agent/node) talk. It refuses to know any runtime's types.
package workload
