package sched

import (
	"slices"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// Node is the record of one node: what it has and what of it is free. A record
// is immutable: every change makes a new one with a higher version, and shares
// with the old one all that did not change, so that any number of goroutines
// may hold on to records while others are made.
type Node struct {
	Name    string
	Version Version

	Allocatable Amounts
	Free        Amounts

	// NUMA has the NUMA nodes with CPUs, sorted by ID. It is empty where
	// exclusive CPUs are switched off.
	NUMA []NUMANode
	// CoreWidth is how many CPUs become unfree together: the threads of a core
	// where no two pods share one (--full-cores). 0 and 1 mean CPUs one by one.
	CoreWidth int
	// Spare is how many of the free exclusive CPUs have to stay free for shared
	// containers: 0 where reserved CPUs serve them, else one, or a core's width.
	Spare int

	GPUs []GPU
	// Links says how GPUs are linked, by their positions; nil where nobody tells.
	Links gpu.Links
	// Parts says of which extended resources the amounts are parts of cards.
	Parts map[string]GPUPart

	// Reserved is what a waiting pod holds back here, or nil. Free does not count
	// it off.
	Reserved *Reservation

	// Foreign is an adapter's own immutable view of the node.
	Foreign any

	// Source knows the node's newest record; nil where nobody keeps records. Who has a
	// record need not look for the node by its name.
	Source RecordSource
}

// RecordSource is where the records of one node come from.
type RecordSource interface {
	Newest() *Node // nil where the node is gone
	// Foreign returns what an adapter's filters know of the node, nil for nothing. It is
	// never older than a record of the same moment.
	Foreign() any
}

// NUMANode is one NUMA node's exclusive CPUs and memory.
type NUMANode struct {
	ID                 topology.NodeID
	CPUs, FreeCPUs     int // that can be exclusive: online, not reserved, with full cores whole
	Memory, FreeMemory Bytes
}

// GPU is one card.
type GPU struct {
	// ID is the UUID, or an index where there is none; "" where nobody tells the
	// node's cards apart, and only how many are free is known, as a plain amount.
	ID   string
	Type string
	NUMA topology.NodeID // topology.Unknown where nobody tells
	Free MilliGPU
}

// GPUPart is what one of a resource is that counts parts of cards: so much of a card,
// of a type of its own, such as "Tesla-T4-SHARED" or "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb".
type GPUPart struct {
	Type  string
	Milli MilliGPU
}

// Reservation is what one waiting pod holds back on a node.
type Reservation struct {
	UID string
	Holding
}

// Take returns the next record, less what a pod holds.
func (n *Node) Take(h Holding) *Node { return n.next(h, -1) }

// Return returns the next record, with what a pod held.
func (n *Node) Return(h Holding) *Node { return n.next(h, 1) }

func (n *Node) next(h Holding, sign int) *Node {
	next := *n
	next.Version++
	next.shift(h, sign)
	return next.Copy()
}

// roomy is a record with its counts of what is free, if they are few.
type roomy struct {
	Node
	room [4]extra
}

// Copy returns a copy in one piece of memory with the counts of what is free, if they
// are few: who looks at a record looks at them, too.
func (n *Node) Copy() *Node {
	c := &roomy{Node: *n}
	if count := len(n.Free.Extended); 0 < count && count <= len(c.room) {
		c.Free.Extended = c.room[:count:count]
		copy(c.Free.Extended, n.Free.Extended)
	}
	return &c.Node
}

// For returns the record as a pod sees it: less what another has reserved. Its
// version is the same.
func (n *Node) For(uid string) *Node {
	if n.Reserved == nil || n.Reserved.UID == uid {
		return n
	}
	seen := *n
	seen.shift(n.Reserved.Holding, -1)
	return &seen
}

// Reserve returns the next record, with that reservation in place of the last.
func (n *Node) Reserve(r *Reservation) *Node {
	next := n.Copy()
	next.Version++
	next.Reserved = r
	return next
}

// shift adds sign times h to what is free. It copies a slice before it writes.
func (n *Node) shift(h Holding, sign int) {
	if sign > 0 {
		n.Free = n.Free.Plus(h.Amounts)
	} else {
		n.Free = n.Free.Minus(h.Amounts)
	}
	if len(h.NUMA) > 0 {
		n.NUMA = slices.Clone(n.NUMA)
	}
	for _, share := range h.NUMA {
		if i := n.numa(share.ID); i >= 0 {
			n.NUMA[i].FreeCPUs += sign * n.Cores(share.CPUs)
			n.NUMA[i].FreeMemory += Bytes(sign) * share.Memory
		}
	}
	if len(h.GPUs) > 0 {
		n.GPUs = slices.Clone(n.GPUs)
	}
	for _, card := range h.GPUs {
		if i := n.card(card.ID); i >= 0 {
			n.GPUs[i].Free += MilliGPU(sign) * card.Milli
		}
	}
}

// Cores rounds a pod's CPUs on one NUMA node up to whole cores where the node
// gives no less.
func (n *Node) Cores(cpus int) int {
	if n.CoreWidth <= 1 {
		return cpus
	}
	return (cpus + n.CoreWidth - 1) / n.CoreWidth * n.CoreWidth
}

func (n *Node) numa(id topology.NodeID) int {
	return slices.IndexFunc(n.NUMA, func(m NUMANode) bool { return m.ID == id })
}

func (n *Node) card(id string) int {
	return slices.IndexFunc(n.GPUs, func(g GPU) bool { return g.ID == id })
}
