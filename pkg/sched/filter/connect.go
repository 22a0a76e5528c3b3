package filter

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// team is some of a pod's cards that are to go together: those of one container, from
// the first on, and the NUMA nodes where its exclusive CPUs are.
type team struct {
	first, count int
	near         []topology.NodeID
}

// teams parts a pod's cards, near so: those near CPUs come first, so that the others
// take nothing that is near to them, and then the largest, which has the most to lose.
// What only init containers get is a team of its own.
func teams(ask sched.GPUAsk, near [][]topology.NodeID) []team {
	edges := make([]bool, ask.Count+1)
	for i, span := range ask.Spans() {
		if ask.Wants[i].Kind != podspec.Init {
			edges[min(span.First, ask.Count)], edges[min(span.First+span.Count, ask.Count)] = true, true
		}
	}
	var all []team
	for slot, nodes := range near {
		if last := len(all) - 1; last >= 0 && !edges[slot] && slices.Equal(all[last].near, nodes) {
			all[last].count++
		} else {
			all = append(all, team{slot, 1, nodes})
		}
	}
	slices.SortStableFunc(all, func(a, b team) int {
		return cmp.Or(cmp.Compare(min(len(b.near), 1), min(len(a.near), 1)), cmp.Compare(b.count, a.count))
	})
	return all
}

// connected chooses the best-connected cards for each of a pod's containers: by the
// policy single of those on the NUMA node of its CPUs, otherwise of all, and of
// equally connected ones those near (gpu.Inventory.Choose).
func (h hand) connected(pod *sched.Pod, node *sched.Node, near [][]topology.NodeID) []sched.GPU {
	v, free := h.inventory(node)
	chosen := make([]sched.GPU, pod.GPUs.Count)
	for _, t := range teams(pod.GPUs, near) {
		cards := t.choose(v, free, pod.CPUPolicy)
		for i, card := range cards {
			chosen[t.first+i] = node.GPUs[card]
		}
		free = slices.DeleteFunc(free, func(card int) bool { return slices.Contains(cards, card) })
	}
	return chosen
}

// inventory returns a node's cards as package gpu has them, and which of them are in
// the hand.
func (h hand) inventory(node *sched.Node) (v *gpu.Inventory, free []int) {
	v = &gpu.Inventory{Cards: make([]gpu.Card, len(node.GPUs)), Links: node.Links}
	for i, card := range node.GPUs {
		v.Cards[i].NUMA = card.NUMA
		if slices.ContainsFunc(h.cards, func(c sched.GPU) bool { return c.ID == card.ID }) {
			free = append(free, i)
		}
	}
	return v, free
}

// choose returns the positions of the team's cards. There are enough free.
func (t team) choose(v *gpu.Inventory, free []int, policy podspec.Policy) []int {
	isNear := func(on topology.NodeID) bool { return slices.Contains(t.near, on) }
	if policy == podspec.Single && len(t.near) > 0 {
		if cards, _, err := v.ChooseAligned(free, t.count, isNear); err == nil {
			return cards
		}
	}
	cards, _ := v.Choose(free, gpu.Wish{Count: t.count, Near: func(card int) int {
		if isNear(v.Cards[card].NUMA) {
			return 0
		}
		return 1
	}})
	return cards
}
