package group

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/sched"
)

// Match is the groups whose GPUs can serve a request. A Match without groups means that
// GPUs that belong to no group serve the request.
type Match struct {
	grouping *Grouping
	request  Request
	groups   []int // indexes of Grouping.groups; empty means the GPUs that belong to no group
}

// Match returns the groups that serve a request. Match tries these rules in this order, and uses
// the first one that applies:
//
//  1. If the request names a group, that group serves it. If that group cannot, Match
//     returns a *GPURefusal.
//  2. If some of the tenant's groups name the container and have the requested form and type, these
//     groups serve it.
//  3. If some of the tenant's groups name no container and have the requested form and type, these
//     groups serve it.
//  4. Otherwise, the GPUs that belong to no group serve it.
func (g *Grouping) Match(request Request) (Match, error) {
	if request.Group != "" {
		return g.named(request)
	}
	m := Match{grouping: g, request: request}
	for _, naming := range []bool{true, false} {
		for i := range g.groups {
			if group := &g.groups[i]; (len(group.Containers) > 0) == naming && group.refuses(request) == nil {
				m.groups = append(m.groups, i)
			}
		}
		if len(m.groups) > 0 {
			break
		}
	}
	return m, nil
}

// named returns the Match with the group that a request names.
func (g *Grouping) named(request Request) (Match, error) {
	i := slices.IndexFunc(g.groups, func(group Group) bool { return group.Name == request.Group })
	if i < 0 {
		return Match{}, refuse(UnknownGroup, "GPU group %q does not exist: name another group, or none", request.Group)
	}
	if why := g.groups[i].refuses(request); why != nil {
		return Match{}, why
	}
	return Match{g, request, []int{i}}, nil
}

// refuses returns why a group is not for a request. It compares the tenant, the container, the form
// and the type, but not the number of GPUs. It returns nil if the group is for the request.
func (g *Group) refuses(request Request) *GPURefusal {
	switch {
	case !slices.Contains(g.Tenants, request.Tenant):
		return refuse(NotServed, "GPU group %q is not for tenant %q: name a group of that tenant, or none", g.Name, request.Tenant)
	case len(g.Containers) > 0 && !slices.Contains(g.Containers, request.Container):
		return refuse(NotServed, "GPU group %q is for the containers %s, not for %q: name another group, or none",
			g.Name, strings.Join(g.Containers, ", "), request.Container)
	case g.Form != request.form():
		return refuse(WrongForm, "GPU group %q has %s GPUs, but the container requests %s: name another group, or request its form", g.Name, g.Form, request)
	case g.Type != "" && request.Types != nil && !slices.Contains(request.Types, g.Type):
		return refuse(WrongType, "GPU group %q has GPUs of type %s, but the container requests %s: name another group, or request its type", g.Name, g.Type, request)
	}
	return nil
}

// The method Without returns a Match that lacks some of the groups: those for which the function
// given as `drop` returns true. At least one group must remain, because a Match without groups
// allows the GPUs that belong to no group.
func (m Match) Without(drop func(name string) bool) Match {
	m.groups = slices.DeleteFunc(slices.Clone(m.groups), func(i int) bool { return drop(m.grouping.groups[i].Name) })
	return m
}

// Groups returns the sorted names of the groups in the Match. A Match without groups
// means the GPUs that belong to no group.
func (m Match) Groups() []string {
	var names []string
	for _, i := range m.groups {
		names = append(names, m.grouping.groups[i].Name)
	}
	return names
}

