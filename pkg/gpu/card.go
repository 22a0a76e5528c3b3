package gpu

import "github.com/numalet/numalet/pkg/topology"

// Card is one physical GPU.
type Card struct {
	UUID        string
	Index       int    // the driver's count, which a reboot may change
	Model       string // as the driver spells it, such as "NVIDIA H100 80GB HBM3"
	MemoryBytes uint64
	PCI         Address
	NUMA        topology.NodeID // topology.Unknown where nobody tells
	// MIG says that the card is in MIG mode: it is given away as Slices only,
	// and there may be none.
	MIG    bool
	Slices []Slice
	Health Health
}

// Slice is one MIG device: a compute instance of a GPU instance.
// https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
type Slice struct {
	UUID            string
	Profile         string // such as "1g.10gb"
	GPUInstance     int
	ComputeInstance int
	MemoryBytes     uint64
	Health          Health
}

// ids returns the UUIDs of the card and of its slices.
func (c *Card) ids() []string {
	ids := []string{c.UUID}
	for _, s := range c.Slices {
		ids = append(ids, s.UUID)
	}
	return ids
}
