package filters

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// A value of the type `still` records the nodes on which a pod may no longer fit, because of
// changes since a proposer (which lists nodes for a pod) filtered the pod. The pod has required pod
// (anti-)affinity or topology spread, so its filters count pods on many nodes. With this record,
// the committer (which decides the node) need not count them again. The committer may refuse a node
// on which the pod still fits. The pod is then scheduled again, which costs only time.
//
//	change                         requirement of the pod   nodes on which it may no longer fit
//	another pod is placed          not near the other pod   nodes in the same domain
//	                               even spread              nodes in the same domain
//	                               near the other pod       nodes in other domains, if the pod matches its own affinity
//	another pod has left           near the other pod       any node
//	                               even spread              nodes in other domains
//	a node is new, is removed,     any of these             any node
//	or has changed (sameForRules)
//
// The same domain is the topology domain of the other pod's node. The first row also applies if the
// anti-affinity of the other pod excludes the pod. The third row is about a pod that matches its
// own required affinity. The affinity of such a pod admits any node as long as no other pod
// matches. Once a matching pod is placed, the pod must be near it.
type still struct {
	pod     *Pod
	gang    string // ID of the pod's gang; changes by pods of this gang are ignored, because the gang was planned as a whole
	space   labels.Set
	refused []domain
	only    []domain
}

// domain is a topology domain: the nodes whose label with the given key has the given value.
type domain struct{ key, value string }

// domainOf returns the domain of a node for a topology key. It returns false if the node is gone or
// has no such label.
func domainOf(node *v1.Node, key string) (domain, bool) {
	if node == nil {
		return domain{}, false
	}
	value, ok := node.Labels[key]
	return domain{key, value}, ok
}

// stillFits reads all changes whose number is at least `mark` (see the type `changes`). It returns
// a value of the type `still`, with the nodes on which the pod may no longer fit because of these
// changes. It returns false if the pod may no longer fit, whichever node was chosen for it, or if
// some of these changes are no longer kept.
func (l *lister) stillFits(pod *sched.Pod, mark uint64) (still, bool) {
	s := still{pod: pod.Foreign.(*Pod), space: l.namespace()}
	if pod.Gang != nil {
		s.gang = pod.Gang.ID
	}
	return s, l.cluster.changes.since(mark, s.see)
}

// see applies one change to s. It returns false if, because of the change, the pod may no longer
// fit, whichever node was chosen for it.
func (s *still) see(c *change) bool {
	switch {
	case c.pod == nil:
		return false
	case c.gang != "" && c.gang == s.gang:
		return true
	case c.placed:
		s.seePlaced(c)
		return true
	}
	return s.seeLeft(c)
}

func (s *still) seePlaced(c *change) {
	for _, t := range s.pod.info.RequiredAntiAffinityTerms {
		if selectsPod(t, c.pod) {
			s.refused = with(s.refused, c.node, t.TopologyKey)
		}
	}
	for _, t := range c.pod.RequiredAntiAffinityTerms {
		if t.Matches(s.pod.info.Pod, s.space) {
			s.refused = with(s.refused, c.node, t.TopologyKey)
		}
	}
	for key := range s.spreads(c.pod) {
		s.refused = with(s.refused, c.node, key)
	}
	if s.pod.alone && s.near(c.pod) {
		for _, t := range s.pod.info.RequiredAffinityTerms {
			s.only = with(s.only, c.node, t.TopologyKey)
		}
	}
}

func (s *still) seeLeft(c *change) bool {
	for key := range s.spreads(c.pod) {
		s.only = with(s.only, c.node, key)
	}
	return !s.near(c.pod)
}

// The method `near` reports whether a term of the required affinity of s.pod selects the given pod.
func (s *still) near(other *framework.PodInfo) bool {
	return slices.ContainsFunc(s.pod.info.RequiredAffinityTerms, func(t fwk.AffinityTerm) bool { return selectsPod(t, other) })
}

// spreads yields the topology key of each required spread constraint of s.pod that counts the given
// pod.
func (s *still) spreads(other *framework.PodInfo) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i, selector := range s.pod.spread {
			counts := s.pod.info.Pod.Namespace == other.Pod.Namespace && selector.Matches(labels.Set(other.Pod.Labels))
			if counts && !yield(s.pod.spreadKeys[i]) {
				return
			}
		}
	}
}

// The method `on` reports whether the pod still fits on a node after the changes that s has seen.
// The caller knows that the pod fitted on the node before these changes.
func (s *still) on(node *v1.Node) bool {
	in := func(d domain) bool {
		own, ok := domainOf(node, d.key)
		return ok && own == d
	}
	return !slices.ContainsFunc(s.refused, in) && !slices.ContainsFunc(s.only, func(d domain) bool { return !in(d) })
}

// The function `with` adds the domain of a node to a list, unless the list already has it.
func with(all []domain, node *v1.Node, key string) []domain {
	if d, ok := domainOf(node, key); ok && !slices.Contains(all, d) {
		return append(all, d)
	}
	return all
}

// selectsPod reports whether an affinity term may select a pod. If the term selects namespaces by
// label, selectsPod accepts a pod of any namespace.
func selectsPod(t fwk.AffinityTerm, pod *framework.PodInfo) bool {
	return (t.Namespaces.Has(pod.Pod.Namespace) || selects(t.NamespaceSelector)) && t.Selector.Matches(labels.Set(pod.Pod.Labels))
}
