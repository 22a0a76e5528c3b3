// Package node decides on which CPUs each container of this node runs, and enforces this decision.
//
// Package node owns the ledger of exclusive CPUs, and saves the ledger in a checkpoint file. One
// mutex guards both. Package nri translates the hooks of the container runtime to calls of Create,
// Start and others. Package node reaches cgroups, the checkpoint file and events through
// interfaces. No hook calls the API server, because the pods come from the cache of an informer.
//
// The invariant is that no process of another pod ever runs on an exclusive CPU of a container.
// Before the container runtime creates an exclusive container, the node moves all shared
// containers off its CPUs. If that fails, the node refuses the exclusive container.
//
// node.go has the state, and book.go the grants of CPUs. sandbox.go, create.go, update.go and
// release.go handle the hooks of the container runtime, and synchronize.go handles a restart of
// the agent or the runtime. request.go, placed.go and static.go read what pods request. carve.go
// and fullcores.go reserve CPUs. resize.go and grace.go change how many CPUs a container has.
// unconfirmed.go holds the CPUs of containers whose pod is unknown. machine.go handles changes of
// the machine, and refuse.go has the refusals.
package node
