package filters

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/sched"
)

// count counts the placed pods that meet a condition, for example those that match an affinity
// term.
type count interface {
	comparable
	// match reports whether a placed pod meets the condition.
	match(pod *v1.Pod) bool
	// topics returns a list of topics (see the type `counts`). Each pod that meets the condition has
	// at least one of them.
	topics() []sched.Topic
	// add adds (sign 1) or removes (sign -1) a pod that meets the condition.
	add(pod *v1.Pod, node string, sign int)
}

// counts has values of the type `count`, by key. They are also indexed by topic, so that a placed pod
// is compared only with the counts that it may change. A topic is a name for some of the placed
// pods, such as those with a certain label.
type counts[T count] struct {
	kept[T]
	byTopic map[sched.Topic][]T
}

// find returns the count for a key. If there is no count for the key, the method makes one, and
// counts the pods that are placed now.
func (k *counts[T]) find(c *Cluster, key string, make func() T) T {
	return k.kept.find(&c.sets, key, func() T {
		if k.len == 0 { // this is the first count, or all counts were dropped (see the type `tracked`)
			k.byTopic = map[sched.Topic][]T{}
		}
		made := make()
		for e := range c.state.Entries() {
			for _, placed := range infoOf(e).Pods {
				if pod := placed.GetPod(); made.match(pod) {
					made.add(pod, e.Name(), 1)
				}
			}
		}
		for _, topic := range made.topics() {
			if !slices.Contains(k.byTopic[topic], made) {
				k.byTopic[topic] = append(k.byTopic[topic], made)
			}
		}
		return made
	})
}

// countPod adds (sign 1) a placed pod to all counts whose condition the pod meets, or removes (sign
// -1) it from them. The parameter `topics` has the topics of the pod. The caller holds the lock of
// the type `tracked`, which has all counts of a Cluster.
func (k *counts[T]) countPod(topics []sched.Topic, pod *v1.Pod, node string, sign int) {
	var done []T
	for _, topic := range topics {
		for _, one := range k.byTopic[topic] {
			if !slices.Contains(done, one) && one.match(pod) {
				one.add(pod, node, sign)
				done = append(done, one)
			}
		}
	}
}
