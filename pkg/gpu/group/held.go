package group

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// Held is a GPU that a group holds.
type Held struct {
	Node, ID string
	Others   []string // groups that hold it, too; sorted
}

// Held returns what a group holds of what is there, by node and id. O(GPUs).
func (g *Grouping) Held(name string) []Held {
	own := slices.IndexFunc(g.groups, func(group Group) bool { return group.Name == name })
	var all []Held
	for at, u := range g.units {
		if !slices.Contains(u.groups, own) {
			continue
		}
		h := Held{Node: at.node, ID: at.id}
		for _, other := range u.groups {
			if other != own {
				h.Others = append(h.Others, g.groups[other].Name)
			}
		}
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b Held) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Holds reports whether any group holds a card of a node, given by its UUID, or a
// slice.
func (g *Grouping) Holds(node, id string) bool { return len(g.units[place{node, id}].groups) > 0 }

// Holders returns how much of a group each tenant holds; who holds nothing is
// left out. O(tenants · types).
func (q *Quotas) Holders(group string) map[string]sched.MilliGPU {
	holders := map[string]sched.MilliGPU{}
	for s, amount := range q.given {
		if s.Group == group && amount > 0 {
			holders[s.Tenant] = amount
		}
	}
	return holders
}
