package group

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/gpu"
)

// Grouping is all groups, with the GPUs that each of them holds. It is immutable: a
// change of a group makes a new Grouping. It does not know which GPUs are free, so a
// change never frees a GPU that is in use.
type Grouping struct {
	groups []Group // sorted by name
	units  map[unitKey]unit
}

// Empty reports whether there are no groups.
func (g *Grouping) Empty() bool { return len(g.groups) == 0 }

// unitKey identifies a GPU. An id alone does not: in traces such as openb's it is an
// index on the node.
type unitKey struct{ node, id string }

// unit is one GPU or slice.
type unit struct {
	form   gpu.Form
	groups []int // indexes in Grouping.groups of the groups that hold it
}

// New returns the grouping of accepted groups. A group does not hold a listed GPU that
// has disappeared or has another form or type now. O(GPUs · groups that name them).
func New(groups []Group, nodes Nodes) *Grouping {
	g := &Grouping{groups: slices.Clone(groups), units: map[unitKey]unit{}}
	slices.SortFunc(g.groups, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	for node, v := range nodes {
		for _, u := range v.Units() {
			g.units[unitKey{node, u.ID}] = unit{form: u.Form}
		}
	}
	for i, group := range g.groups {
		for _, b := range group.Bindings {
			g.bind(i, b, nodes[b.Node])
		}
	}
	return g
}

// bind records that a group holds the GPUs of a binding.
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

// holds reports whether a GPU is of the group's form and type. A virtual group may hold
// GPUs, because a share of a GPU is virtual.
func (g *Group) holds(unit gpu.Unit) bool {
	return (g.Form == gpu.Virtual || unit.Form == gpu.Physical) && (g.Type == "" || g.Type == unit.Type)
}

// unit returns a GPU. One that is in no inventory counts as a GPU outside all groups.
func (g *Grouping) unit(node, id string) unit {
	u, known := g.units[unitKey{node, id}]
	if !known {
		u.form = gpu.Physical
	}
	return u
}

// HeldGPU is a GPU that a group holds.
type HeldGPU struct {
	Node, ID string
	Others   []string // other groups that hold it; sorted
}

// HeldGPUs returns the existing GPUs that a group holds, sorted by node and id. O(GPUs).
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

// Holds reports whether any group holds a GPU or a slice, given by its UUID.
func (g *Grouping) Holds(node, id string) bool { return len(g.units[unitKey{node, id}].groups) > 0 }
