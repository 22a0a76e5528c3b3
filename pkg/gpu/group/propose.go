package group

import (
	"cmp"
	"maps"
	"slices"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/group/pack"
)

// Demand is how many GPUs one container is expected to need.
type Demand struct {
	Container string // the container's name, or "" for any container
	GPUs      int
}

// Estimate is what the containers of a tenant are expected to need at the same time.
type Estimate struct {
	Form    gpu.Form // Physical: groups of whole GPUs; Virtual: groups of slices and of whole GPUs that are divided into shares
	Type    string   // "" for any
	Demands []Demand
}

// Proposal has one group for each demand of an Estimate, in the order of the demands.
// Demands that fit on no node have no group.
type Proposal struct {
	Groups   []ProposedGroup
	Unplaced []Demand // demands for more GPUs than any node has
	// Outcome is pack.All if no GPU is in two groups, so that all demands can be served at the same
	// time. It is pack.Proven if it is proven that no such groups exist, and pack.Unknown if the
	// search for such groups was given up. If it is not pack.All, some groups share GPUs or some
	// demands have no group.
	Outcome pack.Outcome
}

// ProposedGroup is the group that is proposed for one demand.
type ProposedGroup struct {
	Demand
	Node  string
	GPUs  []string // UUIDs
	Share bool     // other proposed groups have some of these GPUs, too
}

// Propose proposes groups of the permitted GPUs. All demands can be served at the same time if
// every demand has a group and no two groups share a GPU. The order in which the containers start
// does not matter. The reason is that each group has exactly as many GPUs as its demand, and that
// each demand is one container's request. Match.Best prefers the offer with the fewest GPUs beyond
// the request, so each container gets a group with exactly the requested number of GPUs. pack.Pack
// assigns the groups to nodes. The comment of Pack says when it finds the best assignment. On a
// node, the largest groups get their GPUs first, so that they get the best-connected GPUs.
//
// Groups share GPUs only if pack.Pack finds no way to serve all demands at the same
// time. Then the demands for which it found a node get their GPUs first, the largest
// first. Each remaining demand goes to the node with the most GPUs in no group, and gets
// those GPUs of the node that are in the fewest groups. The error is a *GPURefusal.
func Propose(nodes Nodes, e Estimate, permitted Permission) (Proposal, error) {
	if r := e.check(); r != nil {
		return Proposal{}, r
	}
	all := supplies(nodes, e, permitted)
	bins, sizes := make([]int, len(all)), make([]int, len(e.Demands))
	for i := range all {
		bins[i] = len(all[i].units)
	}
	for i, d := range e.Demands {
		sizes[i] = d.GPUs
	}
	packing := pack.Pack(bins, sizes)
	p := Proposal{Outcome: packing.Outcome}
	for i, g := range handOut(all, sizes, packing.Bin) {
		g.Demand = e.Demands[i]
		if g.Node == "" {
			p.Unplaced = append(p.Unplaced, g.Demand)
			continue
		}
		p.Groups = append(p.Groups, g)
	}
	return p, nil
}

// check returns what is wrong with an Estimate, or nil if nothing is.
func (e Estimate) check() *GPURefusal {
	if e.Form != gpu.Physical && e.Form != gpu.Virtual {
		return refuse(Incomplete, "the estimate has no form: set it to %s or %s", gpu.Physical, gpu.Virtual)
	}
	for i, d := range e.Demands {
		if d.GPUs < 1 {
			return refuse(Incomplete, "demand %d is for %d GPUs: request 1 or more, or remove the demand", i+1, d.GPUs)
		}
	}
	return nil
}

// Group returns the proposed group as a Group with this name, for this tenant.
func (p ProposedGroup) Group(name, tenant string, e Estimate) Group {
	g := Group{Name: name, Tenants: []string{tenant}, Form: e.Form, Type: e.Type, Bindings: []Binding{{p.Node, p.GPUs}}}
	if p.Container != "" {
		g.Containers = []string{p.Container}
	}
	return g
}

