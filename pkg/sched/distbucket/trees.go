package distbucket

// trees are the nodes in the orders in which one looks for them.
type trees struct {
	byX    tree // by coordinate, then name: a bucket is a range of it
	byName tree // of entries that have nothing but a name, its label and the seat, where the node's own entry is
}

func newTrees() trees {
	return trees{
		byX:    tree{owner: new(owner), key: keyX, order: byX, labeled: true, amounts: true},
		byName: tree{owner: new(owner), key: keyLabel, order: byLabel},
	}
}

// seal makes the trees what a view may keep.
func (t *trees) seal() {
	t.byX.seal()
	t.byName.seal()
}
