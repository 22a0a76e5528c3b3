package gpu

import (
	"fmt"
	"slices"
)

// Inventory is a node's GPUs. It is immutable. The zero value is that of a node
// without GPUs or without a driver.
type Inventory struct {
	Driver string // version, such as "570.86.15"
	CUDA   string // the newest version that the driver supports, such as "12.8"
	Cards  []Card // by index
	Links  Links  // between Cards, by index; nil if unknown
}

// Check returns an error if an inventory is inconsistent: an ID is missing or not
// unique, or Links is not a symmetric table of all cards.
func (v *Inventory) Check() error {
	seen := map[string]bool{}
	for i := range v.Cards {
		for _, id := range v.Cards[i].ids() {
			if id == "" || seen[id] {
				return fmt.Errorf("check card %d: UUID %q is empty or not unique", v.Cards[i].Index, id)
			}
			seen[id] = true
		}
	}
	if v.Links == nil {
		return nil
	}
	return v.Links.check(len(v.Cards))
}

// Find returns the index of the card with an ID, which is the card's own UUID or
// that of one of its slices. O(cards · slices).
func (v *Inventory) Find(id string) (position int, found bool) {
	for i := range v.Cards {
		for _, own := range v.Cards[i].ids() {
			if own == id {
				return i, true
			}
		}
	}
	return 0, false
}

// WithHealth returns the inventory with the health of each card and slice replaced
// by the result of of, which gets the previous one.
func (v *Inventory) WithHealth(of func(id string, was Health) Health) *Inventory {
	next := *v
	next.Cards = slices.Clone(v.Cards)
	for i := range next.Cards {
		c := &next.Cards[i]
		c.Health = of(c.UUID, c.Health)
		c.Slices = slices.Clone(c.Slices)
		for j := range c.Slices {
			s := &c.Slices[j]
			s.Health = of(s.UUID, s.Health)
		}
	}
	return &next
}

// Only returns an inventory of some of the cards, by index, in that order.
func (v *Inventory) Only(cards []int) *Inventory {
	only := &Inventory{Driver: v.Driver, CUDA: v.CUDA}
	for _, a := range cards {
		only.Cards = append(only.Cards, v.Cards[a])
		if v.Links == nil {
			continue
		}
		row := make([]Link, 0, len(cards))
		for _, b := range cards {
			row = append(row, v.Links[a][b])
		}
		only.Links = append(only.Links, row)
	}
	return only
}
