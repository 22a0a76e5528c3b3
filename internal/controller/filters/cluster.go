package filters

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// Cluster is what kube-scheduler's filters look at: nodes and the pods on them.
// All instances share it; any goroutine may use it.
//
// Invariants: a node's info never changes but is replaced; a pod is on the node where
// it is bound, for good, and else on one at most; what is told here is told to the node
// information centre afterwards, so that a node's info is never older than its record
// of the same moment, and an unchanged record proves that what was checked with it
// still holds.
//
// A change costs O(pods of one node), a reading of one node O(1), and only a pod
// whose filters read all nodes pays for a list of them. A snapshot of everything
// for each cycle, as kube-scheduler takes it, was rejected: beside a centre
// whose records are always the newest it would be the older of the two.
type Cluster struct {
	sites sync.Map // name → *site; read without the lock, written under it
	terms *terms

	mu struct {
		sync.Mutex
		decided map[types.UID]stay // the pods that are decided to go somewhere, and not known to be bound
		claims  map[string]int     // pods that use a volume claim, by "namespace/name"
	}
}

// stay is where a pod is.
type stay struct {
	site *site
	pod  *framework.PodInfo
}

// NewCluster returns a cluster without nodes.
func NewCluster() *Cluster {
	c := &Cluster{terms: newTerms()}
	c.mu.decided, c.mu.claims = map[types.UID]stay{}, map[string]int{}
	return c
}

// SetNode enters a node, and reports whether it is new or differs in what
// filters look at: most of what a kubelet reports does not.
func (c *Cluster) SetNode(node *v1.Node) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.site(node.Name)
	if before := s.newest().known(); before != nil && same(before.Node(), node) {
		return false
	}
	c.enter(withNode(s.newest(), node))
	return true
}

// same reports whether filters see no difference.
func same(a, b *v1.Node) bool {
	equal := equality.Semantic.DeepEqual
	return equal(a.Labels, b.Labels) && equal(a.Annotations, b.Annotations) && equal(a.Spec, b.Spec) &&
		equal(a.Status.Allocatable, b.Status.Allocatable) && equal(a.Status.DeclaredFeatures, b.Status.DeclaredFeatures)
}

// RemoveNode forgets a node. Its pods are remembered until they are removed, in
// case it comes back.
func (c *Cluster) RemoveNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enter(withNode(c.site(name).newest(), nil))
}

// SetPod enters a pod that is bound and has not ended, or what changed of it.
// The error says which of its terms cannot be read: they do not count.
func (c *Cluster) SetPod(pod *v1.Pod) error {
	if c.confirm(pod) {
		return nil
	}
	info, err := podInfo(pod)
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.site(pod.Spec.NodeName)
	c.replace(s, pod.UID, info)
	if d, ok := c.mu.decided[pod.UID]; ok && d.site != s {
		c.leave(d)
	}
	delete(c.mu.decided, pod.UID)
	return err
}

// confirm enters a pod that was decided to go where it is bound now, and reports
// whether it was: what was read of its spec stands, for binding changes no more of
// it than the node's name, and that alone is not counted as a change.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/pod/strategy.go, updatePodGeneration.
func (c *Cluster) confirm(pod *v1.Pod) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, ok := c.mu.decided[pod.UID]
	if !ok || d.site.name != pod.Spec.NodeName || pod.Generation == 0 || d.pod.Pod.Generation != pod.Generation ||
		rare(pod) || rare(d.pod.Pod) {
		return false
	}
	info := *d.pod
	info.Pod = pod
	delete(c.mu.decided, pod.UID)
	c.replace(d.site, pod.UID, &info)
	return true
}

// RemovePod forgets a pod that has ended or is gone, as it was last seen.
func (c *Cluster) RemovePod(pod *v1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d, ok := c.mu.decided[pod.UID]; ok {
		c.leave(d)
	}
	if s := c.named(pod.Spec.NodeName); s != nil {
		c.replace(s, pod.UID, nil)
	}
}

// assume enters a pod that is decided to go to a node.
func (c *Cluster) assume(pod *framework.PodInfo, node *sched.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d, ok := c.mu.decided[pod.Pod.UID]; ok {
		c.leave(d)
	}
	to := c.noted(node)
	if to == nil {
		to = c.site(node.Name).newest()
	}
	c.mu.decided[pod.Pod.UID] = stay{to.site, pod}
	c.note(to.site, pod, 1)
	c.enter(withPod(to, pod))
}

// forget takes back what was assumed, unless the pod is known to be bound there.
func (c *Cluster) forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d, ok := c.mu.decided[uid]; ok {
		c.leave(d)
	}
}

// used reports whether a placed pod uses a volume claim.
func (c *Cluster) used(claim string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.claims[claim] > 0
}
