package filters

import (
	fwk "k8s.io/kube-scheduler/framework"
)

// survey returns what List returns in PreScore of the plugins that rate nodes, in a cluster with a
// number of nodes. The plugins read the list several times, so it is made once. For a pod whose
// preferences do not depend on other pods, only its length matters: the plugins that read its
// elements skip the pod. For most other pods, the plugins need only the nodes of a crowd. There is
// no crowd for the default constraints of a profile.
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
