package queue

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// Explanation describes the state and the position of a pending pod, and what the pod waits for.
type Explanation struct {
	Pod       *sched.Pod
	UID, Name string // Name is "namespace/name"
	Type      fairshare.Type
	Priority  int32
	Tenant    string
	Score     float64 // fair-share score of the pod's tenant, divided by the tenant's weight
	Created   time.Time
	Waited    time.Duration // how long it has been pending

	State    State
	Position int          // position among the pending pods of its type and of overlapping types; the first pod has position 1; 0 if the pod's gang is incomplete
	Of       int          // number of pending pods of this pod's type and of overlapping types
	Ahead    []TenantPods // number of pods ahead of it, for each tenant; the tenant with the lowest score comes first
	WaitsFor Cause
	Blocker  string       // the pod that it waits for; set if WaitsFor is ForPlacement or ForBlocker (see blockerOf)
	Until    time.Time    // when it is retried; set if WaitsFor is ForBackoff
	Why      sched.Reason // why it is gated, if WaitsFor is ForGate; why a node refused it in its last attempt, if WaitsFor is ForRetry and the reason is known

	GangSize    int // how many pods of its gang still have to start together; 0 if the pod is scheduled by itself, or if its gang is incomplete (see GangMissing)
	GangMissing int // how many more pods of its gang must be created before the gang can start; set if WaitsFor is ForGangPods
}

// TenantPods is the number of pods of a tenant that are ahead of a given pod.
type TenantPods struct {
	Tenant string
	Score  float64
	Pods   int
}

// Cause is what a pending pod waits for.
type Cause uint8

// What a pending pod may wait for.
const (
	ForTurn      Cause = iota
	ForNothing         // it is being scheduled or bound
	ForPlacement       // a pod ahead of it has to be placed first
	ForBlocker         // a pod ahead of it fits no node and blocks it (Options.Strict)
	ForBackoff         // its last attempt failed a short time ago
	ForRetry           // its attempts fail again and again after nodes were found for it (manyLosses)
	ForNode            // no node fits it
	ForGate            // it has to wait for something other than nodes, such as a quota (sched.Pod.Wait)
	ForGangPods        // too few pods of its gang have been created
)

// String describes the position of a pod and what it waits for, for example:
//
//	a2 is number 3 of 9 pods that wait for T4; its tenant ann has a score of 7.9; ahead of it: 2 of bob (score 0.4); it waits for its turn
func (e Explanation) String() string {
	if e.WaitsFor == ForGangPods {
		return e.Name + ": " + e.Reason()
	}
	parts := []string{
		fmt.Sprintf("%s is number %d of %d pods that wait for %s", e.Name, e.Position, e.Of, e.Type),
		fmt.Sprintf("its tenant %s has a score of %.2g", e.Tenant, e.Score),
	}
	var ahead []string
	for _, a := range e.Ahead {
		ahead = append(ahead, fmt.Sprintf("%d of %s (score %.2g)", a.Pods, a.Tenant, a.Score))
	}
	if ahead != nil {
		parts = append(parts, "ahead of it: "+strings.Join(ahead, ", "))
	}
	return strings.Join(append(parts, e.Reason()), "; ")
}

// Reason returns a sentence for users that says what the pod waits for.
func (e Explanation) Reason() string {
	switch e.WaitsFor {
	case ForNothing:
		return "it is being scheduled"
	case ForPlacement:
		return "it waits until " + e.Blocker + " is placed"
	case ForBlocker:
		return "it waits behind " + e.Blocker + ", which fits no node"
	case ForBackoff:
		return "it backs off until " + e.Until.UTC().Format("15:04:05 UTC")
	case ForRetry:
		why := "other pods take these nodes first, or its Binding fails"
		if e.Why.Refuses() {
			why = e.Why.String()
		}
		return "nodes are found for it, but its attempts fail again and again: " + why
	case ForNode:
		if e.GangSize > 1 {
			return fmt.Sprintf("too few nodes have room for %d pods of its gang at the same time", e.GangSize)
		}
		return "no node has room for it"
	case ForGate:
		return "it has to wait: " + e.Why.String()
	case ForGangPods:
		return fmt.Sprintf("its gang is incomplete: at least %d more pod(s) must be created", e.GangMissing)
	}
	return "it waits for its turn"
}

// Explain describes the state and the position of a pending pod. It returns false if the pod is not
// pending. It visits all pending pods, so call it for messages to users, and not in every attempt
// to schedule a pod.
func (q *Queue) Explain(uid string) (Explanation, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queued, ok := q.mu.items[uid]
	if !ok {
		return Explanation{}, false
	}
	e := q.explain(queued)
	ahead := map[string]TenantPods{}
	for other := range q.ahead(queued) {
		e.Position++
		t := other.tenant
		ahead[t.name] = TenantPods{t.name, t.rank, ahead[t.name].Pods + 1}
	}
	e.Ahead = slices.SortedFunc(maps.Values(ahead), func(a, b TenantPods) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Tenant, b.Tenant))
	})
	return e, true
}

