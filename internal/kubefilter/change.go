package kubefilter

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

// settle enters a pod where it is, of which to is the newest info, and takes it from
// where it was.
func (c *Cluster) settle(to *nodeInfo, now stay) {
	now.site = to.site
	before, was := c.mu.stays[now.info.Pod.UID]
	c.mu.stays[now.info.Pod.UID] = now
	c.note(now, 1)
	if was && before.site == now.site {
		to = withoutPod(to, before.info)
	}
	c.enter(withPod(to, now.info))
	if was && before.site != now.site {
		c.enter(withoutPod(before.site.newest(), before.info))
	}
	if was {
		c.note(before, -1)
	}
}

// leave takes a pod from where it is, if it is anywhere.
func (c *Cluster) leave(uid types.UID) {
	s, ok := c.mu.stays[uid]
	if !ok {
		return
	}
	delete(c.mu.stays, uid)
	c.enter(withoutPod(s.site.newest(), s.info))
	c.note(s, -1)
}

// note counts a pod's terms and claims in (1) or out (-1).
func (c *Cluster) note(s stay, sign int) {
	if terms := s.info.RequiredAntiAffinityTerms; len(terms) > 0 {
		c.terms.count(s.site.name, terms, sign)
	}
	for _, v := range s.info.Pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim := framework.GetNamespacedName(s.info.Pod.Namespace, v.PersistentVolumeClaim.ClaimName)
		if c.mu.claims[claim] += sign; c.mu.claims[claim] == 0 {
			delete(c.mu.claims, claim)
		}
	}
}
