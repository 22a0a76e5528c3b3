package gpu

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/numalet/numalet/pkg/topology"
)

// GPU is one physical GPU.
type GPU struct {
	UUID        string
	Index       int    // the driver's index, which a reboot may change
	Model       string // the product name that the driver reports, such as "NVIDIA H100 80GB HBM3"
	MemoryBytes uint64
	PCI         Address
	NUMA        topology.NodeID // topology.Unknown if not known
	// MIG means that the GPU is in MIG mode. Then only its Slices can be allocated, not the whole
	// GPU. There may be no Slices.
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

// ids returns the UUID of the GPU and those of its slices.
func (c *GPU) ids() []string {
	ids := []string{c.UUID}
	for _, slice := range c.Slices {
		ids = append(ids, slice.UUID)
	}
	return ids
}

// Address is a PCI address in the format of sysfs, such as "0000:3b:00.0". The format is
// domain:bus:device.function in lower case. The domain has four digits or more.
type Address string

// ParseAddress parses a PCI address in the format of sysfs or of NVML. NVML writes eight digits for
// the domain, and capital letters, such as "00000000:3B:00.0".
func ParseAddress(text string) (Address, error) {
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ':' || r == '.' })
	if len(fields) != 4 || strings.Count(text, ":") != 2 || strings.Count(text, ".") != 1 {
		return "", fmt.Errorf("parse PCI address %q: want domain:bus:device.function", text)
	}
	var n [4]uint64
	for i, bits := range [4]int{32, 8, 5, 3} {
		number, err := strconv.ParseUint(fields[i], 16, bits)
		if err != nil {
			return "", fmt.Errorf("parse PCI address %q: %q is not a hexadecimal number of %d bits", text, fields[i], bits)
		}
		n[i] = number
	}
	return Address(fmt.Sprintf("%04x:%02x:%02x.%x", n[0], n[1], n[2], n[3])), nil
}

// State says whether a GPU or slice is healthy.
type State uint8

// The states of a GPU or slice. The zero value means that its health is not known.
const (
	UnknownState State = iota
	Healthy
	Unhealthy
)

// String returns "Unknown", "Healthy" or "Unhealthy". The custom resource NodeTopology has the same
// names.
func (s State) String() string {
	switch s {
	case Healthy:
		return "Healthy"
	case Unhealthy:
		return "Unhealthy"
	}
	return "Unknown"
}

// Health is the state of a GPU or slice. Package health determines it.
type Health struct {
	State  State
	Reason string // the fault and what to do about it; "" if the state is Healthy
}

// worse returns the worse of a and b. Unhealthy is worse than unknown, and unknown is worse than
// healthy. If both states are equal, it returns a.
func worse(a, b Health) Health {
	badness := [...]int{Healthy: 0, UnknownState: 1, Unhealthy: 2}
	if badness[b.State] > badness[a.State] {
		return b
	}
	return a
}

// Unit is what can be allocated: a GPU, or a slice of a GPU in MIG mode.
type Unit struct {
	ID          string // UUID
	GPU         int    // index of its GPU in Inventory.GPUs
	Form        Form
	Type        string
	MemoryBytes uint64
	Health      Health // for a slice, the worse of its own health and that of its GPU
}

// Units returns the units of the node, in the order of the GPUs. For a GPU in MIG mode, it returns
// only the slices, so a GPU is never available both whole and in slices.
func (v *Inventory) Units() []Unit {
	var units []Unit
	for i := range v.GPUs {
		c := &v.GPUs[i]
		if !c.MIG {
			units = append(units, Unit{c.UUID, i, Physical, TypeName(c.Model), c.MemoryBytes, c.Health})
			continue
		}
		for _, slice := range c.Slices {
			units = append(units, Unit{
				slice.UUID, i, Virtual, SliceTypeName(c.Model, slice.Profile), slice.MemoryBytes, worse(slice.Health, c.Health),
			})
		}
	}
	return units
}
