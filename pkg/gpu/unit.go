package gpu

// Unit is what is given away by itself: a card, or a slice of a card in MIG mode.
type Unit struct {
	ID          string // UUID
	Card        int    // its card's position
	Form        Form
	Type        string
	MemoryBytes uint64
	Health      Health // a slice is never better off than its card
}

// Units returns what the node has to give, card by card. A card in MIG mode is
// not among them, only its slices are, so that whole and part of one card are
// never both to be had.
func (v *Inventory) Units() []Unit {
	var units []Unit
	for i := range v.Cards {
		c := &v.Cards[i]
		if !c.MIG {
			units = append(units, Unit{c.UUID, i, Physical, TypeName(c.Model), c.MemoryBytes, c.Health})
			continue
		}
		for _, s := range c.Slices {
			units = append(units, Unit{
				s.UUID, i, Virtual, SliceTypeName(c.Model, s.Profile), s.MemoryBytes, worse(s.Health, c.Health),
			})
		}
	}
	return units
}
