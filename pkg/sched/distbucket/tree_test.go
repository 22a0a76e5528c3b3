package distbucket

import (
	"slices"
	"testing"
)

// check fails if a tree of x is not as its comment says.
func (x *Index) check(t *testing.T) {
	t.Helper()
	x.settle()
	x.seal()
	for _, tr := range []*tree{&x.byX, &x.byName} {
		var all []*entry
		for r := range tr.size() {
			all = append(all, tr.at(r))
		}
		if !slices.IsSortedFunc(all, tr.order) {
			t.Fatal("entries are out of order")
		}
		if !tr.amounts && !slices.IsSortedFunc(all, byName) {
			t.Fatal("labels are not in the order of names")
		}
		if tr.root != nil {
			tr.checkBelow(t, tr.root, true)
		}
	}
}

// checkBelow returns the depth of b.
func (tr *tree) checkBelow(t *testing.T, b *block, root bool) int {
	t.Helper()
	if b.n > fan || !root && b.n < fan/2 {
		t.Fatalf("%d items in a block", b.n)
	}
	for i := range b.n {
		if tr.amounts && (!b.top.covers(b.items[i].Free) || b.kids != nil && !b.top.covers(b.kids.at[i].top[:min(8, len(b.items[i].Free))])) {
			t.Fatalf("item %d of a block exceeds its top", i)
		}
		if b.briefs[i] != tr.brief(b.items[i]) {
			t.Fatalf("item %d of a block is not what its brief says", i)
		}
	}
	if b.kids == nil {
		return 1
	}
	depth := 0
	for i := range b.n {
		below := tr.checkBelow(t, b.kids.at[i], false)
		if i > 0 && below != depth {
			t.Fatalf("leaves %d and %d levels down", depth, below)
		}
		depth = below
		kid := b.kids.at[i]
		if kid.items[0] != b.items[i] || kid.briefs[0] != b.briefs[i] || int(b.kids.size[i]) != kid.size() {
			t.Fatalf("item %d of a block is not what is below it", i)
		}
		if tr.amounts {
			b.checkPeaks(t, i)
		}
	}
	return depth + 1
}

// checkPeaks fails if the peaks of kid i are not what they should be.
func (b *block) checkPeaks(t *testing.T, i int) {
	t.Helper()
	kid := b.kids.at[i]
	if b.kids.peaks[i] != kid.peaks() {
		t.Fatalf("peaks of item %d of a block are not those of what is below it", i)
	}
	kid.each(func(e *entry) bool {
		if !b.kids.peaks[i].covers(&e.code) {
			t.Fatalf("%v is above all peaks", e.Free)
		}
		return true
	})
}

// TestWriterSharesBlocks checks that a change after a view copies no more than the blocks on the way to it.
func TestWriterSharesBlocks(t *testing.T) {
	nodes := cluster(10_000, 4, 0.5)
	x := indexOf(t, fine, nodes)
	before := blocks(x)
	x.View()
	n := nodes[5000]
	n.Free = nodes[17].Free
	if err := x.Update(n); err != nil {
		t.Fatal(err)
	}
	x.settle()
	fresh := 0
	for b := range blocks(x) {
		if !before[b] {
			fresh++
		}
	}
	const ways, depth = 2, 5 // out of and into the tree by coordinate
	if fresh == 0 || fresh > ways*depth {
		t.Errorf("%d blocks of %d copied, want no more than %d", fresh, len(before), ways*depth)
	}
}

func blocks(x *Index) map[*block]bool {
	all := map[*block]bool{}
	var add func(b *block)
	add = func(b *block) {
		all[b] = true
		if b.kids != nil {
			for _, kid := range b.kids.at[:b.n] {
				add(kid)
			}
		}
	}
	for _, t := range []*tree{&x.byX, &x.byName} {
		add(t.root)
	}
	return all
}