// supplies returns the permitted GPUs that have the form and type of an Estimate, one
// supply per node, ordered by node name.
func supplies(nodes Nodes, e Estimate, permitted Permission) []*supply {
	g := Group{Form: e.Form, Type: e.Type}
	var all []*supply
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		s := &supply{node: name, inventory: nodes[name]}
		for _, u := range s.inventory.Units() {
			if g.holds(u) && permitted.allows(name, s.inventory.GPUs[u.GPU].UUID) {
				s.units = append(s.units, u)
			}
		}
		s.holders = make([]int, len(s.units))
		all = append(all, s)
	}
	return all
}

// supply is the GPUs of one node from which groups are proposed.
type supply struct {
	node      string
	inventory *gpu.Inventory
	units     []gpu.Unit
	holders   []int // for each element of the field `units`: in how many proposed groups it is
}

// handOut assigns GPUs to the demands. The parameter `bin` has the node of each demand, as an index
// of the slice `all`, or pack.Nowhere. The demands with a node come first, the largest first, and
// get GPUs of their node. Then each other demand gets GPUs of the node with the most GPUs in no
// group. A demand that fits on no node gets none.
func handOut(all []*supply, sizes, bin []int) []ProposedGroup {
	given := make([]ProposedGroup, len(sizes))
	order := pack.LargestFirst(sizes)
	for _, d := range order {
		if bin[d] != pack.Nowhere {
			given[d] = all[bin[d]].give(sizes[d])
		}
	}
	for _, d := range order {
		if bin[d] != pack.Nowhere {
			continue
		}
		if s := roomiest(all, sizes[d]); s != nil {
			given[d] = s.give(sizes[d])
		}
	}
	for i := range given {
		for _, s := range all {
			given[i].Share = given[i].Share || s.node == given[i].Node && s.shares(given[i].GPUs)
		}
	}
	return given
}

// roomiest considers the nodes that have at least `count` GPUs. It returns the one with the
// most GPUs in no group, or nil if there is no such node.
func roomiest(all []*supply, count int) *supply {
	var best *supply
	for _, s := range all {
		if len(s.units) >= count && (best == nil || s.left() > best.left()) {
			best = s
		}
	}
	return best
}

// left returns the number of the node's GPUs that are in no group.
func (s *supply) left() (n int) {
	for _, holder := range s.holders {
		if holder == 0 {
			n++
		}
	}
	return n
}

// give assigns the given number of the node's GPUs to a new group.
func (s *supply) give(count int) ProposedGroup {
	p := ProposedGroup{Node: s.node}
	for _, i := range s.choose(count) {
		p.GPUs = append(p.GPUs, s.units[i].ID)
		s.holders[i]++
	}
	return p
}

// shares reports whether any GPU with one of these IDs is in several groups.
func (s *supply) shares(ids []string) bool {
	for i, holder := range s.holders {
		if holder > 1 && slices.Contains(ids, s.units[i].ID) {
			return true
		}
	}
	return false
}

// choose chooses the given number of GPUs, and returns their indexes in s.units. If
// enough whole GPUs are in no group, it returns the best-connected of these GPUs.
// Otherwise it returns the GPUs or slices that are in the fewest groups. Of those that are in
// equally many groups, it takes the first.
func (s *supply) choose(count int) []int {
	var free, gpus []int
	for i, unit := range s.units {
		if s.holders[i] == 0 && unit.Form == gpu.Physical {
			free, gpus = append(free, i), append(gpus, unit.GPU)
		}
	}
	if chosen, ok := s.inventory.Choose(gpus, gpu.Wish{Count: count}); ok {
		return slices.DeleteFunc(free, func(i int) bool { return !slices.Contains(chosen, s.units[i].GPU) })
	}
	order := make([]int, len(s.units))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.holders[a], s.holders[b]) })
	return slices.Sorted(slices.Values(order[:count]))
}
