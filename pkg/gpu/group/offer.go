package group

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// Offer is the GPUs that a container may choose from, all on one node.
type Offer struct {
	Node  string
	Group string           // "" for the GPUs in no group
	GPUs  []sched.GPUShare // free and suiting, in the node's order; at least as many as asked for
	Over  int              // how many more than asked for
}

// On returns what a node has to offer now: of several groups, the one with the
// fewest free GPUs there that are enough, and of equals the first by name. What
// others have reserved is to be off the record (sched.Node.For). O(GPUs · groups).
func (m Match) On(node *sched.Node) (Offer, bool) {
	best, found := Offer{}, false
	for _, group := range m.sources() {
		gpus := m.free(node, group)
		if len(gpus) < m.ask.Count || found && len(gpus) >= len(best.GPUs) {
			continue
		}
		best, found = Offer{Node: node.Name, Group: m.name(group), GPUs: gpus, Over: len(gpus) - m.ask.Count}, true
	}
	return best, found
}

// Best returns the offer with the least over of all nodes; of equals the first
// group by name, then the first node as given. The error is a *Refusal.
func (m Match) Best(nodes []*sched.Node) (Offer, error) {
	var best *Offer
	for _, n := range nodes {
		if o, ok := m.On(n); ok && (best == nil || o.compare(*best) < 0) {
			best = &o
		}
	}
	if best == nil {
		return Offer{}, m.refuse(nodes)
	}
	return *best, nil
}

func (o Offer) compare(other Offer) int {
	return cmp.Or(cmp.Compare(o.Over, other.Over), cmp.Compare(o.Group, other.Group))
}

// noGroup stands for the GPUs that are in no group.
const noGroup = -1

func (m Match) sources() []int {
	if len(m.groups) == 0 {
		return []int{noGroup}
	}
	return m.groups
}

func (m Match) name(group int) string {
	if group == noGroup {
		return ""
	}
	return m.grouping.groups[group].Name
}

// free returns the GPUs of a group on a node that suit and have enough free.
func (m Match) free(node *sched.Node, group int) []sched.GPUShare {
	var gpus []sched.GPUShare
	for _, g := range node.GPUs {
		if amount, suits := m.suits(node.Name, g, group); suits && g.Free >= amount {
			gpus = append(gpus, sched.GPUShare{ID: g.ID, Milli: amount})
		}
	}
	return gpus
}

// suits reports whether a GPU is a group's and suits the ask, whatever is free,
// and how much of it is needed.
func (m Match) suits(node string, g sched.GPU, group int) (sched.MilliGPU, bool) {
	u := m.grouping.unit(node, g.ID)
	if group == noGroup && len(u.groups) > 0 || group != noGroup && !slices.Contains(u.groups, group) {
		return 0, false
	}
	return m.ask.amount(u.form, g.Type)
}

// refuse says why no node has an offer.
func (m Match) refuse(nodes []*sched.Node) *Refusal {
	most, has, where := 0, 0, ""
	for _, n := range nodes {
		for _, group := range m.sources() {
			if free := len(m.free(n, group)); free > most {
				most, where = free, n.Name
			}
			has = max(has, m.suiting(n, group))
		}
	}
	switch {
	case has < m.ask.Count:
		return refuse(NeverEnough, "the container asks for %s, but %s on any one node: ask for fewer, or bind more GPUs of one node",
			m.ask, m.have(has))
	case most == 0:
		return refuse(TooFewGPUs, "the container asks for %s, but none of %s is free: wait until others end", m.ask, m)
	}
	return refuse(TooFewGPUs, "the container asks for %s, but at most %d of %s are free on one node, %s: ask for fewer, or wait until others end",
		m.ask, most, m, where)
}

// have says how many GPUs the best of the nodes has.
func (m Match) have(most int) string {
	if most == 0 {
		return fmt.Sprintf("there is none of %s", m)
	}
	return fmt.Sprintf("there are at most %d of %s", most, m)
}

// suiting counts the GPUs of a group on a node that suit, whatever is free.
func (m Match) suiting(node *sched.Node, group int) (n int) {
	for _, g := range node.GPUs {
		if _, suits := m.suits(node.Name, g, group); suits {
			n++
		}
	}
	return n
}
