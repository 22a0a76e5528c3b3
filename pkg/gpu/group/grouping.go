package group

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/gpu"
)

// Grouping has all groups of the cluster, and the GPUs that each group has. It is
// immutable: after a change of a group, the caller makes a new Grouping. It does not
// record which GPUs are in use, so a change of groups does not free GPUs that are in
// use.
type Grouping struct {
	groups []Group // sorted by name
	units  map[unitKey]unit
	bound  map[string]bool // names of the nodes that the groups list
}

// Empty reports whether there are no groups.
func (g *Grouping) Empty() bool { return len(g.groups) == 0 }

// unitKey identifies a GPU or slice. The id alone is not unique in simulations: in recorded traces
// such as openb, the id of a GPU is only its index on its node, so GPUs of different nodes have the
// same id.
type unitKey struct{ node, id string }

// unit is one GPU or slice.
type unit struct {
	form   gpu.Form
	groups []int // the groups that have it, as indexes of Grouping.groups
}

// New returns the Grouping of groups that Check has accepted. New leaves out a listed GPU if the
// node no longer has it, or if it no longer suits the form and type of the group, for example
// because it was put into MIG mode. For each GPU that a group lists, New visits all GPUs and slices
// of the GPU's node.
func New(groups []Group, nodes Nodes) *Grouping {
	g := &Grouping{groups: slices.Clone(groups), units: map[unitKey]unit{}, bound: map[string]bool{}}
	slices.SortFunc(g.groups, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	for node, v := range nodes {
		for _, u := range v.Units() {
			g.units[unitKey{node, u.ID}] = unit{form: u.Form}
		}
	}
	for i, group := range g.groups {
		for _, b := range group.Bindings {
			g.bound[b.Node] = true
			g.bind(i, b, nodes[b.Node])
		}
	}
	return g
}

// bind records that a group has the GPUs of a Binding.
func (g *Grouping) bind(group int, b Binding, inventory *gpu.Inventory) {
	if inventory == nil {
		return
	}
	for _, name := range b.GPUs {
		for _, u := range units(inventory, name) {
			at := unitKey{b.Node, u.ID}
			known := g.units[at]
			if g.groups[group].holds(u) && !slices.Contains(known.groups, group) {
				known.groups = append(known.groups, group)
				g.units[at] = known
			}
		}
	}
}

// holds reports whether a GPU or slice suits the form and type of the group. A group of the form
// "physical" can have only whole GPUs. A group of the form "virtual" can have slices, and also
// whole GPUs, which are then divided into shares.
func (g *Group) holds(unit gpu.Unit) bool {
	return (g.Form == gpu.Virtual || unit.Form == gpu.Physical) && (g.Type == "" || g.Type == unit.Type)
}

// unit returns what is known about a GPU or slice, and whether it is in a group. The group is an
// index of Grouping.groups. If it is noGroup, the second result says whether the GPU or slice is in
// no group.
//
// A GPU that is in no inventory counts as a whole GPU in no group, unless a group lists its node.
// The GPU may then be one of the group: the scheduler can know the GPUs of a node before the caller
// makes a Grouping with them, for example after the node was deleted and has come back. A GPU
// without an ID can be any GPU of its node.
func (g *Grouping) unit(group int, node, id string) (u unit, in bool) {
	u, known := g.units[unitKey{node, id}]
	switch {
	case group != noGroup:
		return u, slices.Contains(u.groups, group)
	case known:
		return u, len(u.groups) == 0
	}
	return unit{form: gpu.Physical}, !g.bound[node]
}

// HeldGPU is a GPU or slice that a group has.
type HeldGPU struct {
	Node, ID string
	Others   []string // names of the other groups that have this GPU or slice, sorted
}

// HeldGPUs returns the existing GPUs and slices that a group has, sorted by node and ID.
// It visits all GPUs of the cluster.
func (g *Grouping) HeldGPUs(name string) []HeldGPU {
	own := slices.IndexFunc(g.groups, func(group Group) bool { return group.Name == name })
	var all []HeldGPU
	for at, unit := range g.units {
		if !slices.Contains(unit.groups, own) {
			continue
		}
		h := HeldGPU{Node: at.node, ID: at.id}
		for _, other := range unit.groups {
			if other != own {
				h.Others = append(h.Others, g.groups[other].Name)
			}
		}
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b HeldGPU) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Holds reports whether any group has the GPU or slice with this UUID.
func (g *Grouping) Holds(node, id string) bool { return len(g.units[unitKey{node, id}].groups) > 0 }
