package bucket

// trees are the nodes in the orders in which one looks for them.
type trees struct {
	byX    tree // by coordinate, then name: a bucket is a range of it
	byName tree // the entry that each node had first

	named uint64 // of the log's updates: since then no label has stood for another name than before
}

func newTrees() trees {
	return trees{
		byX:    tree{owner: new(owner), key: keyX, order: byX, amounts: true},
		byName: tree{owner: new(owner), key: keyLabel, order: byLabel},
	}
}

// seal makes the trees what a view may keep.
func (t *trees) seal() {
	t.byX.seal()
	t.byName.seal()
}

// update enters updates.
func (t *tree) update(updates recent) {
	for _, u := range updates {
		t.replace(u.old, u.now)
	}
}
