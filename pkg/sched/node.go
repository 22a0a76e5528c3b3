package sched

import (
	"slices"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// Node is the record of one node: its resources, and how much of them is free. A record is
// immutable, so goroutines may keep records while others make new ones. Every change makes a new
// record with a higher version. The old and the new record share all data that has not changed.
type Node struct {
	Name    string
	Version Version

	Allocatable Amounts
	Free        Amounts

	// NUMA has the NUMA nodes with CPUs, sorted by ID. It is empty if the node offers no exclusive
	// CPUs.
	NUMA []NUMANode
	// CoreWidth is the number of CPUs that are always allocated together as exclusive CPUs. With the
	// agent's flag --full-cores, pods never share a core, and CoreWidth is the number of threads of a
	// core. If it is 0 or 1, CPUs are allocated singly.
	CoreWidth int
	// Spare is how many of the free exclusive CPUs must stay free, because containers without
	// exclusive CPUs run on them. It is 0 if those containers run on reserved CPUs. Otherwise it is
	// the number of CPUs of one allocation unit (CoreWidth).
	Spare int

	GPUs []GPU
	// Links says how each pair of GPUs is connected. Its indexes are those of the field GPUs. It is
	// nil if the links are unknown.
	Links gpu.Links
	// Parts describes the extended resources that count parts of GPUs, such as time slices or MIG
	// instances, by resource name.
	Parts map[string]GPUPart

	// Reserved is the reservation of a waiting pod or gang, or nil. The reserved resources are not
	// subtracted from Free.
	Reserved *Reservation

	// Foreign is immutable data about the node. Only the adapter (the code that made the record
	// from a Kubernetes node) reads it.
	Foreign any

	// Source gives access to the node's newest record without a lookup by name. It is nil for a
	// record that is not from package nodestate.
	Source RecordSource
}

// NUMANode is one NUMA node's exclusive CPUs and memory.
type NUMANode struct {
	ID                 topology.NodeID
	CPUs, FreeCPUs     int // CPUs that are online and not reserved; with the agent's flag --full-cores, rounded down to whole cores
	Memory, FreeMemory Bytes
}

// GPU is one GPU.
type GPU struct {
	// ID is the UUID, or an index if there is no UUID. It is "" if it is not known which GPUs of the
	// node are free. The number of free GPUs is then known only from the extended resources in
	// Node.Free.
	ID   string
	Type string
	NUMA topology.NodeID // topology.Unknown if the NUMA node is unknown
	Free MilliGPU
}

// GPUPart describes one unit of a resource that counts parts of GPUs. Milli is the unit's share of
// a GPU, and Type is its type, such as "Tesla-T4-SHARED" or "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb".
type GPUPart struct {
	Type  string
	Milli MilliGPU
}

// Reservation is the resources that are reserved on a node for one waiting pod or gang. UID is the
// result of Pod.Claim.
type Reservation struct {
	UID string
	Holding
}

// Take returns the node's next record, in which the resources that a pod takes are subtracted from
// the free amounts.
func (n *Node) Take(h Holding) *Node { return n.next(h, -1) }

// Return returns the node's next record, in which the resources that a pod held are added to the
// free amounts again.
func (n *Node) Return(h Holding) *Node { return n.next(h, 1) }

func (n *Node) next(h Holding, sign int) *Node {
	next := *n
	next.Version++
	next.shift(h, sign)
	return next.Copy()
}

// inlineNode has, in one memory allocation, a record and storage for the amounts of up to four free
// extended resources.
type inlineNode struct {
	Node
	extended [4]extra
}

// Copy returns a copy of the record. The amounts of the free extended resources, if there are at
// most four, are stored in the same memory allocation as the copy, because they are usually read
// together with the record.
func (n *Node) Copy() *Node {
	c := &inlineNode{Node: *n}
	if count := len(n.Free.Extended); 0 < count && count <= len(c.extended) {
		c.Free.Extended = c.extended[:count:count]
		copy(c.Free.Extended, n.Free.Extended)
	}
	return &c.Node
}

// The method For returns the record as one pod sees it: resources that are reserved for other pods
// are not free. The argument is the key of the pod's reservations, which the method Pod.Claim
// returns. With the key "", no reserved resources are free. The returned record has the same version
// as n.
func (n *Node) For(uid string) *Node {
	if n.Reserved == nil || n.Reserved.UID == uid {
		return n
	}
	seen := *n
	seen.shift(n.Reserved.Holding, -1)
	return &seen
}

// Reserve returns the next record with the given reservation, or without a reservation if the
// argument is nil. An earlier reservation of the node is replaced.
func (n *Node) Reserve(r *Reservation) *Node {
	next := n.Copy()
	next.Version++
	next.Reserved = r
	return next
}

// shift adds sign × h to what is free on the node. It copies a slice before it changes the slice,
// because other records share it.
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
	for _, device := range h.GPUs {
		if i := n.gpu(device.ID); i >= 0 {
			n.GPUs[i].Free += MilliGPU(sign) * device.Milli
		}
	}
}

// Cores returns how many CPUs the node allocates if a pod needs the given number of CPUs on one
// NUMA node: this number, rounded up to whole cores if the node allocates only whole cores.
func (n *Node) Cores(cpus int) int {
	if n.CoreWidth <= 1 {
		return cpus
	}
	return (cpus + n.CoreWidth - 1) / n.CoreWidth * n.CoreWidth
}

func (n *Node) numa(id topology.NodeID) int {
	return slices.IndexFunc(n.NUMA, func(m NUMANode) bool { return m.ID == id })
}

func (n *Node) gpu(id string) int {
	return slices.IndexFunc(n.GPUs, func(g GPU) bool { return g.ID == id })
}
