package pool

import (
	"fmt"
	"maps"
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Options are settings of the node's administrator. They do not change while a ledger is in use.
type Options struct {
	// Reserved CPUs are for containers without exclusive CPUs. Reserve gives no pod a reserved CPU. A
	// pod can still hold a reserved CPU that was not reserved yet when the pod got it: a restarted
	// agent calls Restore, which lets the pod keep this CPU.
	Reserved cpuset.Set
	// FullCores ensures that a pod with exclusive CPUs shares no core with another pod. The free
	// SMT siblings of the pod's CPUs stay idle. If a core has a reserved CPU, Reserve gives no pod
	// the other CPUs of the core.
	FullCores bool
	// ReservedMemory is how many bytes of the memory of each NUMA node are kept for the system.
	// Containers can bind neither these bytes nor the memory that the kernel itself reserves.
	ReservedMemory map[topology.NodeID]uint64
}

// Ledger records which container of which pod holds which CPU.
//
// Every CPU of the machine is in at most one of the following sets. Only offline CPUs and free
// isolated CPUs (isolcpus) can be in none of them. A free isolated CPU is shared only if it is
// reserved.
//
//	exclusive   held by a pod; the CPUs of different pods are disjoint
//	withheld    idle because of FullCores: free sibling of an exclusive CPU
//	shared      all others, such as reserved and free CPUs
//
// The shared set is never empty. Reserve always leaves a CPU in it that is not isolated, because
// the kernel does not balance load across isolated CPUs. No free CPU is set aside for the shared
// set in advance. When a pod requests the last free CPUs, Reserve chooses a CPU that stays shared.
//
// A Ledger is not safe for concurrent use.
type Ledger struct {
	layout    layout
	options   Options
	grants    map[string]Grant // what each pod holds, by the pod's UID
	exclusive cpuset.Set       // the CPUs of all grants
}

// New returns the ledger of a machine on which no pod holds CPUs. A reserved CPU may be offline,
// but it is an error if the machine does not have the CPU. It is also an error if no CPU is online
// and in a NUMA node.
func New(m *topology.Machine, o Options) (*Ledger, error) {
	if strange := o.Reserved.Minus(idsOf(m.CPUs)); !strange.Empty() {
		return nil, fmt.Errorf("reserve CPUs %q: this machine has no CPU %s", o.Reserved, strange)
	}
	l := &Ledger{layout: newLayout(m), options: o, grants: map[string]Grant{}}
	l.layout.reservedMemory = o.ReservedMemory
	if len(l.layout.nodes) == 0 {
		return nil, fmt.Errorf("read machine: none of its %d CPUs is online and in a NUMA node", len(m.CPUs))
	}
	return l, nil
}

// Reserve allocates CPUs for all containers of a pod that request exclusive CPUs, or for none of
// them. If it fails, the error is a *numaplan.Refusal, and the ledger has not changed. For a pod
// that already holds a grant, it returns that grant. The caller must not change the grant's slices.
func (l *Ledger) Reserve(p Pod) (Grant, error) {
	if g, ok := l.grants[p.UID]; ok {
		return g, nil
	}
	claims, refusal := l.place(p)
	if refusal != nil {
		return Grant{}, refusal
	}
	g := Grant{UID: p.UID, Policy: p.Policy, Claims: claims}
	l.enter(g)
	return g, nil
}

// Release releases a pod's CPUs and returns them. The returned set is empty if the ledger has no
// grant of a pod with this UID.
func (l *Ledger) Release(uid string) cpuset.Set {
	cpus := l.grants[uid].CPUs()
	delete(l.grants, uid)
	l.exclusive = l.exclusive.Minus(cpus)
	return cpus
}

func (l *Ledger) enter(g Grant) {
	l.grants[g.UID] = g
	l.exclusive = l.exclusive.Union(g.CPUs())
}

// Grant returns the grant of the pod with this UID, or false if it has none.
func (l *Ledger) Grant(uid string) (Grant, bool) {
	g, ok := l.grants[uid]
	return g, ok
}

// Grants returns the grants of all pods, sorted by UID.
func (l *Ledger) Grants() []Grant {
	grants := make([]Grant, 0, len(l.grants))
	for _, uid := range slices.Sorted(maps.Keys(l.grants)) {
		grants = append(grants, l.grants[uid])
	}
	return grants
}
