package queue

import (
	"container/list"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/wakeindex"
)

// waiting has the unschedulable and gated pods. It finds those that a change in the cluster may
// help. The queue's lock guards it.
type waiting struct {
	bySize   *wakeindex.Index               // the unschedulable pods that may fit a node when resources become free there, indexed by their requests
	byTenant map[string]*wakeindex.Shapes   // for each tenant, the unschedulable and gated pods that may have to wait for a quota (their Wait is not nil), grouped by equal requests
	byTopic  map[sched.Topic]map[*item]bool // unschedulable and gated pods, and pods in flight, by each of their sched.Pod.Topics
	byAge    *list.List                     // of *item: all unschedulable and gated pods; the pod that has waited longest is at the front
}

func newWaiting(space filter.Space) waiting {
	if len(space) == 0 {
		space, _ = filter.ParseSpace("cpu,memory") // no error: both names are valid
	}
	return waiting{wakeindex.New(space), map[string]*wakeindex.Shapes{}, map[sched.Topic]map[*item]bool{}, list.New()}
}

// add adds an item that has become unschedulable or gated. It adds the item to bySize only if free
// resources of a node may help it. Free resources help neither a gated item nor an item that lacks
// a required neighbor (sched.Pod.Lacks).
func (w *waiting) add(queued *item) {
	w.subscribe(queued)
	queued.byAgeEntry = w.byAge.PushBack(queued)
	if queued.state == Unschedulable && !queued.Pod.LacksNeighbor() {
		w.bySize.Add(queued.Pod)
	}
	if queued.Pod.Wait == nil {
		return
	}
	if w.byTenant[queued.Pod.Tenant] == nil {
		w.byTenant[queued.Pod.Tenant] = wakeindex.NewShapes()
	}
	w.byTenant[queued.Pod.Tenant].Add(queued.Pod)
}

// subscribe adds an item to byTopic, under each of its topics.
func (w *waiting) subscribe(queued *item) {
	queued.topics = queued.Pod.Topics
	for _, topic := range queued.topics {
		if w.byTopic[topic] == nil {
			w.byTopic[topic] = map[*item]bool{}
		}
		w.byTopic[topic][queued] = true
	}
}

// remove undoes calls of the methods `add` and `subscribe` for an item, if there were any. The item
// must still have the same sched.Pod as at these calls.
func (w *waiting) remove(queued *item) {
	for _, topic := range queued.topics {
		if delete(w.byTopic[topic], queued); len(w.byTopic[topic]) == 0 {
			delete(w.byTopic, topic)
		}
	}
	queued.topics = nil
	if queued.byAgeEntry == nil {
		return
	}
	w.byAge.Remove(queued.byAgeEntry)
	queued.byAgeEntry = nil
	w.bySize.Remove(queued.Pod.UID)
	if tenant := w.byTenant[queued.Pod.Tenant]; queued.Pod.Wait != nil {
		if tenant.Remove(queued.Pod.UID); tenant.Len() == 0 {
			delete(w.byTenant, queued.Pod.Tenant)
		}
	}
}

// The method `of` returns the items of the given pods, which must be in the queue.
func (q *Queue) of(pods []*sched.Pod) []*item {
	items := make([]*item, len(pods))
	for i, pod := range pods {
		items[i] = q.mu.items[pod.UID]
	}
	return items
}
