// Package node decides on which CPUs each container of this node runs, and enforces it.
//
// It owns the ledger and its checkpoint under one lock. An adapter (internal/agent/nri)
// translates the runtime's hooks to Create, Start, …; cgroups, checkpoint and events
// are interfaces. No hook calls the API server: pods come from an informer's cache.
//
// The invariant: no process of another pod ever runs on a CPU that a container holds.
// So shared containers are confined before an exclusive one is created, and what
// cannot be done completely is refused.
//
// node.go is the state, book.go the grants; sandbox.go, create.go, update.go and
// release.go are the hooks, synchronize.go the restart; request.go, placed.go and
// static.go read requests, carve.go and fullcores.go reserve CPUs, resize.go and grace.go
// change how many a container has, unconfirmed.go holds
// those of containers whose pod is unknown, machine.go acts on changes of the machine,
// refuse.go has the refusals.
package node
