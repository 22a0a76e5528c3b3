package group

import (
	"strconv"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
)

// Group reserves GPUs of one form for containers of some tenants. Groups may overlap:
// they may hold the same nodes and the same GPUs.
type Group struct {
	Name    string
	Tenants []string
	Form    gpu.Form // Physical or Virtual
	Type    string   // the only GPU type in the group, or "" for any
	// Containers are the identifiers of the only containers that the group serves; nil
	// serves all.
	Containers []string
	Bindings   []Binding
	// Quota is the most that one tenant may hold of the group; 0 means no limit.
	Quota sched.MilliGPU
}

// Binding lists GPUs of one node.
type Binding struct {
	Node string
	// GPUs are UUIDs of GPUs or slices, or indexes of GPUs. A GPU in MIG mode
	// represents its slices.
	GPUs []string
}

// Nodes are the GPUs of nodes, by node name.
type Nodes map[string]*gpu.Inventory

// Permission reports whether a tenant may use a GPU of a node, given by the UUID of its
// GPU. nil allows all GPUs.
type Permission func(node, id string) bool

func (p Permission) allows(node, id string) bool { return p == nil || p(node, id) }

// For returns the GPUs that a permission allows, without nodes that have none. A GPU
// comes with all of its slices.
func (n Nodes) For(permitted Permission) Nodes {
	shown := Nodes{}
	for name, v := range n {
		var gpus []int
		for i := range v.GPUs {
			if permitted.allows(name, v.GPUs[i].UUID) {
				gpus = append(gpus, i)
			}
		}
		if len(gpus) > 0 {
			shown[name] = v.Only(gpus)
		}
	}
	return shown
}

// units returns the GPUs that a name in a binding refers to: one GPU or slice, all
// slices of a GPU, or none if the node has no such GPU.
func units(inventory *gpu.Inventory, name string) []gpu.Unit {
	device, found := inventory.Find(name)
	if !found {
		if device, found = byIndex(inventory, name); !found {
			return nil
		}
		name = inventory.GPUs[device].UUID
	}
	whole := inventory.GPUs[device].UUID == name
	var named []gpu.Unit
	for _, unit := range inventory.Units() {
		if unit.ID == name || whole && unit.GPU == device {
			named = append(named, unit)
		}
	}
	return named
}

// byIndex finds a GPU by the text of its index.
func byIndex(inventory *gpu.Inventory, name string) (device int, found bool) {
	index, err := strconv.Atoi(name)
	for i := range inventory.GPUs {
		if err == nil && inventory.GPUs[i].Index == index {
			return i, true
		}
	}
	return 0, false
}
