package filters

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// These methods need c.mu. Readers do not have it: whatever they see in between
// has the pod at least once.

// site returns the site of that name, made if there is none.
func (c *Cluster) site(name string) *site {
	if s := c.named(name); s != nil {
		return s
	}
	s := newSite(name, c)
	c.sites.Store(name, s)
	return s
}

// enter makes an info the newest of its site, or gives up a site that is neither a node
// nor has pods.
func (c *Cluster) enter(info *nodeInfo) {
	slot := info.slot
	if info.Node() == nil && len(info.Pods) == 0 {
		c.sites.Delete(info.site.name)
		info = gone
	}
	slot.Store(info)
}

// find returns the info of a record's node by the node's name, or nil, and from now on
// the record's home has it, and no other.
func (c *Cluster) find(node *sched.Node) *nodeInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.named(node.Name)
	if s == nil {
		return nil
	}
	if slot := node.Home.Note(); s.slot.Load() != slot {
		s.move(slot)
	}
	return s.newest()
}

// leave takes a pod from where it was to go.
func (c *Cluster) leave(s stay) {
	delete(c.mu.decided, s.pod.Pod.UID)
	c.enter(withoutPod(s.site.newest(), s.pod))
	c.note(s.site, s.pod, -1)
}

// replace enters a pod on a node, or none, in place of what is known of it there. O(pods
// of the node).
func (c *Cluster) replace(at *site, uid types.UID, pod *framework.PodInfo) {
	old := at.newest()
	next := old
	for _, p := range old.Pods {
		if p.GetPod().UID == uid {
			next = withoutPod(next, p.(*framework.PodInfo))
		}
	}
	if pod != nil {
		c.note(at, pod, 1)
		next = withPod(next, pod)
	}
	c.enter(next)
	for _, p := range old.Pods {
		if p.GetPod().UID == uid {
			c.note(at, p.(*framework.PodInfo), -1)
		}
	}
}

// note counts a pod's terms and claims in (1) or out (-1).
func (c *Cluster) note(at *site, pod *framework.PodInfo, sign int) {
	if terms := pod.RequiredAntiAffinityTerms; len(terms) > 0 {
		c.terms.count(at.name, terms, sign)
	}
	for _, v := range pod.Pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim := framework.GetNamespacedName(pod.Pod.Namespace, v.PersistentVolumeClaim.ClaimName)
		if c.mu.claims[claim] += sign; c.mu.claims[claim] == 0 {
			delete(c.mu.claims, claim)
		}
	}
}
