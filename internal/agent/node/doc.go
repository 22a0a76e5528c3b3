// Package node decides on which CPUs each container of this machine runs, and
// sees to it.
//
// It owns the ledger and its checkpoint under one lock, and knows the life of
// pods and containers in neutral terms: a runtime adapter (internal/agent/nri)
// translates its hooks into Create, Start, Stop …, and the effects (cgroups,
// checkpoint, events) come in as small interfaces. It refuses to talk to the
// API server inside a hook: what it knows of pods comes from an informer.
//
// The invariant that everything here serves: at no moment may a process of
// another pod run on a CPU that a container holds. So containers that share are
// shrunk before an exclusive one is answered, and whatever cannot be done is
// refused, never half done.
package node
