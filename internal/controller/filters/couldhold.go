package filters

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// CouldHold reports whether the nodes could hold at least need of the pods if all other pods ended.
// It returns false in three cases: the rules of too many pods admit no node, a single pod requires
// a neighbor that does not exist, or the pods keep apart from each other and their rules admit
// fewer than need nodes. It returns true if this can be known only from a visit to all nodes. It
// takes no lock, and time proportional to the number of pods.
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

// admittedBy returns how many nodes rules admit, or -1 if no node set is cached for these rules.
func (c *Cluster) admittedBy(rules string) int {
	if s, ok := c.sets.nodes.get(rules); ok {
		return int(s.admits.Load())
	}
	return -1
}

// apartOf returns a key for required anti-affinity by which a pod keeps apart from pods like
// itself, at most one on each node. It returns "" if the pod has none. A node has at most one of
// the pods with equal keys.
func apartOf(pod *framework.PodInfo) string {
	for _, t := range pod.RequiredAntiAffinityTerms {
		if t.TopologyKey == v1.LabelHostname && t.Namespaces.Has(pod.Pod.Namespace) && t.Selector.Matches(labels.Set(pod.Pod.Labels)) {
			return text(t)
		}
	}
	return ""
}
