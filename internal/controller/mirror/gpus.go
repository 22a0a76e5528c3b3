package mirror

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// named returns the whole cards that a node's agent lists; cards that are given away in
// parts are not among them. An unhealthy card has nothing free.
func named(t *v1alpha1.NodeTopology) (cards []sched.GPU) {
	for _, g := range whole(t) {
		card := sched.GPU{ID: g.ID, Type: cmp.Or(g.Type, gpu.TypeName(g.Model)), NUMA: topology.Unknown, Free: sched.WholeGPU}
		if g.NUMA != nil {
			card.NUMA = topology.NodeID(*g.NUMA)
		}
		if g.Health == unhealthy {
			card.Free = 0
		}
		cards = append(cards, card)
	}
	return cards
}

// links returns the links between the whole cards that a node's agent lists, or nil if
// its rows contradict each other.
func links(t *v1alpha1.NodeTopology) gpu.Links {
	var rows [][]string
	for _, g := range whole(t) {
		rows = append(rows, g.Links)
	}
	table, err := gpu.ReadLinks(rows)
	if err != nil {
		return nil
	}
	return table
}

// whole returns the whole cards that a node's agent lists, without parts of cards.
func whole(t *v1alpha1.NodeTopology) (cards []v1alpha1.GPU) {
	if t == nil {
		return nil
	}
	for _, g := range t.Status.GPUs {
		if g.Form == gpu.Physical.String() {
			cards = append(cards, g)
		}
	}
	return cards
}

// unhealthy is the health of a card that must not be given away.
const unhealthy = "Unhealthy"

// nameless returns n cards without IDs, for a node whose agent lists none.
func nameless(model string, n int64) []sched.GPU {
	if n <= 0 {
		return nil
	}
	return slices.Repeat([]sched.GPU{{Type: model, NUMA: topology.Unknown, Free: sched.WholeGPU}}, int(n))
}
