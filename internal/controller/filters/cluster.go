package filters

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Cluster has the nodes and pods in the form that kube-scheduler's filters read. It is a subscriber
// of the state of the nodes (package nodestate). The filters of all proposers and of the committer
// share one Cluster. Any goroutine may call its methods, except Observe: only the state calls
// Observe.
//
// A nodeInfo is a node with its pods, in the form that the plugins read. It is stored in the node's
// entry (nodestate.Entry), and is immutable. After a change, a new nodeInfo is stored before the
// node's new record (sched.Node). So the nodeInfo is never older than the record. For most pods,
// the fit on a node depends only on this node. If such a pod was checked on a node, the result
// stays valid until the node's record changes. Readers of a nodeInfo take no lock. A pod may be
// bound to another node than the one to which it was assigned. It then counts on both nodes for a
// moment.
//
// The time to apply a change grows with the number of pods on the changed node, and for some
// changes of a node (see sameForRules) also with the number of cached node sets. A node set has the
// nodes that the rules of some pods (such as their node selectors) admit (see the type `tracked`).
// The time to read a node is constant. Most pods are filtered without a list of all nodes.
// kube-scheduler takes a snapshot of all nodes in each scheduling cycle. Cluster takes none,
// because a snapshot would be older than the records of the state.
type Cluster struct {
	state     *nodestate.State
	terms     *terms // required anti-affinity terms of placed pods
	draws     *terms // other affinity terms of placed pods; these terms count only when nodes are rated, see drawsOf
	sets      tracked
	shunned   shunned
	images    images
	proposals proposals
	nominated nominations
	amounts   sharedAmounts
	changes   changes

	mu struct {
		sync.Mutex
		claims map[string]int // number of placed pods that use a PersistentVolumeClaim, by "namespace/name"
	}
}

// NewCluster returns a Cluster for a state of the nodes. The caller must subscribe the Cluster's
// Observe to the state.
func NewCluster(state *nodestate.State) *Cluster {
	c := &Cluster{state: state, terms: newTerms(), draws: newTerms()}
	c.mu.claims = map[string]int{}
	return c
}

// Observe applies an event of the state: a node or an assigned pod has changed.
func (c *Cluster) Observe(e nodestate.Event) {
	c.sets.Lock()
	defer c.sets.Unlock()
	switch e.Kind {
	case nodestate.NodeChanged:
		var node *v1.Node
		if e.Node != nil {
			node, _ = e.Node.Foreign.(*v1.Node)
		}
		before := infoOf(e.Entry)
		now := withNode(before, node)
		e.Entry.SetForeign(now)
		c.sets.changeNode(e.Entry, before, now)
		c.shunned.change(before.Node(), node)
		c.images.change(before.Node(), node)
		if was, is := before.Node(), now.Node(); was == nil || is == nil || !sameForRules(was, is) {
			c.changes.add(change{node: is})
		}
		if len(now.PodsWithRequiredAntiAffinity) > 0 {
			// The node may have moved to another zone. The anti-affinity of its pods may then exclude
			// pods from the other nodes of this zone, whose records are unchanged. After a call of
			// Narrow, such nodes are checked again before a pod is assigned to them.
			c.state.Narrow()
		}
	case nodestate.Placed, nodestate.Bound:
		c.assign(e.Entry, e.Now, e.Was)
	case nodestate.Released, nodestate.Undone:
		c.remove(e.Was)
	}
}

// assign adds a pod to its node. If the pod was on another node before, assign then removes the
// pod from that node.
func (c *Cluster) assign(to *nodestate.Entry, now, was *nodestate.Assignment) {
	pod := podOf(now)
	if pod == nil {
		c.remove(was)
		return
	}
	c.count(pod, now.Node, 1)
	c.proposals.remove(pod)
	old := podOf(was)
	if old == nil || was.Entry() != to {
		to.SetForeign(withPod(infoOf(to), pod))
		c.record(to, now, true)
		c.remove(was)
		return
	}
	to.SetForeign(withVersion(infoOf(to), old, pod))
	c.count(old, was.Node, -1)
	if !sameForOthers(pod.Pod, old.Pod) {
		c.record(to, now, true)
		c.record(to, was, false)
	}
}

