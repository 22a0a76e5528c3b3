package distbucket

import (
	"slices"
	"testing"
)

// check fails the test if one of the two trees of the index violates an invariant, such as
// the order of entries.
func (x *Index) check(t *testing.T) {
	t.Helper()
	x.flushDelta()
	x.freeze()
	for _, tr := range []*tree{&x.byCoord, &x.byName} {
		var all []*entry
		for r := range tr.size() {
			all = append(all, tr.atRank(r))
		}
		if !slices.IsSortedFunc(all, tr.order) {
			t.Fatal("entries are out of order")
		}
		if !tr.hasMaxima && !slices.IsSortedFunc(all, compareName) {
			t.Fatal("labels are not in the order of names")
		}
		if tr.root != nil {
			tr.checkBelow(t, tr.root, true)
		}
	}
}

// checkBelow fails the test if a page below p, or p itself, violates an invariant of the
// tree. It returns the number of levels of pages from p down to the leaves.
func (tr *tree) checkBelow(t *testing.T, p *page, root bool) int {
	t.Helper()
	if p.n > fanout || !root && p.n < fanout/2 {
		t.Fatalf("%d items in a page", p.n)
	}
	for i := range p.n {
		if tr.hasMaxima && (!p.exactMax.covers(p.items[i].Free) || p.children != nil && !p.exactMax.covers(p.children.pages[i].exactMax[:min(8, len(p.items[i].Free))])) {
			t.Fatalf("item %d of a page exceeds its exactMax", i)
		}
		if p.separators[i] != tr.separatorOf(p.items[i]) {
			t.Fatalf("item %d of a page does not match its separator", i)
		}
	}
	if p.children == nil {
		return 1
	}
	depth := 0
	for i := range p.n {
		below := tr.checkBelow(t, p.children.pages[i], false)
		if i > 0 && below != depth {
			t.Fatalf("leaves %d and %d levels down", depth, below)
		}
		depth = below
		child := p.children.pages[i]
		if child.items[0] != p.items[i] || child.separators[0] != p.separators[i] || int(p.children.size[i]) != child.size() {
			t.Fatalf("item %d of a page is not what is below it", i)
		}
		if tr.hasMaxima {
			p.checkMaxima(t, i)
		}
	}
	return depth + 1
}

// checkMaxima fails the test if the maxima that p stores for child i are wrong.
func (p *page) checkMaxima(t *testing.T, i int) {
	t.Helper()
	child := p.children.pages[i]
	if p.children.maxima[i] != child.maxima() {
		t.Fatalf("maxima of item %d of a page are not those of what is below it", i)
	}
	child.each(func(e *entry) bool {
		if !p.children.maxima[i].covers(&e.code) {
			t.Fatalf("%v is above all maxima", e.Free)
		}
		return true
	})
}

// TestWriterSharesPages checks that an update after a call of View copies few pages: only
// those on the paths from the root to the old place and to the new place of the entry.
func TestWriterSharesPages(t *testing.T) {
	nodes := cluster(10_000, 4, 0.5)
	index := indexOf(t, fine, nodes)
	before := pagesOf(index)
	index.View()
	n := nodes[5000]
	n.Free = nodes[17].Free
	if err := index.Update(n); err != nil {
		t.Fatal(err)
	}
	index.flushDelta()
	fresh := 0
	for p := range pagesOf(index) {
		if !before[p] {
			fresh++
		}
	}
	const ways, depth = 2, 5 // two paths: to the old and to the new place of the entry in the tree by coordinate; each has at most 5 pages
	if fresh == 0 || fresh > ways*depth {
		t.Errorf("%d pages of %d copied, want no more than %d", fresh, len(before), ways*depth)
	}
}

func pagesOf(x *Index) map[*page]bool {
	all := map[*page]bool{}
	var add func(p *page)
	add = func(p *page) {
		all[p] = true
		if p.children != nil {
			for _, child := range p.children.pages[:p.n] {
				add(child)
			}
		}
	}
	for _, t := range []*tree{&x.byCoord, &x.byName} {
		add(t.root)
	}
	return all
}
