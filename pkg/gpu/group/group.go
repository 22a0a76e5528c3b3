package group

import (
	"strconv"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
)

// Group dedicates GPUs to the containers of some tenants. Several groups may have the
// same nodes and the same GPUs.
type Group struct {
	Name    string
	Tenants []string
	Form    gpu.Form // Physical: the group serves requests for whole GPUs; Virtual: it serves requests for MIG slices and for shares of a GPU
	Type    string   // the only GPU type in the group, or "" for any
	// Containers are the names of the containers that the group serves. If it is empty, the group
	// serves all containers of its tenants.
	Containers []string
	Bindings   []Binding
	// Quota is how much of the group one tenant may hold at one time. 0 means no limit.
	Quota sched.MilliGPU
}

// Binding lists the GPUs of one node that are in a group. It is not the Binding of the Kubernetes
// API.
type Binding struct {
	Node string
	// GPUs are UUIDs of GPUs or slices, or indexes of GPUs. The UUID or index of a GPU in
	// MIG mode stands for all of its slices.
	GPUs []string
}

// Nodes are the GPU inventories of nodes, by node name.
type Nodes map[string]*gpu.Inventory

// Permission reports whether a tenant may use a GPU, which is given by its node and its
// UUID. A nil Permission allows all GPUs.
type Permission func(node, id string) bool

func (p Permission) allows(node, id string) bool { return p == nil || p(node, id) }

// The method For returns the inventories of the nodes, reduced to the GPUs that a permission allows.
// Nodes without any allowed GPU are left out. An allowed GPU in MIG mode keeps all of its
// slices.
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

// units returns the GPUs or slices to which a name in a Binding refers: one GPU, one
// slice, or all slices of a GPU in MIG mode. It returns none if the node has no such
// GPU or slice.
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

// byIndex returns the GPU whose index is the given name. It returns false if the name is not a
// number, or if no GPU has this index.
func byIndex(inventory *gpu.Inventory, name string) (device int, found bool) {
	index, err := strconv.Atoi(name)
	for i := range inventory.GPUs {
		if err == nil && inventory.GPUs[i].Index == index {
			return i, true
		}
	}
	return 0, false
}
