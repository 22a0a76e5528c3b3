package health

import "github.com/numalet/numalet/pkg/gpu"

// family returns the ids of a card and of its slices.
func (w *Watch) family(card int) []string {
	c := &w.inventory.Cards[card]
	ids := []string{c.UUID}
	for _, s := range c.Slices {
		ids = append(ids, s.UUID)
	}
	return ids
}

// meant returns the ids that an instance of a card names: slices, or the card
// where no slice is named. A slice that nobody knows may be any: the card is
// meant.
func (w *Watch) meant(card int, named Instance) []string {
	c := &w.inventory.Cards[card]
	var ids []string
	for _, s := range c.Slices {
		if named.covers(s.GPUInstance, s.ComputeInstance) {
			ids = append(ids, s.UUID)
		}
	}
	if len(ids) == 0 {
		return []string{c.UUID}
	}
	return ids
}

// change does it, and returns which of a card's family are in another health
// since.
func (w *Watch) change(card int, do func()) []string {
	family := w.family(card)
	before := make([]gpu.Health, len(family))
	for i, id := range family {
		before[i] = w.Health(id)
	}
	do()
	var changed []string
	for i, id := range family {
		if w.Health(id) != before[i] {
			changed = append(changed, id)
		}
	}
	return changed
}
