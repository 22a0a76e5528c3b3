package filters

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Cluster is what kube-scheduler's filters look at: nodes and the pods on them, as the
// state of the cluster says, of which it is a subscriber. All instances share it; any
// goroutine may use it.
//
// What is known of a node, its nodeInfo, is kept with the node's entry in the state. It
// never changes but is replaced, before the node's record is: so an info is never older
// than the record of the same moment, and an unchanged record proves that what was
// checked with it still holds. Readers take no lock; while a pod moves they see it on
// at least one node.
//
// A change costs O(pods of one node), a reading of one node O(1), and only a pod
// whose filters read all nodes pays for a list of them. A snapshot of everything
// for each cycle, as kube-scheduler takes it, was rejected: beside a state
// whose records are always the newest it would be the older of the two.
type Cluster struct {
	state *nodestate.State
	terms *terms

	mu struct {
		sync.Mutex
		claims map[string]int // pods that use a volume claim, by "namespace/name"
	}
}

// NewCluster returns what filters look at of a state. Its Observe has to be one of the
// state's subscribers.
func NewCluster(state *nodestate.State) *Cluster {
	c := &Cluster{state: state, terms: newTerms()}
	c.mu.claims = map[string]int{}
	return c
}

// Observe is a subscriber of the state.
func (c *Cluster) Observe(e nodestate.Event) {
	switch e.Kind {
	case nodestate.NodeChanged:
		var node *v1.Node
		if e.Node != nil {
			node, _ = e.Node.Foreign.(*v1.Node)
		}
		e.Entry.SetForeign(withNode(infoOf(e.Entry), node))
	case nodestate.Assigned:
		c.assign(e.Entry, e.Now, e.Was)
	case nodestate.Released, nodestate.Undone:
		c.remove(e.Was)
	}
}

// assign enters a pod on a node, and then takes it from where it was.
func (c *Cluster) assign(to *nodestate.Entry, now, was *nodestate.Assignment) {
	pod := podOf(now)
	if pod == nil {
		c.remove(was)
		return
	}
	c.count(pod, to.Name(), 1)
	old := podOf(was)
	if old == nil || was.Entry() != to {
		to.SetForeign(withPod(infoOf(to), pod))
		c.remove(was)
		return
	}
	to.SetForeign(withPod(withoutPod(infoOf(to), old), pod))
	c.count(old, to.Name(), -1)
}

// remove takes a pod from its node.
func (c *Cluster) remove(was *nodestate.Assignment) {
	if pod := podOf(was); pod != nil {
		was.Entry().SetForeign(withoutPod(infoOf(was.Entry()), pod))
		c.count(pod, was.Node, -1)
	}
}

// podOf returns what upstream keeps of an assignment's pod, nil for none.
func podOf(a *nodestate.Assignment) *framework.PodInfo {
	if a == nil {
		return nil
	}
	if pod, ok := a.Foreign.(*Pod); ok {
		return pod.info
	}
	return nil
}

// count counts a pod's terms and claims in (1) or out (-1).
func (c *Cluster) count(pod *framework.PodInfo, node string, sign int) {
	if terms := pod.RequiredAntiAffinityTerms; len(terms) > 0 {
		c.terms.count(node, terms, sign)
	}
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

// SameNode reports whether filters see no difference between two states of a node: most
// of what a kubelet reports does not matter to them.
func SameNode(a, b *v1.Node) bool {
	equal := equality.Semantic.DeepEqual
	return equal(a.Labels, b.Labels) && equal(a.Annotations, b.Annotations) && equal(a.Spec, b.Spec) &&
		equal(a.Status.Allocatable, b.Status.Allocatable) && equal(a.Status.DeclaredFeatures, b.Status.DeclaredFeatures)
}

// infoOf returns what is known of an entry's node and of the pods there.
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

// at returns the newest info of a record's node, or nil. It looks for the node by name
// only where the record says nothing of its source.
func (c *Cluster) at(node *sched.Node) *nodeInfo {
	if node.Source == nil {
		return c.node(node.Name)
	}
	return known(node.Source)
}

// known returns the info where it is that of a node, else nil.
func known(of sched.RecordSource) *nodeInfo {
	if info, ok := of.Foreign().(*nodeInfo); ok && info.Node() != nil {
		return info
	}
	return nil
}
