package queue

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// Explanation is why a pending pod is where it is.
type Explanation struct {
	Pod       *sched.Pod
	UID, Name string // Name is "namespace/name"
	Type      fairshare.Type
	Priority  int32
	Tenant    string
	Score     float64 // its tenant's, per weight
	Created   time.Time
	Waited    time.Duration // how long it has been pending

	State State
	Place int          // among the pending pods of its type, from 1
	Of    int          // how many those are
	Ahead []TenantPods // whose those before it are, in their order
	For   Cause
	After string       // the name of the pod that it waits for (AnotherBound, AnotherBlocked)
	Until time.Time    // when it is tried again (ItsBackoff)
	Why   sched.Reason // it has to wait, whatever is free (APermission)

	Together int // how many pods of its gang start at one time, 0 where it has none
	Lacks    int // how many more of them have to come (ItsGang)
}

// TenantPods is how many pods are a tenant's.
type TenantPods struct {
	Tenant string
	Score  float64
	Pods   int
}

// Cause is what a pending pod waits for.
type Cause uint8

// What a pending pod may wait for.
const (
	ItsTurn        Cause = iota
	Placing              // nothing: it is being placed or bound
	AnotherBound         // one before it is to be bound first
	AnotherBlocked       // one before it waits for a node, and lets none pass
	ItsBackoff           // it was tried in vain a short time ago
	ANode                // something has to become free
	APermission          // it has to wait whatever is free
	ItsGang              // more pods that it starts together with have to come
)

// String says where a pod is and what it waits for:
//
//	a2 is 3 of 9 that wait for T4; its tenant ann has a score of 7.9; before it: 2 of bob (score 0.4); it waits for its turn
func (e Explanation) String() string {
	if e.For == ItsGang {
		return e.Name + ": " + e.Reason()
	}
	parts := []string{
		fmt.Sprintf("%s is %d of %d that wait for %s", e.Name, e.Place, e.Of, e.Type),
		fmt.Sprintf("its tenant %s has a score of %.2g", e.Tenant, e.Score),
	}
	var ahead []string
	for _, a := range e.Ahead {
		ahead = append(ahead, fmt.Sprintf("%d of %s (score %.2g)", a.Pods, a.Tenant, a.Score))
	}
	if ahead != nil {
		parts = append(parts, "before it: "+strings.Join(ahead, ", "))
	}
	return strings.Join(append(parts, e.Reason()), "; ")
}

// Reason says what it waits for.
func (e Explanation) Reason() string {
	switch e.For {
	case Placing:
		return "it is being placed"
	case AnotherBound:
		return "it waits until " + e.After + " is bound"
	case AnotherBlocked:
		return "it waits behind " + e.After + ", for which no node has room"
	case ItsBackoff:
		return "it is tried again at " + e.Until.UTC().Format(time.TimeOnly)
	case ANode:
		if e.Together > 1 {
			return fmt.Sprintf("it waits until there is room for %d pods of its gang at one time", e.Together)
		}
		return "it waits until a node has room"
	case APermission:
		return "it waits: " + e.Why.String()
	case ItsGang:
		return fmt.Sprintf("it waits for more pods of its gang to be made, %d at least", e.Lacks)
	}
	return "it waits for its turn"
}

// Explain returns why a pod is where it is, and false where it is not pending. It
// costs O(pods): people ask for it.
func (q *Queue) Explain(uid string) (Explanation, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it, ok := q.mu.items[uid]
	if !ok {
		return Explanation{}, false
	}
	e := q.explain(it)
	e.Place = 1
	ahead := map[string]TenantPods{}
	for _, other := range q.mu.items {
		if other.kind == it.kind && other.before(it) {
			e.Place++
			t := other.share.tenant
			ahead[t] = TenantPods{t, other.share.rank, ahead[t].Pods + 1}
		}
	}
	e.Ahead = slices.SortedFunc(maps.Values(ahead), func(a, b TenantPods) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Tenant, b.Tenant))
	})
	return e, true
}

// List explains all pending pods, by type and then in their order, but not who is
// ahead of each. It costs O(pods · log pods), of which O(pods) keep others waiting.
func (q *Queue) List() []Explanation {
	list := q.list()
	slices.SortFunc(list, func(a, b Explanation) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Score, b.Score),
			a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID))
	})
	for i := range list {
		list[i].Place = 1
		if i > 0 && list[i].Type == list[i-1].Type {
			list[i].Place = list[i-1].Place + 1
		}
	}
	return list
}

func (q *Queue) list() []Explanation {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := make([]Explanation, 0, len(q.mu.items))
	for _, it := range q.mu.items {
		list = append(list, q.explain(it))
	}
	return list
}

// explain returns what a pod waits for, but not its place. It needs q.mu.
func (q *Queue) explain(it *item) Explanation {
	e := Explanation{
		Pod: it.Pod, UID: it.Pod.UID, Name: it.Pod.String(), Type: it.Type, Priority: it.Priority, Tenant: it.Tenant, Score: it.share.rank,
		Created: it.Created, Waited: q.env.Now().Sub(it.since), State: it.state, Of: it.kind.pods,
	}
	blocker := it.kind.blocker(it)
	if it.barred {
		e.Why = it.Pod.Waits()
	}
	switch {
	case it.state == Out:
		e.For = Placing
	case it.state == Delayed:
		e.For, e.Until = ItsBackoff, it.notBefore
	case e.Why.Refuses():
		e.For = APermission
	case blocker != nil && blocker.state == Parked:
		e.For, e.After = AnotherBlocked, blocker.Pod.String()
	case blocker != nil:
		e.For, e.After = AnotherBound, blocker.Pod.String()
	case it.state == Parked:
		e.For = ANode
	}
	return e
}
