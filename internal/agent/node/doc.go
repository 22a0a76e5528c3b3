// Package node decides on which CPUs each container of this node runs, and enforces it.
//
// It owns the ledger of exclusive CPUs and its checkpoint, which one lock guards. Package nri
// translates the hooks of the container runtime to calls of Create, Start and others. Cgroups, the
// checkpoint file and events are interfaces. No hook calls the API server, because pods come from
// an informer's cache.
//
// The invariant is that no process of another pod ever runs on an exclusive CPU of a container. So
// the shared containers are moved off the CPUs before an exclusive container is created. If a step
// of that fails, the container is refused.
//
// node.go has the state, and book.go the grants of CPUs. sandbox.go, create.go, update.go and
// release.go have the hooks, and synchronize.go handles a restart of the agent or the runtime.
// request.go, placed.go and static.go read what pods request. carve.go and fullcores.go reserve
// CPUs. resize.go and grace.go change how many CPUs a container has. unconfirmed.go holds the CPUs
// of containers whose pod is unknown. machine.go handles changes of the machine, and refuse.go has
// the refusals.
package node
