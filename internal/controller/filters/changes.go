package filters

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// changes are the newest changes of placed pods and of the nodes' labels and taints. A pod whose
// filters read all nodes was checked at a certain change (its mark). The changes since then are
// few. They show whether the pod still fits, without another visit to all nodes.
type changes struct {
	mu   sync.RWMutex
	ring [maxChanges]change
	next uint64 // mark of the next change
}

// maxChanges is how many changes are kept. At 1,000 bindings a second they span several seconds. A
// pod that was checked before the oldest of them is checked again.
const maxChanges = 1 << 13

// change is a pod that was placed or has left its node, or a node that has changed.
type change struct {
	pod    *framework.PodInfo // nil if the node itself has changed
	gang   string             // the gang's ID of a placed pod
	node   *v1.Node           // nil if it is not known
	placed bool
}

// mark returns the mark of the next change.
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

// since calls visit for each change from a mark on, until visit returns false. It returns false if
// visit did, or if some of the changes are no longer kept. visit must not block, because the
// placement of pods waits for it.
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