// Nodes returns the sorted names of the nodes whose GPUs the groups list. If the Match has no
// groups, Nodes returns nil, which means any node.
func (m Match) Nodes() []string {
	var names []string
	for _, i := range m.groups {
		for _, b := range m.grouping.groups[i].Bindings {
			names = append(names, b.Node)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// String returns the names of the groups, or "the GPUs in no group", for messages.
func (m Match) String() string {
	if len(m.groups) == 0 {
		return "the GPUs in no group"
	}
	return "GPU group " + strings.Join(m.Groups(), ", ")
}

// GPUOffer is the GPUs of one node that can serve a container's request. They may be more GPUs than
// the container requests.
type GPUOffer struct {
	Node  string
	Group string           // "" for the GPUs that belong to no group
	GPUs  []sched.GPUShare // free GPUs that suit the request, in the node's order; at least as many as requested
	Over  int              // how many more GPUs are offered than requested; the offer with the smallest number is the best, because larger groups stay free for larger requests
}

// The method On returns the offer of a node. It returns false if no group has enough free GPUs
// there. If several groups have enough, the group with the fewest free GPUs on the node serves the
// request. If several groups have equally few, the first of them by name serves it. The method
// treats everything that is free on the node as available. So the caller must pass the node without
// what is reserved for other pods (the result of sched.Node.For). For each group of the Match, the
// method visits all GPUs of the node.
func (m Match) On(node *sched.Node) (GPUOffer, bool) {
	best, found := GPUOffer{}, false
	for _, group := range m.sources() {
		gpus := m.free(node, group)
		if len(gpus) < m.request.Count || found && len(gpus) >= len(best.GPUs) {
			continue
		}
		best, found = GPUOffer{Node: node.Name, Group: m.name(group), GPUs: gpus, Over: len(gpus) - m.request.Count}, true
	}
	return best, found
}

// Best returns the offer with the smallest GPUOffer.Over of all nodes. Of several such
// offers, it returns the one whose group is first by name. If their groups are the same
// too, it returns the one whose node is first in the list. The error is a *GPURefusal.
func (m Match) Best(nodes []*sched.Node) (GPUOffer, error) {
	var best *GPUOffer
	for _, node := range nodes {
		if o, ok := m.On(node); ok && (best == nil || o.compare(*best) < 0) {
			best = &o
		}
	}
	if best == nil {
		return GPUOffer{}, m.refuse(nodes)
	}
	return *best, nil
}

func (o GPUOffer) compare(other GPUOffer) int {
	return cmp.Or(cmp.Compare(o.Over, other.Over), cmp.Compare(o.Group, other.Group))
}

// noGroup stands for the GPUs that belong to no group, in place of the index of a group.
const noGroup = -1

// sources returns the indexes of the groups of the Match, or only noGroup if the Match
// has no groups.
func (m Match) sources() []int {
	if len(m.groups) == 0 {
		return []int{noGroup}
	}
	return m.groups
}

func (m Match) name(group int) string {
	if group == noGroup {
		return ""
	}
	return m.grouping.groups[group].Name
}

// free returns the GPUs of a group on a node that suit the request and that have enough
// free for it: a whole GPU, a whole slice, or the requested share.
func (m Match) free(node *sched.Node, group int) []sched.GPUShare {
	var gpus []sched.GPUShare
	for _, gpu := range node.GPUs {
		if amount, suits := m.suits(node.Name, gpu, group); suits && gpu.Free >= amount {
			gpus = append(gpus, sched.GPUShare{ID: gpu.ID, Milli: amount})
		}
	}
	return gpus
}

// suits reports whether a GPU is in a group and has the form and type that the Match's
// request asks for. It also returns how much of the GPU the request takes. It does not
// check whether that much is free.
func (m Match) suits(node string, g sched.GPU, group int) (sched.MilliGPU, bool) {
	u, in := m.grouping.unit(group, node, g.ID)
	if !in {
		return 0, false
	}
	return m.request.amount(u.form, g.Type)
}

// refuse returns why no node can serve the request.
func (m Match) refuse(nodes []*sched.Node) *GPURefusal {
	most, has, where := 0, 0, ""
	for _, node := range nodes {
		for _, group := range m.sources() {
			if free := len(m.free(node, group)); free > most {
				most, where = free, node.Name
			}
			has = max(has, m.suiting(node, group))
		}
	}
	switch {
	case has < m.request.Count:
		return refuse(NeverEnough, "the container requests %s, but no node has %s: request fewer, or add more GPUs of one node",
			m.request, m.have(has))
	case most == 0:
		return refuse(TooFewGPUs, "the container requests %s, but none of %s is free: wait until other pods end", m.request, m)
	}
	return refuse(TooFewGPUs, "the container requests %s, but at most %d of %s are free on one node, %s: request fewer, or wait until other pods end",
		m.request, most, m, where)
}

// have returns the text that follows "no node has" in a refusal. The parameter `most` is
// the largest number of GPUs of one node that suit the request.
func (m Match) have(most int) string {
	if most == 0 {
		return fmt.Sprintf("any of %s", m)
	}
	return fmt.Sprintf("more than %d of %s", most, m)
}

// suiting returns the number of GPUs of a group on a node that suit the request,
// including GPUs that are in use.
func (m Match) suiting(node *sched.Node, group int) (n int) {
	for _, gpu := range node.GPUs {
		if _, suits := m.suits(node.Name, gpu, group); suits {
			n++
		}
	}
	return n
}
