package bucket

// trees are the nodes in the orders in which one looks for them.
type trees struct {
	byX    tree // by coordinate, then name: a bucket is a range of it
	byZ    tree // by neighbourhood in all dimensions at once
	byName tree // of entries that may be out of date, but for where their node is in byZ: so most changes need not touch it
}

func newTrees() trees {
	t := trees{
		byX:    tree{key: keyX, order: byX},
		byZ:    tree{key: keyZ, order: byZ},
		byName: tree{key: keyless, order: byName},
	}
	t.disown()
	return t
}

// disown gives up writing blocks in place: what there is belongs to views.
func (t *trees) disown() {
	o := new(owner)
	t.byX.owner, t.byZ.owner, t.byName.owner = o, o, o
}

// update enters updates.
func (t *trees) update(updates recent) {
	for _, u := range updates {
		if u.now.home != u.old.home {
			t.byName.put(u.now)
		}
		t.byX.replace(u.old, u.now)
		t.byZ.replace(u.old, u.now)
	}
}
