package group

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/gpu"
)

// Grouping is all groups together, with what each of them holds. It is immutable:
// a change of a group makes a new one, and as it does not say what is free, GPUs
// that run something stay used.
type Grouping struct {
	groups []Group // by name
	units  map[place]unit
}

// Empty reports whether there are no groups.
func (g *Grouping) Empty() bool { return len(g.groups) == 0 }

// place names a GPU: ids of openb's nodes are indexes, so an id alone does not.
type place struct{ node, id string }

// unit is one GPU.
type unit struct {
	form   gpu.Form
	groups []int // that hold it, by their place in Grouping.groups
}

// New returns the grouping of groups that have been accepted. What they name and
// is not there any more, or no longer of their form and type, they do not hold.
// O(GPUs · groups that name them).
func New(groups []Group, nodes Nodes) *Grouping {
	g := &Grouping{groups: slices.Clone(groups), units: map[place]unit{}}
	slices.SortFunc(g.groups, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	for node, v := range nodes {
		for _, u := range v.Units() {
			g.units[place{node, u.ID}] = unit{form: u.Form}
		}
	}
	for i, group := range g.groups {
		for _, b := range group.Bindings {
			g.bind(i, b, nodes[b.Node])
		}
	}
	return g
}

// bind notes that a group holds the GPUs of a binding.
func (g *Grouping) bind(group int, b Binding, v *gpu.Inventory) {
	if v == nil {
		return
	}
	for _, name := range b.GPUs {
		for _, u := range units(v, name) {
			at := place{b.Node, u.ID}
			known := g.units[at]
			if g.groups[group].holds(u) && !slices.Contains(known.groups, group) {
				known.groups = append(known.groups, group)
				g.units[at] = known
			}
		}
	}
}

// holds reports whether a GPU is of the group's form and type. A share of a card
// is virtual, so a virtual group may hold cards.
func (g *Group) holds(u gpu.Unit) bool {
	return (g.Form == gpu.Virtual || u.Form == gpu.Physical) && (g.Type == "" || g.Type == u.Type)
}

// unit returns what is known of a GPU. One that no inventory told of is a card.
func (g *Grouping) unit(node, id string) unit {
	u, known := g.units[place{node, id}]
	if !known {
		u.form = gpu.Physical
	}
	return u
}
