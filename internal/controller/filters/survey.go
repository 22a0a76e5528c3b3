package filters

import (
	fwk "k8s.io/kube-scheduler/framework"
)

// survey prepares the lister for the plugins that rate nodes, in a cluster with a number of nodes.
// The plugins read the list of all nodes several times, and ImageLocality reads it once for each
// node that it rates, so survey makes the list once. For a pod whose preferences do not depend on
// other pods, only the length of the list matters: the plugins that read its elements skip the pod.
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
