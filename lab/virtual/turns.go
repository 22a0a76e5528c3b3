package virtual

import (
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/queue"
	"github.com/numalet/numalet/pkg/sched/reservation"
)

// Turns is the order in which pods are scheduled.
type Turns uint8

// Orders of pods.
const (
	ByScore  Turns = iota // the controller's queue, with fair-share scores: pods of the tenant with the lowest score per weight come first
	ByAge                 // the controller's queue without scores, by creation time
	LikeKube              // a model of kube-scheduler's queue (kubeQueue)
)

// String returns "score", "creation time" or "kube-scheduler".
func (t Turns) String() string { return [...]string{"score", "creation time", "kube-scheduler"}[t] }

// podQueue has the methods of the controller's queue (queue.Queue) that a Cluster uses.
type podQueue interface {
	Add(queue.Entry)
	Poll() *sched.Pod
	Permit(*sched.Pod) (ok, awaited bool)
	MarkUnschedulable(*sched.Pod, uint64)
	Remove(uid string)
	Rescore(tenant string)
	RescoreAll()
	Freed(*sched.Node) // tells the queue that resources became free on a node
}

func (v *Cluster) newQueue() podQueue {
	if v.rules.Turns == LikeKube {
		return &kubeQueue{now: v.Now, newest: v.state.Record}
	}
	env := queue.Env{Now: v.Now, FreedSeq: v.state.FreedSeq, After: func(d time.Duration, f func()) { v.clock.after(d, f) }}
	if v.rules.Turns == ByScore {
		env.Rank = func(tenant string, resourceType fairshare.Type) float64 {
			return v.book.Rank(tenant, resourceType, v.Now())
		}
	}
	q := queue.New(env, queue.Options{Strict: true})
	var o reservation.Options
	if v.rules.EndsKnown {
		o.Ends = v.ends
	}
	v.reservations = reservation.New(v.state, q, o)
	return q
}
