package filters

import (
	fwk "k8s.io/kube-scheduler/framework"
)

// survey returns the list of nodes that lister.List returns while the rating plugins run PreScore
// for the current pod. The plugins read this list several times, so survey makes it once. There are
// three cases. If the preferences of the pod do not depend on other pods, the plugins read only the
// length of the list, so its elements are nil. If the pod's field `crowd` is not empty, Numalet
// caches which placed pods the preferences select (see the type `crowd`). The list then has only the
// nodes that the method `crowded` returns, which are mostly nodes with such pods. Otherwise the list
// has all nodes, for example if the profile's default spread constraints apply.
func (p *Proposer) survey(candidates []fwk.NodeInfo) []fwk.NodeInfo {
	l, defaults := p.lister, p.instance.wishes.near && len(p.lister.pod.info.Pod.Spec.TopologySpreadConstraints) == 0
	switch {
	case !p.wish.near:
		return make([]fwk.NodeInfo, p.nodes)
	case l.pod.crowd != "" && !defaults && len(candidates) > 0:
		return l.crowded(candidates)
	}
	return append([]fwk.NodeInfo{}, l.all()...)
}

func (l *lister) endSurvey() { l.surveyed, l.proposed = nil, nil }
