package group

import (
	"cmp"
	"maps"
	"slices"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/group/pack"
)

// Demand is what one container is expected to need.
type Demand struct {
	Container string // the container's identifier, or ""
	GPUs      int
}

// Estimate is what a tenant expects to need at the same time.
type Estimate struct {
	Form    gpu.Form // Physical, or Virtual, for which slices and GPUs count
	Type    string   // "" for any
	Demands []Demand
}

// Proposal is one group for each demand of an estimate that fits on some node, in the
// order of the demands.
type Proposal struct {
	Groups   []ProposedGroup
	Unplaced []Demand // no node has enough GPUs, even if all are free
	// Outcome is pack.All if no GPU is in two groups, so that all demands fit at the same
	// time; pack.Proven if this is impossible; pack.Unknown if the search was given up. In
	// the last two cases some groups share GPUs.
	Outcome pack.Outcome
}

// ProposedGroup is the group for one demand.
type ProposedGroup struct {
	Demand
	Node  string
	GPUs  []string // UUIDs
	Share bool     // other groups have some of them, too
}

// Propose makes groups of the permitted GPUs, so that all demands fit at the same time in
// any order of arrival: each group is exactly as large as its demand, so the best fit
// (Match.Best) for a container is a group of its size, and there are as many such groups
// as containers. pack.Pack says how good the result is: exact for demands that divide one
// another, such as 1, 2, 4 and 8, and for others unless the search is given up. On a node
// the larger groups choose first and get the best-connected GPUs.
//
// Groups share GPUs only if not all demands fit. Then the largest demands are packed
// first; each remaining one goes to the node with the most GPUs in no group and gets the
// GPUs there that are in the fewest groups. The error is a *GPURefusal.
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

// check returns what is wrong with an estimate, or nil.
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

// Group returns the proposed group.
func (p ProposedGroup) Group(name, tenant string, e Estimate) Group {
	g := Group{Name: name, Tenants: []string{tenant}, Form: e.Form, Type: e.Type, Bindings: []Binding{{p.Node, p.GPUs}}}
	if p.Container != "" {
		g.Containers = []string{p.Container}
	}
	return g
}

// supplies returns the permitted GPUs that suit an estimate, by node name.
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

// supply is the GPUs of one node while they are assigned to groups.
type supply struct {
	node      string
	inventory *gpu.Inventory
	units     []gpu.Unit
	holders   []int // how many groups each GPU is in
}

// handOut assigns GPUs to each demand, the largest first: to packed demands on the node
// where they were packed, then to the others on the roomiest node. A demand that fits on
// no node gets none.
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

// roomiest returns, of the nodes with enough GPUs, the one with the most GPUs in no
// group; nil if no node has enough.
func roomiest(all []*supply, count int) *supply {
	var best *supply
	for _, s := range all {
		if len(s.units) >= count && (best == nil || s.left() > best.left()) {
			best = s
		}
	}
	return best
}

// left counts the GPUs in no group.
func (s *supply) left() (n int) {
	for _, holder := range s.holders {
		if holder == 0 {
			n++
		}
	}
	return n
}

// give assigns GPUs to a group.
func (s *supply) give(count int) ProposedGroup {
	p := ProposedGroup{Node: s.node}
	for _, i := range s.choose(count) {
		p.GPUs = append(p.GPUs, s.units[i].ID)
		s.holders[i]++
	}
	return p
}

// shares reports whether any of the GPUs is in several groups.
func (s *supply) shares(ids []string) bool {
	for i, holder := range s.holders {
		if holder > 1 && slices.Contains(ids, s.units[i].ID) {
			return true
		}
	}
	return false
}

// choose returns the indexes of GPUs in units: the best-connected GPUs in no group, or
// else the GPUs in the fewest groups; ties go to the first.
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
