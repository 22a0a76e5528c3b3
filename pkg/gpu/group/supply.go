package group

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/group/pack"
)

// supply is one node's GPUs, while they are handed out to groups.
type supply struct {
	node      string
	inventory *gpu.Inventory
	units     []gpu.Unit
	holders   []int // how many groups have each
}

// handOut gives each demand GPUs of the node where it was packed, and then those
// packed nowhere what there is, both the largest first. A demand for which no
// node has enough gets no node.
func handOut(all []*supply, sizes, bin []int) []Proposed {
	given := make([]Proposed, len(sizes))
	order := pack.LargestFirst(sizes)
	for _, d := range order {
		if bin[d] != pack.Nowhere {
			given[d] = all[bin[d]].give(sizes[d])
		}
	}
	for _, d := range order {
		if bin[d] != pack.Nowhere {
			continue
		}
		if s := roomiest(all, sizes[d]); s != nil {
			given[d] = s.give(sizes[d])
		}
	}
	for i := range given {
		for _, s := range all {
			given[i].Share = given[i].Share || s.node == given[i].Node && s.shares(given[i].GPUs)
		}
	}
	return given
}

// roomiest returns, of the nodes with enough GPUs, the one with the most that no
// group has yet; nil without any.
func roomiest(all []*supply, count int) *supply {
	var best *supply
	for _, s := range all {
		if len(s.units) >= count && (best == nil || s.left() > best.left()) {
			best = s
		}
	}
	return best
}

// left counts the GPUs that no group has yet.
func (s *supply) left() (n int) {
	for _, h := range s.holders {
		if h == 0 {
			n++
		}
	}
	return n
}

// give hands GPUs to a group: those that the fewest groups have.
func (s *supply) give(count int) Proposed {
	p := Proposed{Node: s.node}
	for _, i := range s.choose(count) {
		p.GPUs = append(p.GPUs, s.units[i].ID)
		s.holders[i]++
	}
	return p
}

// shares reports whether any of the GPUs is in several groups.
func (s *supply) shares(ids []string) bool {
	for i, h := range s.holders {
		if h > 1 && slices.Contains(ids, s.units[i].ID) {
			return true
		}
	}
	return false
}

// choose returns the places of GPUs in units: the best-connected cards of those
// that no group has, or else the GPUs that the fewest groups have, first come
// first.
func (s *supply) choose(count int) []int {
	var free, cards []int
	for i, u := range s.units {
		if s.holders[i] == 0 && u.Form == gpu.Physical {
			free, cards = append(free, i), append(cards, u.Card)
		}
	}
	if chosen, ok := s.inventory.Choose(cards, gpu.Wish{Count: count}); ok {
		return slices.DeleteFunc(free, func(i int) bool { return !slices.Contains(chosen, s.units[i].Card) })
	}
	order := make([]int, len(s.units))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.holders[a], s.holders[b]) })
	return slices.Sorted(slices.Values(order[:count]))
}
