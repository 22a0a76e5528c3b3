package mirror

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// named returns the cards that a node's agent tells apart; the parts that cards are
// given in are not among them. What is sick is never free.
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

// links returns how the cards that a node's agent tells apart are linked. Rows that
// contradict each other tell nothing.
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

// whole returns what a node's agent says of cards, and not of parts of cards.
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

// unhealthy is what an agent says of a card that must not be given away.
const unhealthy = "Unhealthy"

// nameless returns so many cards that nobody tells apart.
func nameless(model string, n int64) []sched.GPU {
	if n <= 0 {
		return nil
	}
	return slices.Repeat([]sched.GPU{{Type: model, NUMA: topology.Unknown, Free: sched.WholeGPU}}, int(n))
}
