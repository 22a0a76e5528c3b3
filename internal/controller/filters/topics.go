package filters

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// A topic names something that a waiting pod waits for, such as new nodes. Only pods whose field
// Across (sched.Pod) is set have topics: their fit on a node also depends on other pods or other
// nodes, for example because of pod affinity. In addition to the topics below, a pod has topics for
// the labels that its required affinity and spread terms select. The Scope of such a topic is a
// namespace, or "*" if the term selects namespaces by label. The Key and Value of the topic are
// those of the label. They are empty if the term does not require that a label has one of certain
// values.
//
// kube-scheduler's plugins have queueing hints for the same purpose (EventsToRegister). Topics
// replace queueing hints for two reasons. First, hints need to know which plugins refused a pod.
// Numalet does not know this, because it searches nodes by an index of their free resources, which
// skips nodes without running the plugins. Second, hints are called for each unschedulable pod at
// each event, while a topic finds only the pods that the event may concern.
var (
	topicClaims     = sched.Topic{Key: "claims"}     // volumes, devices, and the pods that use them
	topicNamespaces = sched.Topic{Key: "namespaces"} // labels of Namespaces
	topicNodes      = sched.Topic{Key: "nodes"}      // new and removed nodes, and changes of the labels, the taints or spec.unschedulable of a node
)

// everywhere is the Scope of topics for affinity terms that select namespaces by label.
const everywhere = "*"

// topics returns the topics of a pending pod: names of what the pod waits for.
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

// labelTopics returns topics for those pods of a scope that the selector selects. The scope is a
// namespace, or all namespaces (the constant `everywhere`). When such a pod is placed, it is
// announced under at least one of these topics (see appendPlaced). The selector may require that a
// label has one of certain values. labelTopics then returns one topic for each of these values. If
// the selector has several such requirements, labelTopics uses only the first. If the selector has
// none, labelTopics returns one topic for all pods in the scope.
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

// appendPlaced appends the topics of a placed pod to a list of topics. When the placed pod is
// announced (see the type `announcer`), waiting pods that have one of these topics are retried.
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

// concernedBy reports whether a placed pod matters for p's required (anti-)affinity, its required
// spread or its claims. If a term selects namespaces by label, a pod of any namespace may matter.
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
