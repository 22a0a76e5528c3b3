package filters

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// CouldHold reports whether nodes might hold need of these pods if all other pods ended. They cannot if
// the rules of the pods admit no node, if a single pod lacks a neighbor, or if pods that keep apart
// from each other are more than the nodes that their rules admit. It is true if this is not known
// without a visit to all nodes. It takes no lock, and O(pods) time.
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

// admittedBy returns how many nodes rules admit, or -1 if they have no set.
func (c *Cluster) admittedBy(rules string) int {
	if s, ok := c.sets.nodes.get(rules); ok {
		return int(s.admits.Load())
	}
	return -1
}

// apartOf returns the required anti-affinity of a pod that selects the pod itself and counts per node,
// as a text, or "". Of pods with equal texts, a node has at most one.
func apartOf(pod *framework.PodInfo) string {
	for _, t := range pod.RequiredAntiAffinityTerms {
		if t.TopologyKey == v1.LabelHostname && t.Namespaces.Has(pod.Pod.Namespace) && t.Selector.Matches(labels.Set(pod.Pod.Labels)) {
			return text(t)
		}
	}
	return ""
}