// record adds a change to c.changes: the pod of the assignment `a` was placed on a node, or has
// left the node.
func (c *Cluster) record(on *nodestate.Entry, a *nodestate.Assignment, placed bool) {
	c.changes.add(change{pod: podOf(a), gang: a.Gang, node: infoOf(on).Node(), placed: placed})
}

// remove removes a pod from its node.
func (c *Cluster) remove(was *nodestate.Assignment) {
	if pod := podOf(was); pod != nil {
		was.Entry().SetForeign(withoutPod(infoOf(was.Entry()), pod))
		c.count(pod, was.Node, -1)
		c.record(was.Entry(), was, false)
	}
}

// podOf returns kube-scheduler's PodInfo of the pod of an assignment, or nil if the assignment is
// nil or has no PodInfo.
func podOf(a *nodestate.Assignment) *framework.PodInfo {
	if a == nil {
		return nil
	}
	if pod, ok := a.Foreign.(*Pod); ok {
		return pod.info
	}
	return nil
}

// count counts a pod that was placed (sign 1) or has left its node (sign -1), with its affinity
// terms and its volume claims. The caller holds the lock of c.sets.
func (c *Cluster) count(pod *framework.PodInfo, node string, sign int) {
	c.sets.countPod(pod.Pod, node, sign)
	if terms := pod.RequiredAntiAffinityTerms; len(terms) > 0 {
		c.terms.count(node, terms, sign)
		if sign > 0 {
			c.state.Narrow()
		}
	}
	c.draws.count(node, drawsOf(pod), sign)
	for _, v := range pod.Pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim := framework.GetNamespacedName(pod.Pod.Namespace, v.PersistentVolumeClaim.ClaimName)
		c.countClaim(claim, sign)
	}
}

func (c *Cluster) countClaim(claim string, sign int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.claims[claim] += sign; c.mu.claims[claim] == 0 {
		delete(c.mu.claims, claim)
	}
}

// used reports whether any placed pod uses the PersistentVolumeClaim "namespace/name".
func (c *Cluster) used(claim string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.claims[claim] > 0
}

// SameNode reports whether two versions of a node are equal in all fields that the filters read.
// Most status updates of kubelets change none of these fields.
func SameNode(a, b *v1.Node) bool {
	equal := equality.Semantic.DeepEqual
	return equal(a.Labels, b.Labels) && equal(a.Annotations, b.Annotations) && equal(a.Spec, b.Spec) &&
		equal(a.Status.Allocatable, b.Status.Allocatable) && equal(a.Status.Images, b.Status.Images) &&
		equal(a.Status.DeclaredFeatures, b.Status.DeclaredFeatures)
}

// infoOf returns the nodeInfo of an entry's node, with the pods on the node. If the entry has no
// nodeInfo yet, infoOf returns an empty one.
func infoOf(e *nodestate.Entry) *nodeInfo {
	if info, ok := e.Foreign().(*nodeInfo); ok {
		return info
	}
	return (&nodeInfo{}).with(framework.NewNodeInfo())
}

// node returns the newest nodeInfo of a node, or nil if the node does not exist.
func (c *Cluster) node(name string) *nodeInfo {
	if e := c.state.Entry(name); e != nil {
		return known(e)
	}
	return nil
}

// The method `at` is like c.node, but takes a node's record (sched.Node) instead of the node's
// name. It is faster, because most records have a Source, which provides the nodeInfo without a
// lookup by name.
func (c *Cluster) at(node *sched.Node) *nodeInfo {
	if node.Source == nil {
		return c.node(node.Name)
	}
	return known(node.Source)
}

// known returns the nodeInfo that the source of a node's record provides, or nil if the node does
// not exist.
func known(of sched.RecordSource) *nodeInfo {
	if info, ok := of.Foreign().(*nodeInfo); ok && info.Node() != nil {
		return info
	}
	return nil
}
