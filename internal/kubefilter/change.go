package kubefilter

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// These methods need c.mu. Readers do not have it: whatever they see in between
// has the pod at least once.

// site returns the info of the node of that name, an empty one where there is
// none.
func (c *Cluster) site(name string) *framework.NodeInfo {
	if v, ok := c.nodes.Load(name); ok {
		return v.(*framework.NodeInfo)
	}
	return framework.NewNodeInfo()
}

// store makes an info the newest, or forgets what is neither a node nor has pods.
func (c *Cluster) store(name string, info *framework.NodeInfo) {
	if info.Node() == nil && len(info.Pods) == 0 {
		c.nodes.Delete(name)
		return
	}
	c.nodes.Store(name, info)
}

// settle enters a pod where it is, and takes it from where it was.
func (c *Cluster) settle(now stay) {
	before, was := c.mu.stays[now.info.Pod.UID]
	c.mu.stays[now.info.Pod.UID] = now
	c.note(now, 1)
	info := c.site(now.node)
	if was && before.node == now.node {
		info = withoutPod(info, before.info)
	}
	c.store(now.node, withPod(info, now.info))
	if was && before.node != now.node {
		c.store(before.node, withoutPod(c.site(before.node), before.info))
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
	c.store(s.node, withoutPod(c.site(s.node), s.info))
	c.note(s, -1)
}

// note counts a pod's terms and claims in (1) or out (-1).
func (c *Cluster) note(s stay, sign int) {
	c.terms.count(s.node, s.info.RequiredAntiAffinityTerms, sign)
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
