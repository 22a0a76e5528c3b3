// Package node decides on which CPUs each container of this node runs, and enforces this decision.
//
// Package node owns the ledger of exclusive CPUs, and saves the ledger in a checkpoint file. One
// mutex guards both. Package nri translates the hooks of the container runtime to calls of Create,
// Start and other methods. Package node reaches cgroups, the checkpoint file and events through
// interfaces. No hook calls the API server, because the pods come from the cache of an informer.
//
// Package node must keep processes of other pods off the exclusive CPUs of a container. A container
// with exclusive CPUs is called an exclusive container, and any other container a shared container.
// Before the container runtime creates an exclusive container, package node moves all shared
// containers off the CPUs of the new container. If that fails, it refuses the exclusive container.
//
// node.go has the state, and book.go the grants of CPUs. sandbox.go, create.go and update.go handle
// the hooks of the container runtime, and synchronize.go handles a restart of the agent or the
// runtime. release.go releases the CPUs of ended pods, and withhold.go keeps the shared containers
// off CPUs for a while if systemd did not apply all changes before the deadline of a hook.
// classify.go decides what a container gets; request.go, placed.go, placedgpus.go and static.go
// have parts of this decision. visible.go decides which GPUs a container sees. carve.go and
// fullcores.go reserve CPUs. resize.go and grace.go change how many CPUs a container has.
// unconfirmed.go makes grants for containers whose pod is unknown. machine.go handles changes of
// the machine, qos.go limits the cgroups of the QoS classes, and isolate.go decides which pods get
// a cpuset partition. refuse.go has the refusals. report.go, gpus.go, view.go and running.go say
// which CPUs and GPUs are allocated. dependencies.go has the interfaces.
package node
