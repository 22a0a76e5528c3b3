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
// of the state of the nodes. All instances of filters share it, and its methods may be called from
// any goroutine.
//
// The nodeInfo of a node is stored in the node's entry of the state. It is immutable. A new
// one is stored before the node's new record, so an info is never older than the record:
// if the record is unchanged, a check with the info still holds. Readers take no lock. While a pod
// moves to another node, readers see it on at least one of the two nodes.
//
// A change costs O(pods of the node), and reading a node costs O(1). A list of all nodes is made
// only for pods whose filters read it. kube-scheduler takes a snapshot of all nodes in each cycle;
// here a snapshot would be older than the records of the state.
type Cluster struct {
	state     *nodestate.State
	terms     *terms // required anti-affinity of placed pods
	draws     *terms // what else makes placed pods draw others near or keep them away
	sets      tracked
	shunned   shunned
	images    images
	proposals proposals
	nominated nominations
	changes   changes

	mu struct {
		sync.Mutex
		claims map[string]int // number of pods that use a volume claim, by "namespace/name"
	}
}

// NewCluster returns the filters' view of a state. The caller must subscribe its Observe.
func NewCluster(state *nodestate.State) *Cluster {
	c := &Cluster{state: state, terms: newTerms(), draws: newTerms()}
	c.mu.claims = map[string]int{}
	return c
}

// Observe follows the state.
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
			c.state.Narrow() // its zone may be another one now
		}
	case nodestate.Placed, nodestate.Bound:
		c.assign(e.Entry, e.Now, e.Was)
	case nodestate.Released, nodestate.Undone:
		c.remove(e.Was)
	}
}

// assign adds a pod to a node, and then removes it from its former node.
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
	to.SetForeign(withPod(withoutPod(infoOf(to), old), pod))
	c.count(old, was.Node, -1)
	if !sameForOthers(pod.Pod, old.Pod) {
		c.record(to, now, true)
		c.record(to, was, false)
	}
}

// record adds a pod that was placed or has left to the changes.
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

// podOf returns the framework's PodInfo of an assignment, or nil.
func podOf(a *nodestate.Assignment) *framework.PodInfo {
	if a == nil {
		return nil
	}
	if pod, ok := a.Foreign.(*Pod); ok {
		return pod.info
	}
	return nil
}

// count adds (1) or removes (-1) a pod, its anti-affinity terms and its claims. It needs the
// lock of c.sets.
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

// used reports whether a placed pod uses a volume claim.
func (c *Cluster) used(claim string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.claims[claim] > 0
}

// SameNode reports whether two versions of a node are the same for the filters. Most status updates
// of kubelets do not matter to them.
func SameNode(a, b *v1.Node) bool {
	equal := equality.Semantic.DeepEqual
	return equal(a.Labels, b.Labels) && equal(a.Annotations, b.Annotations) && equal(a.Spec, b.Spec) &&
		equal(a.Status.Allocatable, b.Status.Allocatable) && equal(a.Status.Images, b.Status.Images) &&
		equal(a.Status.DeclaredFeatures, b.Status.DeclaredFeatures)
}

// infoOf returns the info of an entry's node, with the pods on it.
func infoOf(e *nodestate.Entry) *nodeInfo {
	if info, ok := e.Foreign().(*nodeInfo); ok {
		return info
	}
	return (&nodeInfo{}).with(framework.NewNodeInfo())
}

// node returns a node's newest info, or nil.
func (c *Cluster) node(name string) *nodeInfo {
	if e := c.state.Entry(name); e != nil {
		return known(e)
	}
	return nil
}

// at returns the newest info of a record's node, or nil. It searches by name only if the
// record does not know its source.
func (c *Cluster) at(node *sched.Node) *nodeInfo {
	if node.Source == nil {
		return c.node(node.Name)
	}
	return known(node.Source)
}

// known returns the info of a source if its node exists, and otherwise nil.
func known(of sched.RecordSource) *nodeInfo {
	if info, ok := of.Foreign().(*nodeInfo); ok && info.Node() != nil {
		return info
	}
	return nil
}