// Ahead returns the pods ahead of a pending pod, in the order of their turns, or nil if the pod is
// not pending. It visits all pending pods, so call it for messages to users, and not in every
// attempt to schedule a pod.
func (q *Queue) Ahead(uid string) (pods []*sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queued, ok := q.mu.items[uid]
	if !ok {
		return nil
	}
	order := func(a, b *item) int {
		if a.before(b) {
			return -1
		}
		return 1
	}
	for _, other := range slices.SortedFunc(q.ahead(queued), order) {
		pods = append(pods, other.Pod)
	}
	return pods
}

// ahead yields the pods that are ahead of a given pod and wait for the same type of resource or for
// an overlapping type, in no particular order. The caller must hold q.mu.
func (q *Queue) ahead(queued *item) iter.Seq[*item] {
	return func(yield func(*item) bool) {
		for _, other := range q.mu.items {
			competes := other.class == queued.class || slices.Contains(queued.class.rivals, other.class)
			if competes && other.before(queued) && !yield(other) {
				return
			}
		}
	}
}

// List describes all pending pods, sorted by type and then in the order of their turns. It leaves
// Explanation.Ahead empty. For n pending pods of t types, where each type overlaps at most k types,
// it takes O(k · n · log n + t²) time. It holds the queue's lock for O(k · n) of that time.
func (q *Queue) List() []Explanation {
	list := q.list()
	slices.SortFunc(list, func(a, b Explanation) int { return cmp.Or(cmp.Compare(a.Type, b.Type), a.compare(b)) })
	types := map[fairshare.Type][]Explanation{}
	for start, end := 0, 0; start < len(list); start = end {
		for end < len(list) && list[end].Type == list[start].Type {
			end++
		}
		types[list[start].Type] = list[start:end]
	}
	for kind, pods := range types {
		for other, rivals := range types {
			if kind.Overlaps(other) {
				countAhead(pods, rivals)
			}
		}
	}
	return list
}

// countAhead is called with two lists of pods in the order of their turns. For each pod of the
// first list, it counts the pods of the second list whose turn comes earlier, and adds this number
// to the pod's Position. Each list has the pods of one type. The two types are equal or overlap.
func countAhead(pods, rivals []Explanation) {
	for i := range pods {
		ahead, _ := slices.BinarySearchFunc(rivals, pods[i], Explanation.compare)
		pods[i].Position += ahead
	}
}

// compare orders two pods of the same type or of overlapping types by the same rules as
// item.before.
func (e Explanation) compare(f Explanation) int {
	return cmp.Or(cmp.Compare(f.Priority, e.Priority), cmp.Compare(e.Score, f.Score), e.Created.Compare(f.Created), cmp.Compare(e.UID, f.UID))
}

func (q *Queue) list() []Explanation {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := make([]Explanation, 0, len(q.mu.items))
	for _, queued := range q.mu.items {
		list = append(list, q.explain(queued))
	}
	return list
}

// explain describes a pod without counting the pods ahead of it: Position is 1, and Ahead is empty.
// The caller must hold q.mu.
func (q *Queue) explain(queued *item) Explanation {
	e := Explanation{
		Pod: queued.Pod, UID: queued.Pod.UID, Name: queued.Pod.String(), Type: queued.Type, Priority: queued.Priority, Tenant: queued.Tenant, Score: queued.tenant.rank,
		Created: queued.Created, Waited: q.env.Now().Sub(queued.added), State: queued.state, Of: queued.class.competing(), Position: 1,
	}
	blocker := queued.class.blocker(queued)
	if queued.state == Gated {
		e.Why = queued.Pod.Waits()
	}
	switch {
	case queued.state == InFlight:
		e.WaitsFor = ForNothing
	case queued.requeueCount >= manyLosses && (queued.state == Backoff || queued.state == Active && blocker == nil):
		e.WaitsFor, e.Why = ForRetry, queued.refused
	case queued.state == Backoff:
		e.WaitsFor, e.Until = ForBackoff, queued.notBefore
	case e.Why.Refuses():
		e.WaitsFor = ForGate
	case blocker != nil && blocker.state == Unschedulable:
		e.WaitsFor, e.Blocker = ForBlocker, blockerOf(queued, blocker)
	case blocker != nil:
		e.WaitsFor, e.Blocker = ForPlacement, blockerOf(queued, blocker)
	case queued.state == Unschedulable || queued.state == Gated:
		e.WaitsFor = ForNode
	}
	return e
}

// blockerOf returns a text for the pod that blocks another pod (`queued`): its name, or its tenant if
// it is in another namespace. Whoever may read a pod need not know the names of pods in other
// namespaces.
func blockerOf(queued, blocker *item) string {
	if blocker.Pod.Namespace != queued.Pod.Namespace {
		return "a pod of tenant " + blocker.Tenant
	}
	return blocker.Pod.String()
}
