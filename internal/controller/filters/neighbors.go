package filters

import (
	"strings"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// neighbors counts the placed pods that match all terms of some required pod affinity. If there is
// no such pod, no node satisfies the affinity. The exception is a pending pod that matches the
// terms itself.
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

// topics returns a list of topics. Each pod that matches the terms has at least one of them.
func (n *neighbors) topics() (all []sched.Topic) {
	for namespace := range n.terms[0].Namespaces {
		all = append(all, labelTopics(namespace, n.terms[0].Selector)...)
	}
	return all
}

// neighborsOf returns a key that is equal for equal required pod affinity. The key is "" if there
// is none, and if a term selects namespaces by label, because these labels may change.
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
