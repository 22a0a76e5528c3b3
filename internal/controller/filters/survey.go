package filters

import (
	fwk "k8s.io/kube-scheduler/framework"
)

// survey prepares the lister for the plugins that rate nodes of a cluster of so many. They
// ask for the list of all nodes several times, ImageLocality even once for each node that it
// rates, so it is made once. For a pod whose wishes do not depend on other pods, only its
// length counts: the plugins that read further skip the pod.
func (l *lister) survey(wish wishes, nodes int) {
	if !wish.near {
		l.surveyed = make([]fwk.NodeInfo, nodes)
		return
	}
	l.proposed = l.cluster.proposals.beside(l.pod.info, l.planned.uids)
	if l.surveyed = l.all(); l.surveyed == nil {
		l.surveyed = []fwk.NodeInfo{}
	}
}

func (l *lister) endSurvey() { l.surveyed, l.proposed = nil, nil }
