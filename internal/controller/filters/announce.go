package filters

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Notify retries the waiting pods with a topic if helps returns true; nil helps all.
type Notify func(topics []sched.Topic, helps func(*sched.Pod) bool)

// Outdated is called with the rules (sched.Pod.NodeRules) of pods whose explanation is outdated:
// other nodes refuse them than before, or for other reasons.
type Outdated func(rules string)

// announcer announces changes of nodes and placed pods to pods whose filters read all nodes,
// and changes of nodes to those who explain why no node suits a pod.
type announcer struct {
	cluster  *Cluster
	notify   Notify
	outdated Outdated
	topics   []sched.Topic // reused; the state calls its subscribers one at a time
}

// Announce subscribes to the state of the nodes. Call it after the cluster's Observe was
// subscribed. Otherwise a pod could be retried before the filters know the change that was
// announced.
//
// A placed pod is announced when it is bound, and not when its node is decided. The pods that need
// it are retried some milliseconds later, but never because of a pod that cannot be bound. The
// committer does not wait for the announcement either.
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

// pod announces that a pod was bound, has changed or is gone.
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

// node announces a node that is new or gone, or whose labels or taints have changed.
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

// nodeOf returns the object of a record, or nil.
func nodeOf(record *sched.Node) *v1.Node {
	if record == nil {
		return nil
	}
	node, _ := record.Foreign.(*v1.Node)
	return node
}

// sameForOthers reports whether two versions of a placed pod are the same for the terms and
// the spread of other pods. Spread does not count a pod that is being deleted.
func sameForOthers(a, b *v1.Pod) bool {
	return maps.Equal(a.Labels, b.Labels) && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil)
}
