package filters

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// changes are the newest changes of placed pods and of nodes, in a ring buffer. A change of a node
// is stored only if the node is new or removed, or if its labels, its taints or its field
// spec.unschedulable have changed. Changes are numbered. The filters of a pod with required pod
// (anti-)affinity or topology spread count pods on many nodes. When a proposer (which lists nodes)
// filters such a pod, it stores the number that the next change will have. This number is called
// the mark. The committer (which decides the node) filters the pod later, and then reads only the
// few changes since this mark. They show on which nodes the pod may no longer fit, so the committer
// need not count pods on many nodes again.
type changes struct {
	mu   sync.RWMutex
	ring [maxChanges]change
	next uint64 // number of the next change
}

// maxChanges is how many changes are kept. At 1,000 Bindings a second, these are the changes of the
// last few seconds. If some changes since a pod was filtered are no longer kept, the pod is
// filtered again.
const maxChanges = 1 << 13

// change is one change: a pod was placed on a node, a pod has left its node, or a node was added,
// removed or changed.
type change struct {
	pod    *framework.PodInfo // nil if the node itself has changed
	gang   string             // ID of the pod's gang
	node   *v1.Node           // node of the pod, or the changed node; nil if it is gone
	placed bool
}

// mark returns the number that the next change will have.
func (c *changes) mark() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.next
}

func (c *changes) add(one change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ring[c.next%maxChanges] = one
	c.next++
}

// The method `since` calls the function given as `visit` for the changes whose number is at least
// `mark`, in order, until the function returns false. The result is false if the function returned
// false, or if some of these changes are no longer kept. The function must not block, because it
// runs under a lock that the placement of pods needs.
func (c *changes) since(mark uint64, visit func(*change) bool) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.next-mark > maxChanges {
		return false
	}
	for ; mark < c.next; mark++ {
		if !visit(&c.ring[mark%maxChanges]) {
			return false
		}
	}
	return true
}
