package filters

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// CouldHold reports whether the nodes could hold at least need of the pods if all other pods ended.
// It returns false in two cases. First, fewer than need of the pods are left without those whose
// rules (such as the node selector) admit no node, and, unless they belong to a gang, without those
// that require a neighbor that does not exist. Second, each pod needs a node of its own because of
// anti-affinity, and the rules of the pods admit fewer than need nodes. CouldHold returns true in
// all other cases, because it visits no nodes. It takes no lock. Its time is proportional to the
// number of pods.
func (c *Cluster) CouldHold(pods []*sched.Pod, need int) bool {
	first, apart := pods[0].Foreign.(*Pod), true
	refused := 0
	for _, pod := range pods {
		own := pod.Foreign.(*Pod)
		if c.admittedBy(own.rules) == 0 || pod.LacksNeighbor() {
			refused++
		}
		apart = apart && own.apart != "" && own.apart == first.apart && own.rules == first.rules
	}
	nodes := c.admittedBy(first.rules)
	return len(pods)-refused >= need && !(apart && nodes >= 0 && need > nodes)
}

// admittedBy returns how many nodes admit pods with the given rules (a key made by rulesOf), or -1
// if no set of these nodes is cached.
func (c *Cluster) admittedBy(rules string) int {
	if s, ok := c.sets.nodes.get(rules); ok {
		return int(s.admits.Load())
	}
	return -1
}

// apartOf returns a key for the required anti-affinity term by which a pod refuses nodes that
// already have a pod like itself. It returns "" if the pod has no such term. At most one of the
// pods with equal keys can be on a node.
func apartOf(pod *framework.PodInfo) string {
	for _, t := range pod.RequiredAntiAffinityTerms {
		if t.TopologyKey == v1.LabelHostname && t.Namespaces.Has(pod.Pod.Namespace) && t.Selector.Matches(labels.Set(pod.Pod.Labels)) {
			return text(t)
		}
	}
	return ""
}
