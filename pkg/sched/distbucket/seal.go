package distbucket

// seal gives up writing blocks in place: what there is belongs to views. Only now is what blocks say of those below made true, once for all
// changes since the last view. O(blocks written).
func (t *tree) seal() {
	if t.root == nil || t.root.owner != t.owner {
		return // nothing has changed
	}
	t.root.sum(t.amounts)
	t.owner = new(owner)
}

// sum makes true what b, which is the writer's, and those below say. Blocks that are not the writer's have not changed.
func (b *block) sum(amounts bool) {
	for i := range b.n {
		if b.kids != nil && b.kids.wrote.has(i) && b.kids.at[i].owner == b.owner {
			b.kids.at[i].sum(amounts)
			b.describe(i)
		}
	}
	if amounts && b.top == nil {
		b.settle()
	}
}

// describe says what is at and below kid i.
func (b *block) describe(i int) {
	kid := b.kids.at[i]
	b.kids.size[i] = int32(kid.size())
	if b.kids.peaks != nil {
		b.kids.peaks[i] = kid.peaks()
	}
	if b.top != nil {
		b.top = b.top.raised(kid.top[:])
	}
}

// size returns the number of entries at and below b.
func (b *block) size() int {
	if b.kids == nil {
		return b.n
	}
	total := 0
	for _, s := range b.kids.size[:b.n] {
		total += int(s)
	}
	return total
}

// peaks returns peaks of the codes at and below b.
func (b *block) peaks() (p peaks) {
	for i := range b.n {
		if b.kids == nil {
			p.add(b.codes[i])
			continue
		}
		for _, c := range b.kids.peaks[i] {
			p.add(c)
		}
	}
	return p
}
