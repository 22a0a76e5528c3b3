package distbucket

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// naive is the simplest implementation of an index: a map of nodes, which each search
// filters and sorts. The tests compare Index with it.
type naive struct {
	space space
	nodes map[string]Node
}

// fitting returns the names of the nodes that fit a query, best first by the query's
// policy.
func (n naive) fitting(query Query) []string {
	var names []string
	for _, name := range n.names(query) {
		if n.nodes[name].Free.Covers(query.Request) && (query.Accept == nil || query.Accept(&Node{Name: name})) {
			names = append(names, name)
		}
	}
	return names
}

// leaves returns the coordinates (rounded free amounts) of the leaf buckets that
// View.Leaves has to yield for LeastFit and BestFit. A leaf bucket is all nodes with
// equal coordinates.
func (n naive) leaves(query Query) [][]int64 {
	want := n.space.coordinate(query.Request)
	var leaves [][]int64
	for _, name := range n.names(query) {
		x := n.space.coordinate(n.nodes[name].Free)
		below := false
		for l := range x {
			below = below || x[l] < want[l]
		}
		if !below && (len(leaves) == 0 || !slices.Equal(leaves[len(leaves)-1], x)) {
			leaves = append(leaves, x)
		}
	}
	return leaves
}

// names returns the names of all nodes that the query allows, in the order of the
// query's policy.
func (n naive) names(query Query) []string {
	names := slices.Collect(maps.Keys(n.nodes))
	names = slices.DeleteFunc(names, func(name string) bool {
		return query.Candidates != nil && !slices.Contains(query.Candidates, name)
	})
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(n.compare(query.Policy, a, b), cmp.Compare(lap(query, a), lap(query, b)), strings.Compare(a, b))
	})
	return names
}

// lap returns 0 for names greater than the name at which the search starts (query.After),
// and 1 for other names, which come later. For the policy FirstFit, it returns 0 for all
// names.
func lap(query Query, name string) int {
	if query.Policy == FirstFit || name > query.After.name {
		return 0
	}
	return 1
}

func (n naive) compare(p Policy, a, b string) int {
	xa, xb := n.space.coordinate(n.nodes[a].Free), n.space.coordinate(n.nodes[b].Free)
	switch p {
	case LeastFit:
		return slices.Compare(xb, xa)
	case BestFit:
		return slices.Compare(xa, xb)
	default:
		return 0
	}
}

func (n naive) copy() naive { return naive{space: n.space, nodes: maps.Clone(n.nodes)} }
