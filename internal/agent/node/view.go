package node

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// View is the allocation of CPUs at one moment.
type View struct {
	Shared    cpuset.Set
	Exclusive cpuset.Set
	// By NUMA node with CPUs: the online ones, those not reserved, and those that
	// can still become exclusive.
	Capacity, Allocatable, Available map[topology.NodeID]int
	// Bytes that can be bound to a NUMA node at most, and that can still be bound.
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

// Warnings describes grants that would not be made now, because their CPUs are reserved
// or offline.
func (n *Node) Warnings() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.book.ledger.Warnings()
}
