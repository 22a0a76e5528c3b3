package node

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// View is the allocation of CPUs and memory at one moment.
type View struct {
	Shared    cpuset.Set
	Exclusive cpuset.Set
	// Numbers of CPUs, for each NUMA node that has CPUs. Capacity counts online CPUs, Allocatable
	// those that are not reserved, and Available those that can still become exclusive.
	Capacity, Allocatable, Available map[topology.NodeID]int
	// Bytes of memory. AllocatableMemory is how much containers can bind to a NUMA node in total,
	// and AvailableMemory how much can still be bound.
	AllocatableMemory, AvailableMemory map[topology.NodeID]uint64
	Held                               []Holding
}

// Holding is the exclusive CPUs of one container.
type Holding struct {
	Pod       workload.Pod
	Container string
	Kind      podspec.Kind
	CPUs      cpuset.Set
}

// View returns the current allocation, ordered by pod.
func (n *Node) View() View {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.mu.book.ledger
	v := View{
		Shared: l.Shared(), Exclusive: l.Exclusive(),
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

// Warnings returns a message for each pod that holds CPUs that it would not get now, for example
// because they are reserved or offline.
func (n *Node) Warnings() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.book.ledger.Warnings()
}
