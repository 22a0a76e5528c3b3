package reservation

import (
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/sched"
)

// plan is one offer a node, by name: all that a pod needs, or a gang.
type plan []Offer

// equal reports whether the same is to be held back.
func (p plan) equal(other plan) bool {
	return slices.EqualFunc(p, other, func(a, b Offer) bool { return a.Node == b.Node && a.Holding.Equal(b.Holding) })
}

// idle reports whether nobody has to end.
func (p plan) idle() bool {
	return !slices.ContainsFunc(p, func(o Offer) bool { return !o.Ready.IsZero() || o.Unknown > 0 })
}

// add makes an offer part of the plan.
func (p plan) add(o Offer) plan {
	i, found := slices.BinarySearchFunc(p, o.Node, func(o Offer, name string) int { return strings.Compare(o.Node, name) })
	if !found {
		return slices.Insert(p, i, o)
	}
	p[i].Holding, p[i].Unknown = p[i].Holding.Plus(o.Holding), p[i].Unknown+o.Unknown
	if o.Ready.After(p[i].Ready) {
		p[i].Ready = o.Ready
	}
	return p
}

// site is a node as it will be with those of a gang for whom it is planned already.
type site struct {
	node   *sched.Node
	guests []AssignedPod
	offer  Offer // to the next pod, if that is like the last
}

// look makes an offer to a pod, and reports whether there is one.
func (s *site) look(pod *sched.Pod) (ok bool) {
	s.offer, ok = On(pod, s.node, s.guests)
	return ok
}

// take has the pod on the node, in place of those who were in its way.
func (s *site) take() Offer {
	for _, g := range s.offer.InTheWay {
		s.node = s.node.Return(g.Holding)
		i := slices.IndexFunc(s.guests, func(other AssignedPod) bool { return other.UID == g.UID })
		s.guests = slices.Delete(s.guests, i, i+1)
	}
	s.node = s.node.Take(s.offer.Holding)
	return s.offer
}

// plan returns where a pod fits soonest, or as many of a gang as have to start
// together, one after the other; nothing where too few fit, for a gang that held some
// of what it needs might wait for what another gang holds. It costs O(pods) placements
// to look at all nodes, and for each of a gang O(nodes · log nodes) to choose.
func (k *Keeper) plan(pod *sched.Pod) (planned plan) {
	members, need := pod.Together()
	sites := k.sites(members[0])
	var where []sched.Decision
	for i, member := range members {
		if need == 0 || len(members)-i < need {
			break
		}
		if best := k.best(sites, member, where); best != nil {
			where = append(where, sched.Decision{Pod: member, At: sched.Placement{Node: best.node.Name}})
			planned = planned.add(best.take())
			need--
			if !best.look(member) {
				sites = slices.DeleteFunc(sites, func(s *site) bool { return s == best })
			}
		}
	}
	if need > 0 {
		return nil
	}
	return planned
}

// sites returns the nodes that have an offer to a pod.
func (k *Keeper) sites(pod *sched.Pod) (sites []*site) {
	for node := range k.center.View().Nodes() {
		if s := (&site{node: node, guests: AssignedPods(k.center, node.Name, k.options.Ends)}); s.look(pod) {
			sites = append(sites, s)
		}
	}
	return sites
}

// best returns the node with the best offer to a pod, nil for none, where others of its
// gang are planned. Those of a gang are mostly alike, so that the offers to the one
// before rank the nodes.
func (k *Keeper) best(sites []*site, pod *sched.Pod, planned []sched.Decision) *site {
	suits := k.options.Suits(pod, planned)
	ranked := slices.SortedFunc(slices.Values(sites), func(a, b *site) int { return a.offer.Compare(b.offer) })
	for _, s := range ranked {
		if suits(s.node) && s.look(pod) {
			return s
		}
	}
	return nil
}
