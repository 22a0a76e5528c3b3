package gpu

import (
	"cmp"
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

// WithLost returns the inventory with the cards of an earlier one that it lacks, as they
// were. While a card is lacking the driver can number the others anew, so all known cards
// keep the index of the earlier inventory. O(cards²).
func (v *Inventory) WithLost(earlier *Inventory) *Inventory {
	all := *v
	all.Cards, all.Links = slices.Clone(v.Cards), nil
	for _, c := range earlier.Cards {
		if _, found := v.Find(c.UUID); !found {
			all.Cards = append(all.Cards, c)
		}
	}
	if len(all.Cards) == len(v.Cards) {
		return v
	}
	for i := range all.Cards {
		if at, known := earlier.Find(all.Cards[i].UUID); known {
			all.Cards[i].Index = earlier.Cards[at].Index
		}
	}
	slices.SortStableFunc(all.Cards, func(a, b Card) int { return cmp.Compare(a.Index, b.Index) })
	if v.Links != nil || earlier.Links != nil {
		all.Links = all.linksFrom(v, earlier)
	}
	return &all
}

// linksFrom returns the links between the cards from the first of the inventories that has
// both cards.
func (v *Inventory) linksFrom(sources ...*Inventory) Links {
	table := make(Links, len(v.Cards))
	for a := range v.Cards {
		table[a] = make([]Link, len(v.Cards))
		for b := range v.Cards {
			for _, from := range slices.Backward(sources) {
				i, hasA := from.Find(v.Cards[a].UUID)
				j, hasB := from.Find(v.Cards[b].UUID)
				if hasA && hasB {
					table[a][b] = from.Links.between(i, j)
				}
			}
		}
	}
	return table
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
