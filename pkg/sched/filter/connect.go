package filter

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// team is a range of a pod's cards that are chosen together because one container uses
// them. near are the NUMA nodes with its exclusive CPUs.
type team struct {
	first, count int
	near         []topology.NodeID
}

// teams divides a pod's cards into teams, given the result of nearby. Teams near CPUs come
// first, so that the others do not take the cards near them. Then larger teams come
// first, because they profit most from good connections. Cards that only init
// containers use form a team of their own.
func teams(ask sched.GPURequest, near [][]topology.NodeID) []team {
	edges := make([]bool, ask.Count+1)
	for i, span := range ask.Spans() {
		if ask.PerContainer[i].Kind != podspec.Init {
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

// connected chooses the best-connected cards for each of a pod's containers. With the
// policy single it considers only cards on the NUMA node of the container's CPUs, if
// possible. Among equally connected cards, near ones are preferred (gpu.Inventory.Choose).
func (cs candidates) connected(pod *sched.Pod, node *sched.Node, near [][]topology.NodeID) []sched.GPU {
	v, free := cs.inventory(node)
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

// inventory returns a node's cards in the form of package gpu, and the indexes of those
// that are candidates.
func (cs candidates) inventory(node *sched.Node) (v *gpu.Inventory, free []int) {
	v = &gpu.Inventory{Cards: make([]gpu.Card, len(node.GPUs)), Links: node.Links}
	for i, card := range node.GPUs {
		v.Cards[i].NUMA = card.NUMA
		if slices.ContainsFunc(cs.cards, func(c sched.GPU) bool { return c.ID == card.ID }) {
			free = append(free, i)
		}
	}
	return v, free
}

// choose returns the indexes of the team's cards. free has at least t.count elements.
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
