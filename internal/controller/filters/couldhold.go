package filters

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// CouldHold reports whether the nodes could hold enough of the given pods if all other pods ended.
// Enough means at least `need` pods. CouldHold returns false in two cases. First, so many of the
// pods fit nowhere that fewer than `need` pods are left. A pod fits nowhere if its rules (such as
// its node selector) admit no node. A pod without a gang also fits nowhere if no pod on any node
// matches its required pod affinity. (For a pod of a gang, another pod of the gang may match.)
// Second, each pod needs a node of its own because of anti-affinity, and the rules of the pods do
// not admit enough nodes. In all other cases, CouldHold returns true, even if the nodes are too
// small, because it does not compare amounts of resources. It reads only cached sets of nodes:
// rules for which no set is cached count as admitting enough nodes. CouldHold takes no lock. Its
// time is proportional to the number of pods.
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
