package filters

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Notify retries each waiting pod that has one of the topics (sched.Topic: names of what a pod
// waits for) and for which the function given as `helps` returns true. If this function is nil,
// Notify retries all pods that have one of the topics.
type Notify func(topics []sched.Topic, helps func(*sched.Pod) bool)

// Outdated is called when the explanations of why some pods wait become outdated. The parameter
// `rules` is the key of these pods' rules (sched.Pod.NodeRules). The rules of a pod are its node
// selector, required node affinity and tolerations. Explanations become outdated when a node is
// added or removed, or when a change of a node changes whether or why the node refuses these pods.
type Outdated func(rules string)

// announcer retries waiting pods when a node changes, and when another pod is bound, changes or is
// gone. It retries only pods whose fit on a node also depends on other pods or other nodes, for
// example because of pod affinity. After a change of a node, announcer also reports which
// explanations of why pods wait are outdated.
type announcer struct {
	cluster  *Cluster
	notify   Notify
	outdated Outdated
	topics   []sched.Topic // memory that is reused for each event; the state of the nodes calls its subscribers one at a time, so no two events use this memory at the same time
}

// Announce subscribes to the state of the nodes. From then on, it calls the function given as
// `notify` after changes that may help waiting pods, and the function given as `outdated` after
// changes that make explanations outdated. The caller must subscribe c.Observe to the state before
// it calls Announce. Otherwise a pod could be retried before the filters know the change that may
// help it.
//
// The node of a pod is decided some milliseconds before the pod is bound. The function `notify` is
// called at the Binding, not at the decision. So no waiting pod is retried in vain because of a pod
// whose Binding fails. Also, the committer (the goroutine that decides the nodes) need not wait for
// these calls.
func (c *Cluster) Announce(notify Notify, outdated Outdated) {
	a := &announcer{cluster: c, notify: notify, outdated: outdated}
	c.state.Subscribe(a.observe, nodestate.Bound, nodestate.Released, nodestate.Undone, nodestate.NodeChanged)
}

func (a *announcer) observe(e nodestate.Event) {
	if e.Kind == nodestate.NodeChanged {
		a.node(e)
		return
	}
	now, was := podOf(e.Now), podOf(e.Was)
	same := now != nil && was != nil && e.Now.Node == e.Was.Node && sameForOthers(now.Pod, was.Pod)
	if same && e.Was.Bound {
		return
	}
	a.pod(now)
	if !same {
		a.pod(was)
	}
}

// pod retries the waiting pods that may fit now because the given placed pod was bound, has
// changed or is gone.
func (a *announcer) pod(placed *framework.PodInfo) {
	if placed == nil {
		return
	}
	a.topics = appendPlaced(a.topics[:0], placed.Pod)
	a.notify(a.topics, func(waiting *sched.Pod) bool {
		pods, _ := waiting.Together()
		return slices.ContainsFunc(pods, func(p *sched.Pod) bool { return p.Foreign.(*Pod).concernedBy(placed) })
	})
}

// The method `node` retries waiting pods after a node was added or removed, or after its labels,
// its taints or its field spec.unschedulable have changed. It also reports which explanations of
// why pods wait are outdated.
func (a *announcer) node(e nodestate.Event) {
	now, was := nodeOf(e.Node), nodeOf(e.Entry.Newest())
	if now != nil && was != nil && sameForRules(now, was) {
		return
	}
	a.notify([]sched.Topic{topicNodes}, nil)
	for _, rules := range a.cluster.changed() {
		a.outdated(rules)
	}
}

// nodeOf returns the Node object of a node's record (sched.Node), or nil if the record is nil or
// has no Node object.
func nodeOf(record *sched.Node) *v1.Node {
	if record == nil {
		return nil
	}
	node, _ := record.Foreign.(*v1.Node)
	return node
}

// sameForOthers reports whether the affinity terms and the topology spread of other pods count two
// versions of a placed pod in the same way. Topology spread does not count a pod that is being
// deleted.
func sameForOthers(a, b *v1.Pod) bool {
	return maps.Equal(a.Labels, b.Labels) && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil)
}
