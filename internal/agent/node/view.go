package node

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// View is who has which CPUs at one moment.
type View struct {
	Shared    cpuset.Set
	Exclusive cpuset.Set
	// Of the NUMA nodes that have CPUs: those online, those that are not
	// reserved, and those that may still become exclusive.
	Capacity, Allocatable, Available map[topology.NodeID]int
	AvailableMemory                  map[topology.NodeID]uint64 // bytes that may still be bound near a NUMA node's CPUs
	Held                             []Holding
}

// Holding is what one container holds.
type Holding struct {
	Pod       workload.Pod
	Container string
	Kind      podspec.Kind
	CPUs      cpuset.Set
}

// View returns who has which CPUs now, ordered by pod.
func (n *Node) View() View {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.mu.book.ledger
	v := View{
		Shared: l.Shared(), Exclusive: l.Exclusive(),
		Capacity: l.Capacity(), Allocatable: l.Allocatable(), Available: l.Available(), AvailableMemory: l.AvailableMemory(),
	}
	for _, h := range n.mu.book.sorted() {
		for _, c := range h.Grant.Claims {
			v.Held = append(v.Held, Holding{h.Pod, c.Container, c.Kind, c.CPUs})
		}
	}
	return v
}

// Warnings says what pods hold that they would not be given now: CPUs that are
// reserved or offline since.
func (n *Node) Warnings() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.book.ledger.Warnings()
}
