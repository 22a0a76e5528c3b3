package group

import (
	"strconv"

	"github.com/numalet/numalet/pkg/gpu"
)

// Nodes is the GPUs of the nodes, by the nodes' names.
type Nodes map[string]*gpu.Inventory

// Right decides whether somebody may use a GPU, given by its UUID. nil allows
// all.
type Right func(node, id string) bool

func (r Right) allows(node, id string) bool { return r == nil || r(node, id) }

// For returns the GPUs that somebody may use, which are those to be shown: nodes
// without any are left out. Cards go with all of their slices.
func (n Nodes) For(may Right) Nodes {
	shown := Nodes{}
	for name, v := range n {
		var cards []int
		for i := range v.Cards {
			if may.allows(name, v.Cards[i].UUID) {
				cards = append(cards, i)
			}
		}
		if len(cards) > 0 {
			shown[name] = v.Only(cards)
		}
	}
	return shown
}

// units returns what a name in a binding stands for: one card or slice, all
// slices of a card, or nothing where the node has no such GPU.
func units(v *gpu.Inventory, name string) []gpu.Unit {
	card, found := v.Find(name)
	if !found {
		if card, found = byIndex(v, name); !found {
			return nil
		}
		name = v.Cards[card].UUID
	}
	whole := v.Cards[card].UUID == name
	var named []gpu.Unit
	for _, u := range v.Units() {
		if u.ID == name || whole && u.Card == card {
			named = append(named, u)
		}
	}
	return named
}

func byIndex(v *gpu.Inventory, name string) (card int, found bool) {
	index, err := strconv.Atoi(name)
	for i := range v.Cards {
		if err == nil && v.Cards[i].Index == index {
			return i, true
		}
	}
	return 0, false
}
