package filters

import (
	"strings"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// neighbors counts the placed pods that match all terms of a pending pod's required pod affinity.
// Pending pods with equal required pod affinity share one value of this type. If the count is 0, no
// node suits the pending pod, unless the pending pod matches the terms itself.
type neighbors struct {
	terms []fwk.AffinityTerm
	count atomic.Int64
}

func (n *neighbors) match(pod *v1.Pod) bool {
	for i := range n.terms {
		if !n.terms[i].Matches(pod, nil) {
			return false
		}
	}
	return true
}

func (n *neighbors) add(_ *v1.Pod, _ string, sign int) { n.count.Add(int64(sign)) }

// topics returns topics such that each pod that matches the terms has at least one of them. The
// comment of the type `counts` says what a topic is.
func (n *neighbors) topics() (all []sched.Topic) {
	for namespace := range n.terms[0].Namespaces {
		all = append(all, labelTopics(namespace, n.terms[0].Selector)...)
	}
	return all
}

// neighborsOf returns a key for the terms of a pod's required pod affinity. Equal terms have
// equal keys. The key is "" if there are no terms. It is also "" if a term selects namespaces by
// label, because the labels of a namespace may change.
func neighborsOf(terms []fwk.AffinityTerm) string {
	var all strings.Builder
	for _, t := range terms {
		if selects(t.NamespaceSelector) {
			return ""
		}
		all.WriteString(text(t))
	}
	return all.String()
}
