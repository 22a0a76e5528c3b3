package group

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/gpu"
)

// Check returns everything for which a group is not to be accepted: nil, or what
// is wrong with it, in the order in which it says it.
func Check(g Group, nodes Nodes, may Right) []*Refusal {
	c := checking{group: g, nodes: nodes, may: may}
	c.complete()
	seen := map[string]bool{}
	for _, b := range g.Bindings {
		if seen[b.Node] {
			c.refuse(Duplicate, "node %q is there twice: name all its GPUs in one place", b.Node)
			continue
		}
		seen[b.Node] = true
		c.binding(b)
	}
	return c.refusals
}

type checking struct {
	group    Group
	nodes    Nodes
	may      Right
	refusals []*Refusal
}

func (c *checking) refuse(r Reason, format string, args ...any) {
	c.refusals = append(c.refusals, refuse(r, "group %q: %s", c.group.Name, fmt.Sprintf(format, args...)))
}

func (c *checking) complete() {
	g := c.group
	if g.Name == "" {
		c.refuse(Incomplete, "it has no name: give it one")
	}
	if len(g.Tenants) == 0 {
		c.refuse(Incomplete, "it is for nobody: name a tenant")
	}
	if g.Form != gpu.Physical && g.Form != gpu.Virtual {
		c.refuse(Incomplete, "it has no form: say %s or %s", gpu.Physical, gpu.Virtual)
	}
	if g.Quota < 0 {
		c.refuse(Incomplete, "its quota is %d thousandths of a GPU: say how many a tenant may hold, or 0 for no limit", g.Quota)
	}
	if len(g.Bindings) == 0 {
		c.refuse(Incomplete, "it has no GPUs: name nodes and GPUs of theirs")
	}
}

func (c *checking) binding(b Binding) {
	v := c.nodes[b.Node]
	if v == nil {
		c.refuse(UnknownNode, "there is no node %q with GPUs: name another, or wait until it has told what it has", b.Node)
		return
	}
	if len(b.GPUs) == 0 {
		c.refuse(Incomplete, "it names node %q, but no GPU there: name %s", b.Node, listed(v))
	}
	seen := map[string]bool{}
	for _, name := range b.GPUs {
		if c.named(b.Node, name, seen) {
			c.refuse(Duplicate, "GPU %q of node %q is there twice, by UUID, by index or as a slice of a card: name it once", name, b.Node)
		}
	}
}

// named checks one name and reports whether any of what it stands for was named
// before.
func (c *checking) named(node, name string, seen map[string]bool) (twice bool) {
	found := units(c.nodes[node], name)
	if len(found) == 0 {
		c.missing(node, name)
	}
	for _, u := range found {
		twice = twice || seen[u.ID]
		seen[u.ID] = true
	}
	for _, u := range found {
		if r := c.unit(node, u); r != nil {
			c.refusals = append(c.refusals, r)
			break
		}
	}
	return twice
}

// missing says why a node has no such GPU.
func (c *checking) missing(node, name string) {
	for _, other := range slices.Sorted(maps.Keys(c.nodes)) {
		if _, found := c.nodes[other].Find(name); found {
			c.refuse(GPUElsewhere, "GPU %q sits in node %q, not in %q: name it there", name, other, node)
			return
		}
	}
	if card, found := byIndex(c.nodes[node], name); found && c.nodes[node].Cards[card].MIG {
		c.refuse(UnknownGPU, "card %q of node %q is in MIG mode and has no slices: make some, or leave it out", name, node)
		return
	}
	c.refuse(UnknownGPU, "node %q has no GPU %q: name %s", node, name, listed(c.nodes[node]))
}

// unit says why a GPU cannot be in the group.
func (c *checking) unit(node string, u gpu.Unit) *Refusal {
	g, card := c.group, c.nodes[node].Cards[u.Card].UUID
	switch {
	case !c.may.allows(node, card):
		return refuse(NoRight, "group %q: tenant %s has no right to GPU %q of node %q: leave it out, or ask the administrator for it",
			g.Name, strings.Join(g.Tenants, ", "), card, node)
	case g.Form == gpu.Physical && u.Form == gpu.Virtual:
		return refuse(WrongForm, "group %q: card %q of node %q is in MIG mode, so it is given in slices: leave it out, or make the group %s",
			g.Name, card, node, gpu.Virtual)
	case g.Type != "" && u.Type != g.Type:
		return refuse(WrongType, "group %q: GPU %q of node %q is of type %s, not %s: leave it out, or change the group's type",
			g.Name, u.ID, node, u.Type, g.Type)
	}
	return nil
}

// listed returns what a node has to name.
func listed(v *gpu.Inventory) string {
	var names []string
	for i := range v.Cards {
		names = append(names, fmt.Sprintf("%d (%s)", v.Cards[i].Index, v.Cards[i].UUID))
	}
	if len(names) == 0 {
		return "another node: it has none"
	}
	return "one of " + strings.Join(names, ", ")
}
