package filters

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Notify retries the waiting pods that have one of the topics (sched.Topic) and for which helps
// returns true. A nil helps returns true for all.
type Notify func(topics []sched.Topic, helps func(*sched.Pod) bool)

// Outdated is called with the rules (sched.Pod.NodeRules) of pods whose explanation is outdated,
// because other nodes refuse the pods than before, or because nodes refuse them for other reasons.
type Outdated func(rules string)

// announcer causes retries of the pods whose filters read other nodes or pods, when a node or a
// placed pod changes. It also reports which explanations a change of a node makes outdated.
type announcer struct {
	cluster  *Cluster
	notify   Notify
	outdated Outdated
	topics   []sched.Topic // reused by each event, because the state calls its subscribers one at a time
}

// Announce subscribes to the state of the nodes, and calls notify and outdated from then on. The
// cluster's Observe must be subscribed first. Otherwise a pod could be retried before the filters
// know the change that may help it.
//
// A pod is announced only when it is bound, although its node was decided some milliseconds before.
// So pods that need it as a neighbor are not retried in vain if its Binding fails. The committer,
// which decides nodes, does not have to wait for the announcement either.
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

// pod announces a pod that was bound, has changed or is gone to the waiting pods that it concerns.
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

// node announces a node that was added or removed, or whose labels or taints have changed.
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

// nodeOf returns the Node object of a record (sched.Node), or nil.
func nodeOf(record *sched.Node) *v1.Node {
	if record == nil {
		return nil
	}
	node, _ := record.Foreign.(*v1.Node)
	return node
}

// sameForOthers reports whether two versions of a placed pod count the same for the affinity terms
// and the topology spread of other pods. Topology spread does not count a pod that is being
// deleted.
func sameForOthers(a, b *v1.Pod) bool {
	return maps.Equal(a.Labels, b.Labels) && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil)
}
