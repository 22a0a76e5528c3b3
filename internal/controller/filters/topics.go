package filters

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// The topics of pods with sched.Pod.Across. A pod also has a topic for each label that its
// required terms select: Scope is a namespace or everywhere, Key and Value are the label, or
// empty if the term requires no label with a certain value.
//
// kube-scheduler's plugins have hints for the same purpose (EventsToRegister). Hints need to know
// which plugin refused a pod on which node, and an index that skips nodes cannot tell this. They
// are also called for each unschedulable pod at each event. Topics find the few pods that a change
// concerns without a visit to the others.
var (
	topicClaims     = sched.Topic{Key: "claims"}     // volumes, devices, and who uses them
	topicNamespaces = sched.Topic{Key: "namespaces"} // their labels
	topicNodes      = sched.Topic{Key: "nodes"}      // their labels and taints, and which there are
)

// everywhere is the scope of terms that select namespaces by label.
const everywhere = "*"

// topics returns the topics of a pending pod.
func (p *Pod) topics() (all []sched.Topic) {
	if p.wide {
		all = append(all, topicNodes)
	}
	if p.claim {
		all = append(all, topicClaims)
	}
	for t := range p.terms() {
		if selects(t.NamespaceSelector) {
			all = append(append(all, topicNamespaces), labelTopics(everywhere, t.Selector)...)
		}
		for namespace := range t.Namespaces {
			all = append(all, labelTopics(namespace, t.Selector)...)
		}
	}
	for _, selector := range p.spread {
		all = append(all, labelTopics(p.info.Pod.Namespace, selector)...)
	}
	return all
}

// terms yields the pod's required affinity and anti-affinity terms.
func (p *Pod) terms() func(func(*fwk.AffinityTerm) bool) {
	return func(yield func(*fwk.AffinityTerm) bool) {
		for _, terms := range [][]fwk.AffinityTerm{p.info.RequiredAffinityTerms, p.info.RequiredAntiAffinityTerms} {
			for i := range terms {
				if !yield(&terms[i]) {
					return
				}
			}
		}
	}
}

// labelTopics returns topics such that each pod in a scope that a selector selects has one
// of them (placedTopics). It uses the first label whose value must be one of a list.
func labelTopics(scope string, selector labels.Selector) (all []sched.Topic) {
	if !selects(selector) {
		return nil
	}
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			for value := range r.Values() {
				all = append(all, sched.Topic{Scope: scope, Key: r.Key(), Value: value})
			}
			return all
		}
	}
	return []sched.Topic{{Scope: scope}}
}

// appendPlaced appends the topics that a placed pod is announced under.
func appendPlaced(to []sched.Topic, pod *v1.Pod) []sched.Topic {
	for _, scope := range []string{pod.Namespace, everywhere} {
		to = append(to, sched.Topic{Scope: scope})
		for key, value := range pod.Labels {
			to = append(to, sched.Topic{Scope: scope, Key: key, Value: value})
		}
	}
	if rare(pod) || len(pod.Spec.ResourceClaims) > 0 {
		to = append(to, topicClaims)
	}
	return to
}

// concernedBy reports whether a placed pod matters for the pod's required terms or its
// claims. It counts a pod of any namespace if a term selects namespaces by label.
func (p *Pod) concernedBy(placed *framework.PodInfo) bool {
	for t := range p.terms() {
		if selectsPod(*t, placed) {
			return true
		}
	}
	for _, selector := range p.spread {
		if p.info.Pod.Namespace == placed.Pod.Namespace && selector.Matches(labels.Set(placed.Pod.Labels)) {
			return true
		}
	}
	return p.claim && (rare(placed.Pod) || len(placed.Pod.Spec.ResourceClaims) > 0)
}
