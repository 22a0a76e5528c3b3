package filters

import (
	fwk "k8s.io/kube-scheduler/framework"
)

// survey returns what lister.List returns while the rating plugins run PreScore. The plugins read
// this list several times, so it is made once. If the preferences of the pod do not depend on other
// pods, the plugins read only the length of the list. For most other pods, they need only the nodes
// of a crowd. If the default spread constraints of the profile apply, there is no crowd, and the
// list has all nodes.
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
