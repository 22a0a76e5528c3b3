package group

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/gpu"
)

// Check returns all reasons why a group cannot be accepted, in the order of the group's
// fields. It returns nil if the group can be accepted.
func Check(g Group, nodes Nodes, permitted Permission) []*GPURefusal {
	c := checker{group: g, nodes: nodes, permitted: permitted}
	c.complete()
	seen := map[string]bool{}
	for _, b := range g.Bindings {
		if seen[b.Node] {
			c.refuse(Duplicate, "node %q is listed twice: list all its GPUs in one entry", b.Node)
			continue
		}
		seen[b.Node] = true
		c.binding(b)
	}
	return c.refusals
}

// checker collects the reasons why one group cannot be accepted.
type checker struct {
	group     Group
	nodes     Nodes
	permitted Permission
	refusals  []*GPURefusal
}

func (c *checker) refuse(r GPURefusalReason, format string, args ...any) {
	c.refusals = append(c.refusals, refuse(r, "group %q: %s", c.group.Name, fmt.Sprintf(format, args...)))
}

// complete checks that the required fields of the group are set, and that its quota
// is not negative.
func (c *checker) complete() {
	g := c.group
	if g.Name == "" {
		c.refuse(Incomplete, "it has no name: set one")
	}
	if len(g.Tenants) == 0 {
		c.refuse(Incomplete, "it has no tenants: name at least one")
	}
	if g.Form != gpu.Physical && g.Form != gpu.Virtual {
		c.refuse(Incomplete, "it has no form: set it to %s or %s", gpu.Physical, gpu.Virtual)
	}
	if g.Quota < 0 {
		c.refuse(Incomplete, "its quota is %d thousandths of a GPU: set how many GPUs one tenant may hold, or 0 for no limit", g.Quota)
	}
	if len(g.Bindings) == 0 {
		c.refuse(Incomplete, "it has no GPUs: list nodes and their GPUs")
	}
}

// binding checks one Binding, which has the GPUs that the group lists for one node.
func (c *checker) binding(b Binding) {
	v := c.nodes[b.Node]
	if v == nil {
		c.refuse(UnknownNode, "no node %q reports GPUs: name another node, or wait until its agent reports them", b.Node)
		return
	}
	if len(b.GPUs) == 0 {
		c.refuse(Incomplete, "it lists node %q without GPUs: name %s", b.Node, listed(v))
	}
	seen := map[string]bool{}
	for _, name := range b.GPUs {
		if c.named(b.Node, name, seen) {
			c.refuse(Duplicate, "GPU %q of node %q is listed twice, by UUID, by index or as a slice of a GPU: list it once", name, b.Node)
		}
	}
}

// named checks one name in a Binding. A name can refer to a GPU, to a slice, or to all slices of a
// GPU. The parameter `seen` has the GPUs and slices to which earlier names in the same Binding
// refer. The method adds the GPUs and slices to which this name refers. The result is true if
// `seen` already had one of these.
func (c *checker) named(node, name string, seen map[string]bool) (twice bool) {
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

// missing adds a refusal that says why a name in the group refers to no GPU of the node.
func (c *checker) missing(node, name string) {
	for _, other := range slices.Sorted(maps.Keys(c.nodes)) {
		if _, found := c.nodes[other].Find(name); found {
			c.refuse(GPUElsewhere, "GPU %q is in node %q, not in node %q: list it there", name, other, node)
			return
		}
	}
	if device, found := byIndex(c.nodes[node], name); found && c.nodes[node].GPUs[device].MIG {
		c.refuse(UnknownGPU, "GPU %q of node %q is in MIG mode and has no slices: create MIG instances on it, or remove it from the group", name, node)
		return
	}
	c.refuse(UnknownGPU, "node %q has no GPU %q: name %s", node, name, listed(c.nodes[node]))
}

// unit returns why a GPU or slice cannot be in the group, or nil if it can.
func (c *checker) unit(node string, u gpu.Unit) *GPURefusal {
	g, device := c.group, c.nodes[node].GPUs[u.GPU].UUID
	switch {
	case !c.permitted.allows(node, device):
		return refuse(NoPermission, "group %q: tenant %s has no permission to use GPU %q of node %q: remove it from the group, or ask an administrator for permission",
			g.Name, strings.Join(g.Tenants, ", "), device, node)
	case g.Form == gpu.Physical && u.Form == gpu.Virtual:
		return refuse(WrongForm, "group %q: GPU %q of node %q is in MIG mode, so only its slices are allocated: remove it from the group",
			g.Name, device, node)
	case g.Type != "" && u.Type != g.Type:
		return refuse(WrongType, "group %q: GPU %q of node %q is of type %s, not %s: remove it from the group, or change the group's type",
			g.Name, u.ID, node, u.Type, g.Type)
	}
	return nil
}

// listed returns the names by which a group can list a node's GPUs, for messages.
func listed(inventory *gpu.Inventory) string {
	var names []string
	for i := range inventory.GPUs {
		names = append(names, fmt.Sprintf("%d (%s)", inventory.GPUs[i].Index, inventory.GPUs[i].UUID))
	}
	if len(names) == 0 {
		return "another node, because this one has no GPUs"
	}
	return "one of " + strings.Join(names, ", ")
}
