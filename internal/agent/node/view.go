package node

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// View says which CPUs and how much memory of this machine are allocated at one moment.
type View struct {
	Shared    cpuset.Set
	Exclusive cpuset.Set
	// Counts of CPUs, for each NUMA node that has CPUs. Capacity counts the online CPUs, and
	// Allocatable counts the online CPUs that may become exclusive. Available counts the
	// allocatable CPUs that are free.
	Capacity, Allocatable, Available map[topology.NodeID]int
	// Bytes of memory that containers can bind, for each NUMA node that has CPUs. AllocatableMemory
	// is how much all containers together can bind, and AvailableMemory is how much of this is
	// free.
	AllocatableMemory, AvailableMemory map[topology.NodeID]uint64
	Held                               []Holding
}

// Holding has the exclusive CPUs of one container.
type Holding struct {
	Pod       workload.Pod
	Container string
	Kind      podspec.Kind
	CPUs      cpuset.Set
}

// View returns the current allocation of CPUs and memory. The list View.Held is ordered by pod.
func (n *Node) View() View {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.mu.book.ledger
	v := View{
		Shared: n.shared(), Exclusive: l.Exclusive(),
		Capacity: l.Capacity(), Allocatable: l.Allocatable(), Available: l.Available(),
		AllocatableMemory: l.AllocatableMemory(), AvailableMemory: l.AvailableMemory(),
	}
	for _, h := range n.mu.book.sorted() {
		for _, c := range h.Grant.Claims {
			v.Held = append(v.Held, Holding{h.Pod, c.Container, c.Kind, c.CPUs})
		}
	}
	return v
}

// Warnings returns a message for each pod that holds CPUs which it would not get now, for example
// because these CPUs are reserved or offline now.
func (n *Node) Warnings() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.book.ledger.Warnings()
}
